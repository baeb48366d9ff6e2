"""A model and a mechanism as they are sent. What their fields may hold is checked by the family and the mechanism."""

from collections.abc import Callable
from typing import Any

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from app.core.grids.priors import SUPPORTS
from app.core.kinds import ALL_FAMILIES, ALL_MECHANISMS
from app.core.kinds.mechanism_fields import AUTO_SCORE, SCORES, TEMPERATURE_MIN
from app.core.kinds.plan_figures import AUTO
from app.core.privacy.release_cost import EPSILON_MAX, EPSILON_MIN, SAMPLES_MAX
from app.core.specs import Spec

MODEL: JsonDict = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05}
COUNTS: JsonDict = {
    "family": "poisson",
    "column": "visits",
    "prior": {"kind": "gamma", "shape": 2, "rate": 0.5},
    "trim": {"lower": 1, "upper": 20},
}
MECHANISM: JsonDict = {"kind": "baps", "samples": 100, "temperature": 1.0}
LAPLACE_MECHANISM: JsonDict = {"kind": "laplace", "samples": 1000, "epsilon": 0.5}
MAP_MECHANISM: JsonDict = {"kind": "map", "epsilon": 1.0, "score": "log_density"}
AUTO_MECHANISM: JsonDict = {"kind": AUTO, "epsilon": 1.0}

_NUMBER = {"type": "number"}
_PRIOR_KINDS = sorted({kind for kinds in SUPPORTS.values() for kind in kinds})
_PRIOR_NUMBERS = ("alpha", "beta", "shape", "rate", "mean", "sd")
_RANGE = {
    "type": "object",
    "properties": {"lower": _NUMBER, "upper": _NUMBER},
    "additionalProperties": False,
}
_MODEL_FIELDS: dict[str, Any] = {
    "column": {"type": "string", "minLength": 1, "description": "The column the model is of."},
    "prior": {
        "type": "object",
        "description": "On the trimmed range; without `kind` the conjugate one.",
        "properties": {"kind": {"enum": _PRIOR_KINDS}} | dict.fromkeys(_PRIOR_NUMBERS, _NUMBER),
        "additionalProperties": False,
    },
    "trim": {
        "description": "The public range of the parameter: ω for [ω, 1−ω] of a probability, else both ends.",
        "anyOf": [_NUMBER, _RANGE],
    },
    "trials": {"type": "integer", "description": "binomial: trials a record, the column's upper bound."},
    "successes": {**_NUMBER, "description": "negative_binomial: successes waited for."},
    "shape": {**_NUMBER, "description": "gamma, weibull: the known shape."},
    "scale": {**_NUMBER, "description": "pareto: the known smallest value."},
    "location": {**_NUMBER, "description": "laplace: the known centre."},
    "mean": {**_NUMBER, "description": "normal_precision: the known mean."},
    "sd": {**_NUMBER, "description": "normal_mean: the known standard deviation."},
}
_MECHANISM_FIELDS: dict[str, Any] = {
    "samples": {
        "type": "integer",
        "minimum": 1,
        "maximum": SAMPLES_MAX,
        "description": "baps, laplace: how many; auto: fixes it.",
    },
    "temperature": {
        **_NUMBER,
        "minimum": TEMPERATURE_MIN,
        "maximum": 1,
        "description": "baps: the power on the likelihood, 1 if left out.",
    },
    "epsilon": {
        **_NUMBER,
        "minimum": EPSILON_MIN,
        "maximum": EPSILON_MAX,
        "description": "laplace, map: the pure ε of the whole release; auto: what it may cost at the dataset's δ.",
    },
    "score": {
        "enum": [AUTO_SCORE, *SCORES],
        "description": "map: what a point is chosen by; auto, also if left out: the more accurate of the two.",
    },
}


def _documented(fields: dict[str, Any], *examples: JsonDict) -> Callable[[JsonDict], None]:
    """Adds fields to the description that another part checks, with an error code of its own."""

    def add(schema: JsonDict) -> None:
        properties = schema["properties"]
        if isinstance(properties, dict):
            properties.update(fields)
        schema["examples"] = [*examples]

    return add


class ModelBody(Spec):
    """Family, column, prior and public trim. The fields beside `family` belong to the family, which checks them."""

    model_config = ConfigDict(extra="allow", json_schema_extra=_documented(_MODEL_FIELDS, MODEL, COUNTS))

    family: str = Field(min_length=1, max_length=40, json_schema_extra={"enum": [*sorted(ALL_FAMILIES)]})


class MechanismBody(Spec):
    """How samples are drawn; `auto` chooses `baps` or `laplace`, for one sample also `map`. Other fields belong to `kind`."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra=_documented(_MECHANISM_FIELDS, MECHANISM, LAPLACE_MECHANISM, MAP_MECHANISM, AUTO_MECHANISM),
    )

    kind: str = Field(min_length=1, max_length=40, json_schema_extra={"enum": [AUTO, *ALL_MECHANISMS]})
