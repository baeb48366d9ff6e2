"""`{"kind": "contrast", "weights": {"dose": 1, "age": -2}}`: a linear combination of a regression's coefficients.

Names are those of coefficients, `intercept` among them; those not named weigh 0. The range follows from the ball the weights
of the model lie in, which is tighter than what an expression of the same coefficients is given.
"""

from collections.abc import Mapping
from typing import Any

from app.core.decisions.estimands.estimand import Context
from app.core.decisions.estimands.linear import LinearEstimand
from app.core.decisions.strict_fields import refuse_unknown, require_object
from app.core.regression.estimands import contrast
from app.core.regression.model import LinearModel
from app.errors import InvalidQuery


def parse(spec: Mapping[str, Any], context: Context) -> LinearEstimand:
    refuse_unknown(context.where, spec, {"kind", "weights"})
    if not isinstance(context.model, LinearModel):
        expected = "an estimand for this release's model; contrast is for linear regression"
        raise InvalidQuery(f"{context.where}.kind", expected)
    field = f"{context.where}.weights"
    return LinearEstimand(contrast(context.model, require_object(field, spec.get("weights")), field))
