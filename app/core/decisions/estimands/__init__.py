"""Estimands by `kind` that can be asked of every release; those of a kind of model are in its folder. A file and a line here."""

from typing import Any

from app.core.decisions.estimands import comparison, expression, parameter
from app.core.decisions.estimands.estimand import AnyEstimand, Askable, Context, Estimand, EstimandKind

SHARED_ESTIMANDS: dict[str, EstimandKind[Any]] = {
    "parameter": EstimandKind(parameter.ParameterSpec, parameter.parse),
    "expression": EstimandKind(expression.ExpressionSpec, expression.parse),
    "comparison": EstimandKind(comparison.ComparisonSpec, comparison.parse),
}

__all__ = ["SHARED_ESTIMANDS", "AnyEstimand", "Askable", "Context", "Estimand", "EstimandKind"]
