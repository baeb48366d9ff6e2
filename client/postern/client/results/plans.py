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


@dataclass(frozen=True, slots=True)
class PlanAccuracy(Shown):
    measure: str
    method: str
    total_sd: float | None
    posterior_sd: float | None = None
    sampling_sd: float | None = None
    limit_sd: float | None = None
    kl: float | None = None


@dataclass(frozen=True, slots=True)
class PlanTarget:
    epsilon: float
    delta: float
    fits: bool


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


@dataclass(frozen=True, slots=True)
class PlanAlternative:
    mechanism: dict[str, Any]
    epsilon: float
    accuracy: PlanAccuracy


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
