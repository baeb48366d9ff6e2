"""What can be asked of a network beside its parameters."""

from app.core.decisions.estimands.estimand import EstimandParser
from app.core.kinds.networks.estimands import classification, explanation, network_estimand, prediction

NETWORK_ESTIMANDS: dict[str, EstimandParser] = {
    "probability": network_estimand.parse_probability,
    "expectation": network_estimand.parse_expectation,
    "prediction": prediction.parse,
    "classification": classification.parse,
    "explanation": explanation.parse,
}
