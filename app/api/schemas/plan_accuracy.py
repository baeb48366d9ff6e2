"""Accuracy as a plan is asked for it, and what it answers about intervals: shared by plans of one model and of several."""

from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.api.schemas.accounts import BudgetBody
from app.api.schemas.models import LAPLACE_MECHANISM, MODEL, Mechanism, Model
from app.api.schemas.shapes import Amount, Answer, Count, Delta
from app.core.kinds.accuracy_goal import LEVEL_DEFAULT
from app.core.kinds.fit_check import CheckSpec
from app.core.specs import Maybe, OneOf, Spec

HALF_WIDTH: JsonDict = {"half_width": 0.02, "level": 0.9}
PRECISION: JsonDict = {
    "level": 0.9,
    "half_width": 0.0199,
    "sd": 0.0123,
    "noiseless_sd": 0.0072,
    "meaning": "of the parameter's calibrated posterior: its sd, or half the width of its central interval, …",
    "method": "the mean over simulated releases",
    "coverage": {"share": 0.905, "standard_error": 0.021, "releases": 200, "method": "simulated releases, …"},
}
RELEASE_BODY: JsonDict = {"model": MODEL, "mechanism": LAPLACE_MECHANISM}

_Width = Annotated[float, Field(gt=0, description="In units of the parameter; of several, see `precision.meaning`.")]
_Level = Annotated[float, Field(gt=0, lt=1, description="Of the central interval.")]


class HalfWidthTarget(Spec):
    """The expected half width of the calibrated interval at `level`: the cheapest mechanism that reaches it is found."""

    model_config = ConfigDict(json_schema_extra={"examples": [HALF_WIDTH]})

    half_width: _Width
    level: _Level = LEVEL_DEFAULT
    delta: Delta | None = Field(default=None, description="At which ε is counted; null: the plan's.")


class SdTarget(Spec):
    """The expected sd of the calibrated posterior; `level` is that of the interval shown beside it."""

    sd: _Width
    level: _Level = LEVEL_DEFAULT
    delta: Delta | None = Field(default=None, description="At which ε is counted; null: the plan's.")


class PartHalfWidthTarget(Spec):
    """The expected half width of one model's calibrated interval at `level`."""

    half_width: _Width
    level: _Level = LEVEL_DEFAULT


class PartSdTarget(Spec):
    """The expected sd of one model's calibrated posterior."""

    sd: _Width
    level: _Level = LEVEL_DEFAULT


_TARGETS: dict[str, type[Spec]] = {"half_width": HalfWidthTarget, "sd": SdTarget, "epsilon": BudgetBody}
_PART_TARGETS: dict[str, type[Spec]] = {"sd": PartSdTarget, "half_width": PartHalfWidthTarget}
PlanTargetBody = TypeAliasType("PlanTargetBody", Annotated[Spec, OneOf(None, _TARGETS)])
PartTargetBody = TypeAliasType("PartTargetBody", Annotated[Spec, OneOf(None, _PART_TARGETS)])


class PlanCoverage(Answer):
    """How often intervals at this level hold the truth, on average over the prior."""

    share: float | None = Field(
        description="Of simulated releases; null where `method` says what was measured instead."
    )
    standard_error: Amount | None = Field(description="Of `share`.")
    releases: Count | None = Field(description="How many were simulated.")
    method: str


class PlanPrecision(Answer):
    """What calibrated answers will show."""

    level: float
    half_width: Amount = Field(description="Expected, of the central interval at `level`.")
    sd: Amount = Field(description="Expected, of the calibrated posterior.")
    noiseless_sd: Amount = Field(description="What this many people give without any noise: no ε goes below.")
    meaning: str = Field(description="What the one number is where there are several parameters.")
    method: str = Field(description="How `half_width` and `sd` were found.")
    coverage: PlanCoverage


class PlannedRelease(Answer):
    """The body to send to `POST /v1/datasets/{id}/releases`."""

    model: Model
    by: Maybe[list[str]] = Field(default=None, description="The columns it would be grouped by.")
    where: Maybe[str] = Field(default=None, description="The condition on rows.")
    mechanism: Mechanism
    check: Maybe[CheckSpec] = Field(default=None, description="The check of fit, if one was asked for.")
