"""What one new record looks like: its mean, the probability that it is at most a value, its quantiles.

The law of T for one record is that of a sum of one (`sums.py`); x follows from T by undoing the transform. `absolute` and
`square` leave the side of the anchor open: the Laplace and the normal distribution take either with probability ½. Records
are those of the model, not clipped to the column's bounds.

    mean         E[x|θ], infinite where it does not exist
    at most v    P(x ≤ v|θ)
    quantile q   the smallest v with P(x ≤ v|θ) ≥ q

Each is monotone in θ, since T has a monotone likelihood ratio. Mixed over the prior's grid they describe a record before
any data is seen: the prior predictive.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.grids.sum_laws import SumLaw

Array = NDArray[np.float64]

TWO_SIDED = frozenset({"laplace", "normal_precision"})
_COUNT_MAX = 2.0**53
_BISECTIONS = 100


@dataclass(frozen=True, slots=True)
class RecordLaw:
    """The law of one record of a model, at every θ of an array."""

    model: NaturalModel

    def mean(self, theta: Array) -> Array:
        request, law = self.model.statistic, self.model.sums
        anchor = request.anchor
        if self._two_sided:
            return np.full_like(theta, anchor)
        match request.transform:
            case "absolute":
                return anchor + law.mean(theta, 1)
            case "square":
                return anchor + math.sqrt(2) * _gamma_moment(law, theta, 0.5)
            case "power":
                return _gamma_moment(law, theta, 1 / anchor)
            case "log_ratio":
                with np.errstate(divide="ignore", invalid="ignore"):
                    return np.where(theta > 1, anchor * (1 - 1 / theta) ** -law.size, np.inf)
            case _:
                return law.mean(theta, 1)

    def at_most(self, theta: Array, value: float) -> Array:
        request = self.model.statistic
        distance = value - request.anchor
        if self._two_sided:
            inner = statistic_at_most(self.model.sums, theta, self._statistic(abs(distance)))
            return 0.5 + math.copysign(0.5, distance) * inner
        if request.transform in ("absolute", "square"):
            return statistic_at_most(self.model.sums, theta, self._statistic(distance) if distance > 0 else -1.0)
        return statistic_at_most(self.model.sums, theta, self._statistic(value))

    def quantile(self, theta: Array, level: float | Array, enough: float = math.inf) -> Array:
        """0 < level < 1, one or one for every θ. Of counts none is looked for far beyond `enough`."""
        if self._two_sided:
            side = np.where(np.greater_equal(level, 0.5), 1.0, -1.0)
            inner = _quantile(self.model.sums, theta, np.abs(2 * level - 1), enough)
            return np.asarray(self.model.statistic.anchor + side * self._distance(inner))
        return self._value(_quantile(self.model.sums, theta, level, enough))

    @property
    def _two_sided(self) -> bool:
        return self.model.family in TWO_SIDED

    def _statistic(self, value: float) -> float:
        """T of a value, of its distance from the anchor where T is one; −1 below the support of a power or a ratio."""
        request = self.model.statistic
        with np.errstate(over="ignore"):
            match request.transform:
                case "square":
                    return float(np.float64(value) ** 2 / 2)
                case "power":
                    return float(np.float64(value) ** request.anchor) if value > 0 else -1.0
                case "log_ratio":
                    return float(np.log(value / request.anchor)) if value > request.anchor else -1.0
                case _:
                    return value

    def _value(self, statistic: Array) -> Array:
        request = self.model.statistic
        with np.errstate(over="ignore"):
            match request.transform:
                case "power":
                    return np.asarray(statistic ** (1 / request.anchor))
                case "log_ratio":
                    return np.asarray(request.anchor * np.exp(statistic))
                case "identity":
                    return statistic
                case _:
                    return request.anchor + self._distance(statistic)

    def _distance(self, statistic: Array) -> Array:
        return np.sqrt(2 * statistic) if self.model.statistic.transform == "square" else statistic


@dataclass(frozen=True, slots=True)
class PriorPredictive:
    """One record before any data: the law mixed over the prior on the trimmed range."""

    law: RecordLaw
    theta: tuple[float, ...]
    weights: tuple[float, ...]

    def mean(self) -> float:
        return float(np.dot(self.weights, self.law.mean(np.array(self.theta))))

    def at_most(self, value: float) -> float:
        return float(np.dot(self.weights, self.law.at_most(np.array(self.theta), value)))

    def quantile(self, level: float) -> float:
        """The smallest value that reaches the level; it lies between the quantiles of the two ends of θ."""
        ends = self.law.quantile(np.array(self.theta), level)
        low, high = float(ends.min()), float(ends.max())
        whole = self.law.model.sums.discrete
        low -= whole
        for _ in range(_BISECTIONS):
            middle = math.floor((low + high) / 2) if whole else (low + high) / 2
            if not low < middle < high:
                break
            low, high = (low, middle) if self.at_most(middle) >= level else (middle, high)
        return high


def prior_predictive(model: NaturalModel) -> PriorPredictive:
    grid = model.grid(1, 1.0)
    weights = np.exp(grid.log_prior - grid.log_prior.max())
    weights /= weights.sum()
    return PriorPredictive(RecordLaw(model), tuple(grid.theta.tolist()), tuple(weights.tolist()))


def _gamma_moment(law: SumLaw, theta: Array, power: float) -> Array:
    """E[Tᵖ] = Γ(a+p)/Γ(a)·θ^{−p} for T ~ Gamma(a, θ)."""
    from scipy.special import gammaln  # loaded when first needed: half a second

    return np.asarray(np.exp(gammaln(law.size + power) - gammaln(law.size)) * theta**-power)


def statistic_at_most(law: SumLaw, theta: Array, value: float | Array) -> Array:
    """P(T ≤ value|θ) for one record; `value` may be one number or one for every θ."""
    from scipy import special

    if law.kind == "normal":
        return np.asarray(special.ndtr((value - theta) / law.size))
    inside = np.maximum(value, 0.0)
    count = np.floor(inside)
    match law.kind:
        case "gamma":
            found = special.gammainc(law.size, theta * inside)
        case "poisson":
            found = special.gammaincc(count + 1, theta)
        case "negative_binomial":
            found = special.betainc(law.size, count + 1, theta)
        case _:
            below = np.minimum(count, law.size - 1)
            found = np.where(count >= law.size, 1.0, special.betainc(law.size - below, below + 1, 1 - theta))
    return np.where(np.less(value, 0), 0.0, found)


def _quantile(law: SumLaw, theta: Array, level: float | Array, enough: float = math.inf) -> Array:
    """The smallest t with P(T ≤ t|θ) ≥ level, 0 ≤ level < 1; of counts something above `enough` where it is larger than that."""
    from scipy import special

    if law.kind == "normal":
        return np.asarray(theta + law.size * special.ndtri(level))
    if law.kind == "gamma":
        return np.asarray(special.gammaincinv(law.size, level) / theta)
    low, high = np.full_like(theta, -1.0), np.zeros_like(theta)
    short = statistic_at_most(law, theta, high) < level
    while short.any() and high.max() < min(_COUNT_MAX, enough):
        low = np.where(short, high, low)
        high = np.where(short, 2 * high + 1, high)
        short = statistic_at_most(law, theta, high) < level
    while (high - low).max() > 1:
        middle = np.floor((low + high) / 2)
        reached = statistic_at_most(law, theta, middle) >= level
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return high
