"""What can be asked of a linear regression beside its parameters."""

from app.core.decisions.estimands.estimand import EstimandParser
from app.core.kinds.regression.estimands import linear, prediction

REGRESSION_ESTIMANDS: dict[str, EstimandParser] = {
    "prediction": prediction.parse,
    "contrast": linear.parse_contrast,
}
