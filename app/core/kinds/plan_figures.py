"""What a plan is asked and what it answers, the same for every kind of model."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.kinds.mechanism_fields import read_epsilon, refuse_unknown
from app.core.kinds.protocols import MechanismParser, ReleaseMechanism, ReleaseModel
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.targets import Target
from app.errors import InvalidInput, InvalidMechanism

AUTO = "auto"
COMPARED_FROM, COMPARED_TO = 1e-5, 1e3
"""Only within these ε are other mechanisms looked for at the same cost."""
_AUTO_FIELDS = {"kind", "epsilon", "samples"}


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """What was asked, parsed. `target` is None for a plain cost; `read_mechanism` is the kind's own."""

    model: ReleaseModel
    mechanism: Mapping[str, Any]
    read_mechanism: MechanismParser[ReleaseMechanism]
    people: int
    unit_rows: int
    delta: float
    target: Target | None
    calibrate: str | None
    epsilon_max: float
    samples_max: int

    @property
    def auto_target(self) -> Target:
        """What `auto` may spend: its own ε, or the target's. Raises InvalidMechanism if they differ, InvalidInput without."""
        target = self.target
        if "epsilon" in self.mechanism:
            own = Target(read_epsilon(self.mechanism), self.delta)
            if target is not None and target != own:
                raise InvalidMechanism("mechanism.epsilon", "the same value as target.epsilon, or nothing")
            target = own
        if target is None:
            raise InvalidInput("target", "an (ε, δ) to choose a mechanism for, or `mechanism.epsilon`")
        return target


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


def is_auto(spec: object) -> bool:
    return isinstance(spec, Mapping) and spec.get("kind") == AUTO


def auto_samples(spec: Mapping[str, Any], samples_max: int) -> int | None:
    """How many samples to draw, if that is fixed. Raises InvalidMechanism for any other setting."""
    refuse_unknown(spec, _AUTO_FIELDS)
    samples = spec.get("samples")
    if samples is None:
        return None
    if isinstance(samples, bool) or not isinstance(samples, int) or not 1 <= samples <= samples_max:
        raise InvalidMechanism("mechanism.samples", f"a whole number from 1 to {samples_max}")
    return samples


def written_mechanism(question: PlanQuestion, **changed: Any) -> ReleaseMechanism:
    return question.read_mechanism({**question.mechanism, **changed})


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
