"""Plans: what a release would cost, and how accurate it would be."""

from dataclasses import dataclass
from typing import Any

from postern.client.results.accounts import SampleCost
from postern.client.results.releases import Parameter
from postern.client.tables import Shown


@dataclass(frozen=True, slots=True)
class PlanCost(Shown):
    epsilon: float
    delta: float
    pure_epsilon: float | None
    per_sample: SampleCost
    best_order: float | None
    method: str
    papers_pure_epsilon: float | None
    charged_epsilon: float | None = None
    """What an account that holds nothing else must have."""


@dataclass(frozen=True, slots=True)
class PlanAccuracy(Shown):
    measure: str
    method: str
    total_sd: float | None
    posterior_sd: float | None = None
    sampling_sd: float | None = None
    limit_sd: float | None = None
    calibrated_sd: float | None = None
    kl: float | None = None


@dataclass(frozen=True, slots=True)
class PlanTarget:
    """As asked; for a target by accuracy `epsilon` is what reaches it."""

    epsilon: float
    delta: float
    fits: bool
    half_width: float | None = None
    sd: float | None = None
    level: float | None = None


@dataclass(frozen=True, slots=True)
class PlanCoverage:
    """How often intervals hold the truth; `share` is None where `method` says what was measured instead."""

    share: float | None
    standard_error: float | None
    releases: int | None
    method: str


@dataclass(frozen=True, slots=True)
class PlanPrecision(Shown):
    """What calibrated answers will show; `meaning` says what the one number is where there are several parameters."""

    level: float
    half_width: float
    sd: float
    noiseless_sd: float
    meaning: str
    method: str
    coverage: PlanCoverage


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """A point of a curve to plot."""

    samples: int
    epsilon: float
    total_sd: float | None


@dataclass(frozen=True, slots=True)
class PlanCurves:
    by_samples: tuple[PlanPoint, ...]
    by_epsilon: tuple[PlanPoint, ...]
    by_range: tuple[dict[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class PlanAlternative:
    mechanism: dict[str, Any]
    epsilon: float
    accuracy: PlanAccuracy
    model: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Plan(Shown):
    """`model` and `mechanism` come back with what was found: pass them to `request_release` as they are."""

    model: dict[str, Any]
    mechanism: dict[str, Any]
    n: int
    privacy_unit_rows: int
    parameters: tuple[Parameter, ...]
    cost: PlanCost
    vacuous: bool
    accuracy: PlanAccuracy
    grid_points: int
    curves: PlanCurves
    alternatives: tuple[PlanAlternative, ...]
    advice: str | None
    prior_predictive: dict[str, Any] | None = None
    scores: tuple[dict[str, Any], ...] | None = None
    bounds: tuple[dict[str, Any], ...] = ()
    target: PlanTarget | None = None
    precision: PlanPrecision | None = None
    release: dict[str, Any] | None = None
    check: dict[str, Any] | None = None
    by: tuple[str, ...] | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class PartTarget:
    level: float
    half_width: float | None = None
    sd: float | None = None


@dataclass(frozen=True, slots=True)
class PlanPart(Shown):
    """One of several models; `release` is what to ask for, `model` and `mechanism` what to pass to `request_release`."""

    model: dict[str, Any]
    mechanism: dict[str, Any]
    release: dict[str, Any]
    target: PartTarget | None
    epsilon: float
    share: float
    precision: PlanPrecision
    wider_by: float
    why: str
    by: tuple[str, ...] | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class SharedPlan(Shown):
    """`short_by`: answers are this many times wider than asked, all by the same factor; 1 where every target is reached."""

    models: tuple[PlanPart, ...]
    n: int
    privacy_unit_rows: int
    account: str | None
    budget: dict[str, float]
    spent_epsilon: float
    filter: str
    order: float | None
    reached: bool
    short_by: float | None
    advice: str
    population: dict[str, Any] | None = None
    """The account that all of it would be charged to as well, as it would read afterwards."""
    release: dict[str, Any] | None = None
    """All of them as one release: pass its `models` to `request_several`."""
