"""The settings of `baps`, `laplace` and `map`, the same in every kind of model; a kind adds what they cost and how they draw."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from app.core.privacy.release_cost import EPSILON_MAX, EPSILON_MIN, SAMPLES_MAX
from app.errors import InvalidMechanism

TEMPERATURE_MIN = 1e-6
Score = Literal["probability", "log_density"]
SCORES: tuple[Score, ...] = ("log_density", "probability")
AUTO_SCORE: Literal["auto"] = "auto"


@dataclass(frozen=True, slots=True)
class BapsFields:
    """`samples` draws at `temperature` τ, the power on the likelihood. Cost: `samples` times that of one draw."""

    samples: int
    temperature: float = 1.0
    kind: ClassVar[str] = "baps"

    def __post_init__(self) -> None:
        check_samples(self.samples)
        if not TEMPERATURE_MIN <= self.temperature <= 1:
            raise InvalidMechanism("mechanism.temperature", f"a number from {TEMPERATURE_MIN:g} to 1")

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "samples": self.samples, "temperature": self.temperature}

    def with_samples(self, samples: int) -> Self:
        return replace(self, samples=samples)

    @classmethod
    def parse(cls, spec: Mapping[str, Any]) -> Self:
        refuse_unknown(spec, {"kind", "samples", "temperature"})
        temperature = spec.get("temperature", 1.0)
        if isinstance(temperature, bool) or not isinstance(temperature, int | float):
            raise InvalidMechanism("mechanism.temperature", f"a number from {TEMPERATURE_MIN:g} to 1")
        return cls(read_samples(spec), float(temperature) if abs(temperature) < 2 else 2.0)


@dataclass(frozen=True, slots=True)
class LaplaceFields:
    """Discrete Laplace noise once, of pure `epsilon`; then `samples` of them for free."""

    samples: int
    epsilon: float
    kind: ClassVar[str] = "laplace"
    budget_epsilon_max: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_epsilon(self.epsilon)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "samples": self.samples, "epsilon": self.epsilon}

    def with_samples(self, samples: int) -> Self:
        return replace(self, samples=samples)

    @classmethod
    def parse(cls, spec: Mapping[str, Any]) -> Self:
        refuse_unknown(spec, {"kind", "samples", "epsilon"})
        return cls(read_samples(spec), read_epsilon(spec))


@dataclass(frozen=True, slots=True)
class MapFields:
    """One point, charged once. `auto` stands for a score that a plan still has to name."""

    epsilon: float
    score: Score | Literal["auto"] = "log_density"
    kind: ClassVar[str] = "map"
    samples: ClassVar[int] = 1
    budget_epsilon_max: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "epsilon": self.epsilon, "score": self.score}

    def with_samples(self, samples: int) -> Self:
        return self

    @classmethod
    def parse(cls, spec: Mapping[str, Any]) -> Self:
        refuse_unknown(spec, {"kind", "epsilon", "score"})
        return cls(read_epsilon(spec), read_score(spec))


def check_samples(samples: int) -> None:
    if not 1 <= samples <= SAMPLES_MAX:
        raise InvalidMechanism("mechanism.samples", f"a whole number from 1 to {SAMPLES_MAX}")


def check_epsilon(epsilon: float) -> None:
    if not EPSILON_MIN <= epsilon <= EPSILON_MAX:
        raise InvalidMechanism("mechanism.epsilon", f"a number from {EPSILON_MIN:g} to {EPSILON_MAX:g}")


def refuse_unknown(spec: Mapping[str, Any], known: set[str]) -> None:
    for name in sorted(map(str, set(spec) - known)):
        raise InvalidMechanism(f"mechanism.{name}", f"no such field (known: {', '.join(sorted(known))})")


def read_samples(spec: Mapping[str, Any], default: int | None = None) -> int:
    samples = spec.get("samples", default)
    if isinstance(samples, bool) or not isinstance(samples, int):
        raise InvalidMechanism("mechanism.samples", f"a whole number from 1 to {SAMPLES_MAX}")
    return samples


def read_epsilon(spec: Mapping[str, Any]) -> float:
    epsilon = spec.get("epsilon")
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float):
        raise InvalidMechanism("mechanism.epsilon", "a number")
    check_epsilon(epsilon)  # before it becomes a double, which a whole number may be too large for
    return float(epsilon)


def read_score(spec: Mapping[str, Any]) -> Score | Literal["auto"]:
    score = spec.get("score", AUTO_SCORE)
    for known in (AUTO_SCORE, *SCORES):
        if score == known:
            return known
    raise InvalidMechanism("mechanism.score", "one of " + ", ".join((AUTO_SCORE, *SCORES)))
