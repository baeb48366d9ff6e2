"""How the sum of T over n records is distributed given θ: what a noisy sum is compared with.

    binomial            Σ ~ Binomial(n·size, θ)          negative_binomial   Σ ~ NegBin(n·size, θ)
    poisson             Σ ~ Poisson(n·θ)                 gamma               Σ ~ Gamma(shape n·size, rate θ)
    normal              Σ ~ Normal(n·θ, n·size²)

Clipping and rounding of single records are ignored here, which moves no guarantee: this is post-processing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SumKind = Literal["binomial", "negative_binomial", "poisson", "gamma", "normal"]


@dataclass(frozen=True, slots=True)
class SumLaw:
    """`size` is trials, successes or shape a record; the sd for the normal; 1 for the Poisson."""

    kind: SumKind
    size: float = 1.0

    @property
    def discrete(self) -> bool:
        return self.kind in ("binomial", "negative_binomial", "poisson")

    def mean(self, theta: Array, records: int) -> Array:
        """E Σ."""
        return np.asarray(records * _MOMENTS[self.kind](theta, self.size)[0], dtype=np.float64)

    def sd(self, theta: Array, records: int) -> Array:
        return np.asarray(np.sqrt(records * _MOMENTS[self.kind](theta, self.size)[1]), dtype=np.float64)

    def log_density(self, total: Array, theta: Array, records: int) -> Array:
        """log p(Σ = total | θ), −∞ outside the support; smooth in between for the discrete laws."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = _LOG_DENSITIES[self.kind](np.asarray(total, dtype=np.float64), theta, records, self.size)
        return np.where(np.isnan(value), -np.inf, value)


_MOMENTS: dict[str, Callable[[Array, float], tuple[Array, Array]]] = {
    "binomial": lambda theta, size: (size * theta, size * theta * (1 - theta)),
    "negative_binomial": lambda theta, size: (size * (1 - theta) / theta, size * (1 - theta) / theta**2),
    "poisson": lambda theta, size: (theta, theta),
    "gamma": lambda theta, size: (size / theta, size / theta**2),
    "normal": lambda theta, size: (theta, np.full_like(theta, size**2)),
}
"""Mean and variance of T for one record."""


def _binomial(x: Array, theta: Array, records: int, size: float) -> Array:
    from scipy.special import gammaln, xlog1py, xlogy  # loaded when first needed: half a second

    n = records * size
    inside = (x >= 0) & (x <= n)
    x = np.clip(x, 0, n)
    value = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1) + xlogy(x, theta) + xlog1py(n - x, -theta)
    return np.where(inside, value, -np.inf)


def _negative_binomial(x: Array, theta: Array, records: int, size: float) -> Array:
    from scipy.special import gammaln, xlog1py  # loaded when first needed: half a second

    r = records * size
    inside = x >= 0
    x = np.maximum(x, 0)
    value = gammaln(x + r) - gammaln(r) - gammaln(x + 1) + r * np.log(theta) + xlog1py(x, -theta)
    return np.where(inside, value, -np.inf)


def _poisson(x: Array, theta: Array, records: int, size: float) -> Array:
    from scipy.special import gammaln, xlogy  # loaded when first needed: half a second

    inside = x >= 0
    x = np.maximum(x, 0)
    return np.where(inside, xlogy(x, records * theta) - records * theta - gammaln(x + 1), -np.inf)


def _gamma(x: Array, theta: Array, records: int, size: float) -> Array:
    from scipy.special import gammaln  # loaded when first needed: half a second

    shape = records * size
    inside = x > 0
    x = np.where(inside, x, 1.0)
    value = shape * np.log(theta) - gammaln(shape) + (shape - 1) * np.log(x) - theta * x
    return np.where(inside, value, -np.inf)


def _normal(x: Array, theta: Array, records: int, size: float) -> Array:
    variance = records * size**2
    return np.asarray(-((x - records * theta) ** 2) / (2 * variance) - 0.5 * np.log(2 * np.pi * variance))


_LOG_DENSITIES = {
    "binomial": _binomial,
    "negative_binomial": _negative_binomial,
    "poisson": _poisson,
    "gamma": _gamma,
    "normal": _normal,
}
