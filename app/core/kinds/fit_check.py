"""A check of fit that is paid for: the noisy histogram of a model's rows over public bins, and what may be said after it.

Neighbours replace one person's rows, at most k of them by at most k others. With r_b rows removed from bin b and a_b added,
Σ r ≤ k and Σ a ≤ k, so that for counts c

    Σ|a_b − r_b| ≤ 2k,   |a_b − r_b| ≤ k,   Σ(a_b − r_b)² ≤ Σ a_b² + Σ r_b² ≤ 2k²,

reached by k rows that move from one bin to another. Discrete Laplace noise of scale 2k/ε costs at most ε (`moved_cost`);
discrete Gaussian noise of sd σ has ρ = 2k²/(2σ²). What is charged does not depend on bins; which bins there are belongs to
the law of the release, like everything else that decides what is drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.kinds.mechanism_fields import Epsilon
from app.core.noise import discrete_gaussian, discrete_laplace
from app.core.noise.discrete_gaussian import DELTA_MAX, DELTA_MIN
from app.core.privacy.cost import Cost
from app.core.privacy.gaussian import SCALE_MIN
from app.core.privacy.release_cost import EPSILON_MAX, EPSILON_MIN, ReleaseCost, chargeable
from app.core.specs import Spec
from app.core.statistics.histograms import ExactHistogram, HistogramRequest
from app.errors import InvalidCheck, InvalidMechanism

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
AddNoise = Callable[[Whole, float], Whole]

GAUSSIAN_S = 500e-6
NOTICED_SHARE = 0.8
"""How often a check has to notice a ratio of variances for it to be said that it would."""


class CheckSpec(Spec):
    """A check of fit beside a release: a noisy histogram of the modelled column, paid for on top."""

    epsilon: Epsilon = Field(description="What the check costs on top of the release: a pure ε, or an ε at `delta`.")
    delta: float | None = Field(
        default=None,
        ge=DELTA_MIN,
        le=DELTA_MAX,
        description="null: Laplace noise of that pure ε. Otherwise Gaussian noise, which adds up best with a `gaussian` release.",
    )


@dataclass(frozen=True, slots=True)
class FitCheck:
    """Noise on counts of rows, as much as costs `epsilon`, or `epsilon` at `delta`."""

    epsilon: float
    delta: float | None = None

    def __post_init__(self) -> None:
        if not EPSILON_MIN <= self.epsilon <= EPSILON_MAX:
            raise InvalidCheck("check.epsilon", f"a number from {EPSILON_MIN:g} to {EPSILON_MAX:g}")
        if self.delta is not None and not DELTA_MIN <= self.delta <= DELTA_MAX:
            raise InvalidCheck("check.delta", f"a number from {DELTA_MIN:g} to {DELTA_MAX:g}, or null")
        if self.delta is not None:
            self._rho()

    def as_json(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta}

    @property
    def noise(self) -> str:
        return "discrete Laplace" if self.delta is None else "discrete Gaussian"

    def cost(self, unit_rows: int) -> Cost:
        if self.delta is None:
            return discrete_laplace.moved_cost(2 * unit_rows, unit_rows, self.scale(unit_rows))
        return discrete_gaussian.zcdp_cost(self._rho(), smallest_scale=SCALE_MIN)

    def added_to(self, cost: ReleaseCost, unit_rows: int) -> ReleaseCost:
        """To what is charged once, on the curve and on the pure sum."""
        how = cost.method.partition(": ")[2]
        method = f"certified: {how}; and {self.noise} noise on a histogram"
        return replace(cost, once=cost.once.plus(self.cost(unit_rows)), method=method)

    def scale(self, unit_rows: int) -> float:
        """Of the noise on counts times `factor`."""
        if self.delta is None:
            return discrete_laplace.noise_scale(2 * unit_rows, chargeable(self.epsilon))
        return self._sd(unit_rows) * self.factor(unit_rows)

    def factor(self, unit_rows: int) -> int:
        """A public power of two on counts, so that Gaussian noise is wide enough for its own law; 1 for Laplace noise."""
        return 1 if self.delta is None else discrete_gaussian.scaled_up(self._sd(unit_rows))

    def _rho(self) -> float:
        if self.delta is None:
            raise ValueError("Laplace noise has no ρ of its own")
        try:
            return discrete_gaussian.release_rho(self.epsilon, self.delta)
        except InvalidMechanism:
            pass
        raise InvalidCheck("check.epsilon", "more, or a larger delta: no amount of noise reaches this pair")

    def _sd(self, unit_rows: int) -> float:
        return discrete_gaussian.noise_scale(float(np.sqrt(2.0)) * unit_rows * discrete_gaussian.ROUNDING, self._rho())

    def sd(self, unit_rows: int) -> float:
        """Of the noise on one count."""
        if self.delta is not None:
            return self._sd(unit_rows)
        q = np.exp(-1 / self.scale(unit_rows))
        return float(np.sqrt(2 * q) / (1 - q))

    def measure(self, people: int, unit_rows: int, found: ExactHistogram, add_noise: AddNoise | None = None) -> Whole:
        """What is paid for and kept. `add_noise` is OpenDP's but in tests."""
        counts = found.counts.clip(0, people * unit_rows) * self.factor(unit_rows)
        return (add_noise or self._add_noise)(counts, self.scale(unit_rows))

    def _add_noise(self, counts: Whole, scale: float) -> Whole:
        if self.delta is None:
            return discrete_laplace.add_noise(counts, scale)
        return discrete_gaussian.add_noise(counts, np.full(len(counts), scale))

    def counts(self, unit_rows: int, measured: Whole) -> Array:
        """Noisy counts, from what was kept."""
        return np.asarray(measured / self.factor(unit_rows), dtype=np.float64)

    def simulated(self, generator: np.random.Generator, unit_rows: int, counts: Whole) -> Array:
        """Counts with noise of the same law, for simulations only."""
        scale, factor = self.scale(unit_rows), self.factor(unit_rows)
        if self.delta is None:
            return np.asarray(discrete_laplace.seeded_noise(generator)(counts, scale), dtype=np.float64)
        noisy = discrete_gaussian.seeded_noise(generator)(counts * factor, np.full(counts.shape, scale))
        return np.asarray(noisy / factor, dtype=np.float64)

    def work(self, bins: int) -> float:
        """Seconds that `measure` takes at most on the machine of reference."""
        return discrete_laplace.noise_seconds(bins) if self.delta is None else 0.02 + bins * GAUSSIAN_S


class AnyCheck(Protocol):
    """What is paid for beside a release: a check of its model, or one of each of several."""

    def __hash__(self) -> int: ...

    def as_json(self) -> dict[str, Any]: ...

    def added_to(self, cost: ReleaseCost, unit_rows: int) -> ReleaseCost:
        """What the release costs with it."""
        ...

    def measure(self, people: int, unit_rows: int, found: Any) -> Whole:
        """What is paid for and kept, of the statistic that was asked for."""
        ...


def with_check(cost: ReleaseCost, check: AnyCheck | None, unit_rows: int) -> ReleaseCost:
    return cost if check is None else check.added_to(cost, unit_rows)


Outcome = Literal["no_objection", "doubtful"]


@dataclass(frozen=True, slots=True)
class Bin:
    """What was counted in [lower, upper], in units of what is counted, and what the model has there; `sd` of the difference."""

    lower: float
    upper: float
    noisy: float
    expected: float
    sd: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A function of the noisy counts and of public numbers. Probabilities are of data of the model looking as odd as these."""

    outcome: Outcome
    text: str
    advice: str | None
    probability: float
    level: float
    ratio: float
    ratio_interval: tuple[float, float]
    ratio_level: float
    ratio_probability: float
    distance: float
    distance_expected: float
    distance_probability: float
    noticed_ratio: float | None
    noticed_share: float
    noise_sd: float
    quantity: str
    method: str
    bins: tuple[Bin, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class KindCheck:
    """What a kind of model has to say about checks of its models."""

    request: Callable[[Any], HistogramRequest]
    """Which bins. Raises CheckNotOffered."""
    verdict: Callable[[Any, int, int, FitCheck, Whole, bytes], Verdict]
    """(model, people, rows a person may own, check, what was measured, seed of public names)."""
    noticed: Callable[[Any, int, int, FitCheck], float | None]
    """The smallest ratio of variances that would be noticed four times out of five, before any data; from public numbers."""
    records: Callable[[Any, int], int | None]
    """(model, rows a person may own) → how many records of one person sum and histogram together tell apart; None: too many."""
    unchecked: Callable[[Any, int], str | None]
    """(model, rows a person may own) → what a check that was passed still takes for granted."""
