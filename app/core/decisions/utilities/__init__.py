"""Utilities by `kind`. A new one is a file beside this one and a line here."""

from app.core.decisions.utilities import absolute, actions, interval, pinball, squared
from app.core.decisions.utilities.utility import Decision, Utility, UtilityParser

UTILITIES: dict[str, UtilityParser] = {
    "squared": squared.parse,
    "absolute": absolute.parse,
    "pinball": pinball.parse,
    "interval": interval.parse,
    "actions": actions.parse,
}

__all__ = ["UTILITIES", "Decision", "Utility", "UtilityParser"]
