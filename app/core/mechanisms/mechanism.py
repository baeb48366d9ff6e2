"""What every mechanism is, and how its JSON is read."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.families import Model
from app.core.mechanisms.release_cost import ReleaseCost
from app.core.statistics import ExactStatistic
from app.errors import InvalidMechanism

SAMPLES_MAX = 1_000_000
EPSILON_MIN = 1e-6
EPSILON_MAX = 1e4


class Mechanism(Protocol):
    """Validated by its own constructor; frozen. `cost` uses public numbers only, `draw` alone sees a statistic."""

    @property
    def kind(self) -> str: ...
    @property
    def samples(self) -> int: ...
    def as_json(self) -> dict[str, Any]: ...
    def with_samples(self, samples: int) -> "Mechanism": ...
    def cost(self, model: Model, people: int, unit_rows: int) -> ReleaseCost: ...
    def draw(
        self,
        model: Model,
        people: int,
        unit_rows: int,
        statistic: ExactStatistic,
        random_bytes: Callable[[int], bytes],
    ) -> NDArray[np.float64]:
        """(samples, parameters), from the operating system's randomness in production."""
        ...


def clamped(model: Model, people: int, unit_rows: int, statistic: ExactStatistic) -> ExactStatistic:
    """Only statistics the analysis covers reach a sampler, whatever a source returns."""
    rows = min(max(statistic.rows, people), people * unit_rows)
    low, high = model.statistic_range
    return ExactStatistic(min(max(statistic.total, rows * low), rows * high), rows)


def check_samples(samples: int) -> None:
    if not 1 <= samples <= SAMPLES_MAX:
        raise InvalidMechanism("mechanism.samples", f"a whole number from 1 to {SAMPLES_MAX}")


def check_epsilon(epsilon: float) -> None:
    if not EPSILON_MIN <= epsilon <= EPSILON_MAX:
        raise InvalidMechanism("mechanism.epsilon", f"a number from {EPSILON_MIN:g} to {EPSILON_MAX:g}")


def chargeable(epsilon: float) -> float:
    """The largest double of whole 10⁻⁹ nats not above ε.

    A budget of 0.7 is the double just below 0.7, kept rounded down in those units; a charge of that same double is rounded
    up, and would not fit. What is asked for in decimals has to fit a budget written the same way.
    """
    units = math.floor(Fraction(epsilon) * 10**9)
    value = units / 10**9
    return value if Fraction(value) * 10**9 <= units else math.nextafter(value, 0.0)


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
