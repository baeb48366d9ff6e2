"""`{"kind": "prediction", "features": {…}}`: what a linear regression predicts for a record with these features.

By `what`: the `mean` of the target, unless said; the `probability` that a new observation is `at_most` a value; the
`quantile` of a `level` of a new observation; or the `observation` itself, whose law mixes all samples: under `interval` a
posterior predictive interval.
"""

from collections.abc import Mapping
from typing import Any

from app.core.decisions.estimands.estimand import Context, Estimand, Observed
from app.core.decisions.strict_fields import read_fraction, read_number, refuse_unknown, renaming, require_object
from app.core.kinds.regression.combinations import LinearCombination, prediction
from app.core.kinds.regression.estimands.linear import (
    FIELDS,
    LinearEstimand,
    NewObservation,
    ObservationEstimand,
    What,
    require_linear,
)
from app.core.kinds.regression.model import LinearModel
from app.errors import InvalidQuery


def parse(spec: Mapping[str, Any], context: Context) -> Estimand | Observed:
    where, model = context.where, require_linear(context, "prediction")
    what = _read_what(spec, where)
    own = FIELDS[what]
    refuse_unknown(where, spec, {"kind", "what", "features"} | ({own} if own is not None else set()))
    mean = LinearEstimand(_read_prediction(spec.get("features"), where, model))
    if what == "mean":
        return mean
    if model.noise_sd is None:
        raise InvalidQuery(f"{where}.what", "mean: this release's model does not state noise_sd")
    if what == "observation":
        centre, half_width = model.target.centre, model.target.half_width
        return NewObservation(mean, model.noise_sd, centre - half_width, centre + half_width)
    if what == "probability":
        number = read_number(f"{where}.at_most", spec.get("at_most"))
    else:
        number = float(read_fraction(f"{where}.level", spec.get("level")))
    found = ObservationEstimand(mean, model.noise_sd, what, number)
    if not found.lower < found.upper:
        raise InvalidQuery(f"{where}.at_most", "a value that a new observation may be on either side of")
    return found


def _read_what(spec: Mapping[str, Any], where: str) -> What:
    for known in FIELDS:
        if spec.get("what", "mean") == known:
            return known
    raise InvalidQuery(f"{where}.what", "one of " + ", ".join(FIELDS))


def _read_prediction(features: object, where: str, model: LinearModel) -> LinearCombination:
    """One value for every feature; whole numbers of any length are refused before they are made into doubles."""
    given = require_object(f"{where}.features", features)
    for coordinate in model.coordinates:
        value = given.get(coordinate.column)
        if coordinate.kind != "level" and isinstance(value, int | float) and not isinstance(value, bool):
            read_number(f"{where}.features.{coordinate.column}", value)
    with renaming({"estimand.features": f"{where}.features"}):
        return prediction(model, given)
