"""What can be asked of a linear regression beside its parameters."""

from typing import Any

from app.core.decisions.estimands import EstimandKind
from app.core.kinds.regression.estimands import linear, prediction

REGRESSION_ESTIMANDS: dict[str, EstimandKind[Any]] = {
    "prediction": EstimandKind(prediction.LinearPredictionSpec, prediction.parse),
    "contrast": EstimandKind(linear.ContrastSpec, linear.parse_contrast),
}
