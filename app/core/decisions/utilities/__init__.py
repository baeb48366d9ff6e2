"""Utilities by `kind`. A new one is a file beside this one and a line here."""

from app.core.decisions.utilities import absolute, actions, expression, interval, log, pinball, squared, zero_one
from app.core.decisions.utilities.utility import Decision, Utility, UtilityParser

UTILITIES: dict[str, UtilityParser] = {
    "squared": squared.parse,
    "absolute": absolute.parse,
    "pinball": pinball.parse,
    "interval": interval.parse,
    "zero_one": zero_one.parse,
    "log": log.parse,
    "actions": actions.parse,
    "expression": expression.parse,
}

__all__ = ["UTILITIES", "Decision", "Utility", "UtilityParser"]
