"""The settings of `baps`, `laplace`, `gaussian` and `map`, the same in every kind of model.

A kind adds what they cost and how they draw.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from app.core.kinds.belief import NoBelief
from app.core.noise.discrete_gaussian import DELTA_MAX, DELTA_MIN, release_rho, zcdp_cost
from app.core.privacy.cost import ZERO_COST
from app.core.privacy.gaussian import SCALE_MIN
from app.core.privacy.release_cost import EPSILON_MAX, EPSILON_MIN, SAMPLES_MAX, ReleaseCost
from app.core.specs import Spec
from app.errors import InvalidMechanism

CURRENT_LAW = 2
"""Which version of the mechanisms draws. A release is drawn, and its cost computed again, by the law it was charged under: lines
of the ledger name it, and those that do not are of law 1. A mechanism that draws differently since has a field `law`."""
TEMPERATURE_MIN = 1e-6
Score = Literal["probability", "log_density"]
SCORES: tuple[Score, ...] = ("log_density", "probability")
AUTO_SCORE: Literal["auto"] = "auto"

Samples = Annotated[int, Field(ge=1, le=SAMPLES_MAX)]
Epsilon = Annotated[float, Field(ge=EPSILON_MIN, le=EPSILON_MAX)]
Temperature = Annotated[float, Field(ge=TEMPERATURE_MIN, le=1)]
FREE_SAMPLES = "How many samples to draw: they are free once the noise is paid for."


class MechanismSpec(Spec):
    """How samples are drawn from a model."""

    kind: str


class PlanBapsMechanism(MechanismSpec):
    """Draws from the tempered posterior, as a plan may leave them open."""

    kind: Literal["baps"] = Field(description="The name of the mechanism.")
    samples: Samples | None = Field(default=None, description="How many draws; null: as many as the target pays for.")
    temperature: Temperature | None = Field(
        default=None,
        description="The power on the likelihood; null: 1, or of one parameter with `samples` left out too and a `target`, "
        "what tells most: many cool draws rather than a few warm ones.",
    )


class BapsMechanism(PlanBapsMechanism):
    """Draws from the tempered posterior: every one is paid for."""

    samples: Samples = Field(description="How many draws.")
    temperature: Temperature = Field(
        default=1.0, description="The power on the likelihood: lower is cheaper and wider."
    )


class LaplaceMechanism(MechanismSpec):
    """Laplace noise on what the model sums or counts, once; then samples of the posterior given that."""

    kind: Literal["laplace"] = Field(description="The name of the mechanism.")
    samples: Samples = Field(description=FREE_SAMPLES)
    epsilon: Epsilon = Field(description="The pure ε of the whole release.")


class GaussianMechanism(MechanismSpec):
    """Gaussian noise on what the model sums or counts, once; then samples of the posterior given that."""

    kind: Literal["gaussian"] = Field(description="The name of the mechanism.")
    samples: Samples = Field(description=FREE_SAMPLES)
    epsilon: Epsilon = Field(description="The ε of the whole release, at `delta`.")
    delta: float = Field(ge=DELTA_MIN, le=DELTA_MAX, description="The δ at which the release costs `epsilon`.")


class MapMechanism(MechanismSpec):
    """One point near the posterior's peak."""

    kind: Literal["map"] = Field(description="The name of the mechanism.")
    epsilon: Epsilon = Field(
        description="The range of the choice's log-ratios: a pure ε, and what the release costs at most; it may cost less."
    )
    score: Literal["auto", Score] = Field(
        default=AUTO_SCORE, description="What a point is chosen by; `auto`: the more accurate of the two."
    )


@dataclass(frozen=True, slots=True)
class BapsFields(NoBelief):
    """`samples` draws at `temperature` τ, the power on the likelihood. Cost: `samples` times that of one draw."""

    samples: int
    temperature: float = 1.0
    kind: ClassVar[str] = "baps"

    def __post_init__(self) -> None:
        check_samples(self.samples)
        if not TEMPERATURE_MIN <= self.temperature <= 1:
            raise InvalidMechanism("mechanism.temperature", f"a number from {TEMPERATURE_MIN:g} to 1")

    @property
    def drawn_at(self) -> float:
        return self.temperature

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "samples": self.samples, "temperature": self.temperature}

    def with_samples(self, samples: int) -> Self:
        return replace(self, samples=samples)


@dataclass(frozen=True, slots=True)
class LaplaceFields(NoBelief):
    """Discrete Laplace noise once, of pure `epsilon`; then `samples` of them for free."""

    samples: int
    epsilon: float
    law: int = CURRENT_LAW
    kind: ClassVar[str] = "laplace"
    budget_epsilon_max: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_epsilon(self.epsilon)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "samples": self.samples, "epsilon": self.epsilon}

    def with_samples(self, samples: int) -> Self:
        return replace(self, samples=samples)


@dataclass(frozen=True, slots=True)
class GaussianFields(NoBelief):
    """Discrete Gaussian noise once, as much as costs `epsilon` at `delta`; then `samples` of them for free."""

    samples: int
    epsilon: float
    delta: float
    kind: ClassVar[str] = "gaussian"
    budget_epsilon_max: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_epsilon(self.epsilon)
        check_delta(self.delta)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "samples": self.samples, "epsilon": self.epsilon, "delta": self.delta}

    def with_samples(self, samples: int) -> Self:
        return replace(self, samples=samples)

    @property
    def rho(self) -> float:
        return release_rho(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True)
class MapFields(NoBelief):
    """One point, charged once. `auto` stands for a score that a plan still has to name; `law` is no part of a request."""

    epsilon: float
    score: Score | Literal["auto"] = "log_density"
    law: int = field(default=CURRENT_LAW, kw_only=True)
    kind: ClassVar[str] = "map"
    samples: ClassVar[int] = 1
    budget_epsilon_max: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not 1 <= self.law <= CURRENT_LAW:
            raise InvalidMechanism("mechanism.law", f"a whole number from 1 to {CURRENT_LAW}")

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilon": self.epsilon, "score": self.score}

    def with_samples(self, samples: int) -> Self:
        return self


def check_samples(samples: int) -> None:
    if not 1 <= samples <= SAMPLES_MAX:
        raise InvalidMechanism("mechanism.samples", f"a whole number from 1 to {SAMPLES_MAX}")


def check_epsilon(epsilon: float) -> None:
    if not EPSILON_MIN <= epsilon <= EPSILON_MAX:
        raise InvalidMechanism("mechanism.epsilon", f"a number from {EPSILON_MIN:g} to {EPSILON_MAX:g}")


def check_delta(delta: float) -> None:
    if not DELTA_MIN <= delta <= DELTA_MAX:
        raise InvalidMechanism("mechanism.delta", f"a number from {DELTA_MIN:g} to {DELTA_MAX:g}")


def gaussian_cost(rho: float, samples: int, *, smallest_scale: float = SCALE_MIN, grid_points: int = 0) -> ReleaseCost:
    """Of discrete Gaussian noise that costs ρ, whatever it hides; samples are free."""
    return ReleaseCost(
        per_sample=ZERO_COST,
        once=zcdp_cost(rho, smallest_scale=smallest_scale),
        samples=samples,
        kl_sup=rho,
        papers_pure=math.inf,
        method="exact: discrete Gaussian",
        grid_points=grid_points,
    )
