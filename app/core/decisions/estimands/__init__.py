"""Estimands by `kind`. A new one is a file beside this one and a line here."""

from app.core.decisions.estimands import expression, parameter, predictive
from app.core.decisions.estimands.estimand import Estimand, EstimandParser

ESTIMANDS: dict[str, EstimandParser] = {
    "parameter": parameter.parse,
    "expression": expression.parse,
    "predictive": predictive.parse,
}

__all__ = ["ESTIMANDS", "Estimand", "EstimandParser"]
