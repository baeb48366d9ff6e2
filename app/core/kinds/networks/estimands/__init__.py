"""What can be asked of a network beside its parameters."""

from typing import Any

from app.core.decisions.estimands import EstimandKind
from app.core.kinds.networks.estimands import classification, explanation, network_estimand, prediction

NETWORK_ESTIMANDS: dict[str, EstimandKind[Any]] = {
    "probability": EstimandKind(network_estimand.ProbabilitySpec, network_estimand.parse_probability),
    "expectation": EstimandKind(network_estimand.ExpectationSpec, network_estimand.parse_expectation),
    "prediction": EstimandKind(prediction.NetworkPredictionSpec, prediction.parse),
    "classification": EstimandKind(classification.ClassificationSpec, classification.parse),
    "explanation": EstimandKind(explanation.ExplanationSpec, explanation.parse),
}
