"""Estimands by `kind` that can be asked of every release; those of a kind of model are in its folder. A file and a line here."""

from app.core.decisions.estimands import comparison, expression, parameter
from app.core.decisions.estimands.estimand import AnyEstimand, Context, Estimand, EstimandParser

SHARED_ESTIMANDS: dict[str, EstimandParser] = {
    "parameter": parameter.parse,
    "expression": expression.parse,
    "comparison": comparison.parse,
}

__all__ = ["SHARED_ESTIMANDS", "AnyEstimand", "Context", "Estimand", "EstimandParser"]
