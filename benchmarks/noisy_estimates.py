"""Probabilities from noisy counts: clipped to [0, 1], or posterior means under flat priors with the law of the noise known.

Integrals are Gauss–Legendre sums over where the noise leaves the unknowns, 24 nodes each.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Noise:
    """`scale` of one count: σ or b. Conditional questions may have a scale, and so a share of the budget, of their own."""

    name: str
    scale: float
    gaussian: bool
    conditional_scale: float | None = None

    @property
    def of_difference(self) -> float:
        return 2 * (self.conditional_scale or self.scale)

    @property
    def of_given(self) -> float:
        return self.of_difference / math.sqrt(3) if self.gaussian else self.of_difference

    def sd(self) -> float:
        return self.scale if self.gaussian else self.scale * math.sqrt(2)


def clipped_share(count: Array, n: float) -> Array:
    return np.asarray(np.clip(count / n, 0, 1))


def clipped_ratio(difference: Array, size: Array, n: float) -> Array:
    return np.asarray(np.clip(0.5 + difference / (2 * np.clip(size, 1, n)), 0, 1))


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_REACH = 7.0


def _between(centre: Array, spread: Array, top: float) -> tuple[Array, Array]:
    """Nodes and log-weights on the part of [0, top] near `centre`, in a new last axis."""
    low = np.clip(centre - _REACH * spread, 0, top)
    high = np.clip(centre + _REACH * spread, 0, top)
    low = np.where(high - low < spread / 4, np.maximum(high - spread, 0), low)
    high = np.where(high - low < spread / 4, np.minimum(low + spread, top), high)
    half = ((high - low) / 2)[..., None]
    return low[..., None] + half * (_NODES + 1), np.log(half * _WEIGHTS)


def _log_law(value: Array, scale: float, gaussian: bool) -> Array:
    return np.asarray(-((value / scale) ** 2) / 2 if gaussian else -np.abs(value / scale))


def mean_share(counts: Array, noise: Noise, n: float) -> Array:
    """E[p | count] for p uniform on [0, 1]."""
    p, log_w = _between(counts / n, np.full(counts.shape, noise.sd() / n), 1.0)
    log_w = log_w + _log_law(counts[:, None] - n * p, noise.scale, noise.gaussian)
    w = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    return np.asarray((w * p).sum(axis=1) / w.sum(axis=1))


def mean_ratio(difference: Array, size: Array, noise: Noise, n: float) -> Array:
    """E[p | both numbers] for p uniform on [0, 1] and D uniform on [0, n], independent."""
    wide = 1.0 if noise.gaussian else math.sqrt(2)
    people, log_people = _between(size, np.full(size.shape, noise.of_given * wide), n)
    log_people = log_people + _log_law(size[:, None] - people, noise.of_given, noise.gaussian)
    people = np.maximum(people, 0.5)
    centre = 0.5 + difference[:, None] / (2 * people)
    p, log_w = _between(centre, noise.of_difference * wide / (2 * people), 1.0)
    law = _log_law(difference[:, None, None] - people[..., None] * (2 * p - 1), noise.of_difference, noise.gaussian)
    log_w = log_w + law + log_people[..., None]
    w = np.exp(log_w - log_w.max(axis=(1, 2), keepdims=True))
    return np.asarray((w * p).sum(axis=(1, 2)) / w.sum(axis=(1, 2)))
