"""What anyone may believe after seeing what a release published: the *calibrated* posterior, as a fixed set of points.

Whatever a mechanism publishes, R, measures the private statistic t with a law p(R|t) that follows from public numbers, so

    p(θ|R) = Σ_t p(θ|t)·p(t|R),   p(t|R) ∝ p(t)·p(R|t),   p(t) the prior predictive, p(θ|t) the plain posterior (τ = 1)

is a function of R and public numbers: post-processing, free, and the same bytes every time. Its intervals hold the truth as
often as they say, on average over the declared prior. The trim binds the sampler, not this: θ has its untrimmed prior.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.core.parameters import Parameter
from app.errors import CalibratedUnavailable

Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a release stores: its samples and, where they are free, the noisy statistic they come from, which was paid for."""

    samples: NDArray[np.float64] = field(repr=False)
    measured: Whole | None = field(default=None, repr=False)
    checked: Whole | None = field(default=None, repr=False)
    """The noisy histogram of a check of fit, where one was paid for."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """R, as far as a reader has a right to it: the first k samples, (k, parameters), and what was measured, if anything.

    `seed` follows from public names only, never from the noise's randomness: equal on every worker, for ever.
    """

    samples: NDArray[np.float64] = field(repr=False)
    measured: Whole | None = field(repr=False)
    seed: bytes


@dataclass(frozen=True, slots=True)
class Belief:
    """p(θ|R) as `points`, (how many, parameters), each of the same weight. Ranges are those of the untrimmed prior.

    Points are independent given R, or one from each of equally probable strata: bounds on means of independent draws hold
    for both. Where they are of a finite chain, or p(R|t) is not exact, the mechanism says so (`approximation`).
    """

    parameters: tuple[Parameter, ...]
    points: NDArray[np.float64] = field(repr=False)


POINTS = 2_048
"""Of a belief, unless a mechanism says otherwise: enough that an interval's ends are a small part of it off."""
UNKNOWN = "no calibrated posterior is known for this mechanism of this model"


class NoBelief:
    """For a mechanism whose law of R given the statistic nobody has worked out."""

    __slots__ = ()
    belief_points: ClassVar[int] = POINTS

    @property
    def drawn_at(self) -> float | None:
        return None

    def approximation(self, model: Any) -> str | None:
        return None

    def calibrated_parameters(self, model: Any, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        raise CalibratedUnavailable(UNKNOWN)

    def belief(self, model: Any, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        raise CalibratedUnavailable(UNKNOWN)
