"""What a plan is asked and what it answers, the same for every kind of model."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field, TypeAdapter

from app.core.kinds.accuracy_goal import AccuracyQuestion, AccuracySearch
from app.core.kinds.mechanism_fields import Epsilon, MechanismSpec, Samples
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.targets import Target
from app.core.specs import read_spec
from app.errors import InvalidInput, InvalidMechanism

AUTO = "auto"
COMPARED_FROM, COMPARED_TO = 1e-5, 1e3
"""Only within these ε are other mechanisms looked for at the same cost."""


class PlanAutoMechanism(MechanismSpec):
    """The most accurate mechanism that fits, as a plan may leave it open."""

    kind: Literal["auto"] = Field(description="Chooses the mechanism.")
    epsilon: Epsilon | None = Field(default=None, description="What it may cost; null: the target's.")
    samples: Samples | None = Field(default=None, description="How many samples it has to give; null: any number.")


class AutoMechanism(PlanAutoMechanism):
    """The most accurate mechanism that fits, from public numbers; the release names what it became."""

    epsilon: Epsilon = Field(description="What it may cost, at the dataset's δ.")


_AUTO = TypeAdapter(AutoMechanism)
_PLAN_AUTO = TypeAdapter(PlanAutoMechanism)


SAMPLES, DRAWS = "samples", "draws"
"""What a plan for `baps` finds: how many draws, or how many and how cool where a kind knows what tells most."""


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """What was asked, parsed. `target` is None for a plain cost; `read_mechanism` is the kind's own."""

    model: ReleaseModel
    mechanism: Mapping[str, Any]
    read_mechanism: Callable[[Mapping[str, Any]], ReleaseMechanism]
    people: int
    unit_rows: int
    delta: float
    target: Target | None
    calibrate: str | None
    epsilon_max: float
    samples_max: int
    compared: bool = True
    """Whether other mechanisms are looked for at the same cost; a plan by accuracy has compared them already."""

    @property
    def auto_target(self) -> Target:
        """What `auto` may spend: its own ε, or the target's. Raises InvalidMechanism if they differ, InvalidInput without."""
        target, epsilon = self.target, read_spec(_PLAN_AUTO, self.mechanism, "mechanism", InvalidMechanism).epsilon
        if epsilon is not None:
            own = Target(epsilon, self.delta)
            if target is not None and target != own:
                raise InvalidMechanism("mechanism.epsilon", "the same value as target.epsilon, or nothing")
            target = own
        if target is None:
            raise InvalidInput("target", "an (ε, δ) to choose a mechanism for, or `mechanism.epsilon`")
        return target


@dataclass(frozen=True, slots=True)
class Intervals:
    """What tells how wide calibrated intervals of the plan will be and how often they will hold; `sd` is expected of them."""

    search: AccuracySearch
    sd: float


@dataclass(frozen=True, slots=True)
class Figures:
    """JSON-ready but for the first three; `model` may differ from the one asked about where a trim was found."""

    model: ReleaseModel
    mechanism: ReleaseMechanism
    cost: ReleaseCost
    accuracy: dict[str, Any]
    alternatives: list[dict[str, Any]]
    advice: str | None
    curves: dict[str, list[dict[str, Any]]]
    prior_predictive: dict[str, Any] | None = None
    scores: list[dict[str, Any]] | None = None
    bounds: list[dict[str, Any]] = field(default_factory=list)
    intervals: Intervals | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What `auto` is asked in a release: the best for this model that costs at most the target."""

    model: ReleaseModel
    people: int
    unit_rows: int
    target: Target
    samples: int | None
    samples_max: int


@dataclass(frozen=True, slots=True)
class Planner:
    """Blocking work on public numbers."""

    figures: Callable[[PlanQuestion], Figures]
    choose: Callable[[Choice], ReleaseMechanism]
    settled: Callable[[ReleaseMechanism, ReleaseModel, int, int], ReleaseMechanism]
    """A mechanism as it will be stored: nothing about it left open."""
    settled_model: Callable[[ReleaseModel, ReleaseMechanism, int, int], ReleaseModel]
    """The model as it will be stored with that mechanism: a public range that nobody declared is settled."""
    accuracy: Callable[[AccuracyQuestion], AccuracySearch]
    """What reaches an accuracy, and at what price. Raises InvalidInput for models whose accuracy nobody can foretell."""


def is_auto(spec: object) -> bool:
    return isinstance(spec, Mapping) and spec.get("kind") == AUTO


def read_auto(spec: Mapping[str, Any], delta: float, samples_max: int) -> tuple[Target, int | None]:
    """(what it may spend, how many samples to draw if that is fixed). Raises InvalidMechanism."""
    read = read_spec(_AUTO, spec, "mechanism", InvalidMechanism)
    return Target(read.epsilon, delta), auto_samples(spec, samples_max)


def auto_samples(spec: Mapping[str, Any], samples_max: int) -> int | None:
    """How many samples to draw, if that is fixed. Raises InvalidMechanism."""
    samples = read_spec(_PLAN_AUTO, spec, "mechanism", InvalidMechanism).samples
    if samples is not None and samples > samples_max:
        raise InvalidMechanism("mechanism.samples", f"a whole number from 1 to {samples_max}")
    return samples


def written_mechanism(question: PlanQuestion, **changed: Any) -> ReleaseMechanism:
    return question.read_mechanism({**question.mechanism, **changed})


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
