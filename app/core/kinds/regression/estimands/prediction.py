"""`{"kind": "prediction", "features": {…}}`: what a linear regression predicts for a record with these features.

By `what`: the `mean` of the target, unless said; the `probability` that a new observation is `at_most` a value; the
`quantile` of a `level` of a new observation; or the `observation` itself, whose law mixes all samples: under `interval` a
posterior predictive interval.
"""

from typing import Annotated, Literal

from pydantic import Field

from app.core.decisions.estimands.estimand import Context, Estimand, Observed
from app.core.decisions.estimands.new_record import NewRecordSpec, number_of
from app.core.decisions.strict_fields import renaming
from app.core.kinds.regression.combinations import prediction
from app.core.kinds.regression.estimands.linear import (
    LinearEstimand,
    NewObservation,
    ObservationEstimand,
    What,
    require_linear,
)
from app.core.specs import Expects, ReadInItsPlace
from app.errors import InvalidQuery

Features = Annotated[
    dict[str, Annotated[float | bool | str, ReadInItsPlace()]], Expects("an object with a value for every feature")
]
"""What a column holds, the model knows."""


class LinearPredictionSpec(NewRecordSpec):
    """What a linear regression predicts for a record with these features."""

    kind: Literal["prediction"] = Field(description="The name of the estimand.")
    features: Features = Field(
        description="One value for each of the model's; they need not lie within bounds.", examples=[{"educ": 16}]
    )
    what: What = Field(default="mean", description="Of the target, or of a new `observation` of it.")


def parse(spec: LinearPredictionSpec, context: Context) -> Estimand | Observed:
    where, what, model = context.where, spec.what, require_linear(context, "prediction")
    number = number_of(spec, where)
    with renaming({"estimand.features": f"{where}.features"}):
        mean = LinearEstimand(prediction(model, spec.features))
    if what == "mean":
        return mean
    if model.noise_sd is None:
        raise InvalidQuery(f"{where}.what", "mean: this release's model does not state noise_sd")
    if what == "observation":
        centre, half_width = model.target.centre, model.target.half_width
        return NewObservation(mean, model.noise_sd, centre - half_width, centre + half_width)
    found = ObservationEstimand(mean, model.noise_sd, what, number)
    if not found.lower < found.upper:
        raise InvalidQuery(f"{where}.at_most", "a value that a new observation may be on either side of")
    return found
