"""Estimands by `kind`. A new one is a file beside this one and a line here."""

from app.core.decisions.estimands import (
    classification,
    comparison,
    contrast,
    expectation,
    explanation,
    expression,
    parameter,
    prediction,
    predictive,
    probability,
)
from app.core.decisions.estimands.estimand import AnyEstimand, Context, Estimand, EstimandParser

ESTIMANDS: dict[str, EstimandParser] = {
    "parameter": parameter.parse,
    "expression": expression.parse,
    "predictive": predictive.parse,
    "probability": probability.parse,
    "expectation": expectation.parse,
    "prediction": prediction.parse,
    "classification": classification.parse,
    "contrast": contrast.parse,
    "explanation": explanation.parse,
    "comparison": comparison.parse,
}

__all__ = ["ESTIMANDS", "AnyEstimand", "Context", "Estimand", "EstimandParser"]
