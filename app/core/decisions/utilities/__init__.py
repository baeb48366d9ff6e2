"""Utilities by `kind`. A new one is a file beside this one and a line here."""

from typing import Any

from app.core.decisions.utilities import absolute, actions, expression, interval, log, pinball, squared, zero_one
from app.core.decisions.utilities.utility import Decision, Utility, UtilityKind

UTILITIES: dict[str, UtilityKind[Any]] = {
    "squared": UtilityKind(squared.SquaredSpec, squared.parse),
    "absolute": UtilityKind(absolute.AbsoluteSpec, absolute.parse),
    "pinball": UtilityKind(pinball.PinballSpec, pinball.parse),
    "interval": UtilityKind(interval.IntervalSpec, interval.parse),
    "zero_one": UtilityKind(zero_one.ZeroOneSpec, zero_one.parse),
    "log": UtilityKind(log.LogSpec, log.parse),
    "actions": UtilityKind(actions.ActionsSpec, actions.parse),
    "expression": UtilityKind(expression.ExpressionUtilitySpec, expression.parse),
}

__all__ = ["UTILITIES", "Decision", "Utility", "UtilityKind"]
