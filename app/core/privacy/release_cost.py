"""What a whole release costs and what is said about it, from public numbers only."""

import math
from dataclasses import dataclass
from fractions import Fraction

from app.core.privacy.cost import ZERO_COST, Cost

SAMPLES_MAX = 1_000_000
EPSILON_MIN = 1e-6
EPSILON_MAX = 1e4


@dataclass(frozen=True, slots=True)
class ReleaseCost:
    """`once` is charged with the first sample, `per_sample` with every one.

    Mechanisms whose samples are free post-processing have only the first, `baps` only the second. `papers_pure` is the
    papers' figure, shown beside ours and never charged.
    """

    per_sample: Cost
    samples: int
    kl_sup: float
    papers_pure: float
    method: str
    grid_points: int
    once: Cost = ZERO_COST
    parts: tuple["ReleaseCost", ...] = ()
    """Of a release of several models: what each costs. All of it is in `once` then, whatever prefixes are read."""

    @property
    def gaussian(self) -> bool:
        """Whether all of it is Gaussian noise, to which a filter of its own applies."""
        return self.once.gaussian and self.per_sample.gaussian

    @property
    def total(self) -> Cost:
        return self.prefix(self.samples)

    def prefix(self, samples: int) -> Cost:
        """What knowing the first `samples` samples costs."""
        return ZERO_COST if samples == 0 else self.once.plus(self.per_sample.times(samples))


def chargeable(epsilon: float) -> float:
    """The largest double of whole 10⁻⁹ nats not above ε.

    A budget of 0.7 is the double just below 0.7, kept rounded down in those units; a charge of that same double is rounded
    up, and would not fit. What is asked for in decimals has to fit a budget written the same way.
    """
    units = math.floor(Fraction(epsilon) * 10**9)
    value = units / 10**9
    return value if Fraction(value) * 10**9 <= units else math.nextafter(value, 0.0)
