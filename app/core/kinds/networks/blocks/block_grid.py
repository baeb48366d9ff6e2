"""One block: a Bernoulli split with a Beta prior on the public grid, its counts (s, f), and exact divergences at counts.

    P_{s,f}(k) ∝ exp(log prior_k + s·x_k + f·y_k),   x = τ·log θ, y = τ·log(1−θ)

The doubles x, y and log prior are the constants of the model: the sampler multiplies and adds exactly these, and the
analysis is of exactly these. In a block that is not full, observations beyond `GRID_ROWS_MAX`/τ no longer refine the
grid: at forty times as many a posterior sd is still about as wide as the step, and a discrete normal keeps its mean and
spread there.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.bernoulli import bernoulli
from app.core.numerics.remainder import phi
from app.core.privacy.cost import ORDERS

Array = NDArray[np.float64]

GRID_ROWS_MAX = 250_000
UNIFORM_SHARE = 2.0**-20
"""γ: every table is mixed with so much of the uniform one before it is drawn from (`block_sampler.py`)."""
POWERS = np.array([1.0, *(1 - order for order in ORDERS)])
"""h of C(h) = log E exp(h·(b − E b)): first KL, then every order."""
_SMALL = 0.25
LOWEST = -345.0
"""Exponents are held above this (10⁻¹⁵⁰): smaller numbers make no difference to sums above `_LEAST`, and cost time."""
_LEAST = 1e-130


@dataclass(frozen=True, slots=True)
class BlockShape:
    """Everything public a block's tables depend on; blocks of the same shape cost the same.

    `full`: every row is an observation in this block, as in the first split of a node without parents, so s + f = `rows`
    and one person can only swap; such a block gets cheaper with `rows`, and its grid finer without end. A person with up to
    `unit_rows` rows replaces so many at once, and s + f lies between the number of people and `rows`.
    """

    alpha: float
    beta: float
    trim: float
    rows: int
    temperature: float
    full: bool = False
    unit_rows: int = 1

    @property
    def least_rows(self) -> int:
        """In a full block: every person has at least one."""
        return self.rows // self.unit_rows if self.full else 0


@dataclass(frozen=True, slots=True)
class BlockGrid:
    """`success` and `failure` are x and y: what one observation on either side adds to every log-weight."""

    theta: Array
    success: Array
    failure: Array
    log_prior: Array

    def change(self, d: tuple[int, int]) -> Array:
        """b = Δs·x + Δf·y."""
        return d[0] * self.success + d[1] * self.failure

    @property
    def size(self) -> int:
        return len(self.theta)


@lru_cache(maxsize=512)
def block_grid(shape: BlockShape) -> BlockGrid:
    rows = shape.rows if shape.full else min(shape.rows, max(1, int(GRID_ROWS_MAX / shape.temperature)))
    theta = bernoulli("block", shape.alpha, shape.beta, shape.trim).grid(rows, shape.temperature).theta
    log_yes, log_no = np.log(theta), np.log1p(-theta)
    log_prior = (shape.alpha - 0.5) * log_yes + (shape.beta - 0.5) * log_no
    return BlockGrid(theta, shape.temperature * log_yes, shape.temperature * log_no, log_prior)


def tables(grid: BlockGrid, s: Array, f: Array) -> Array:
    """Posterior probabilities, one row for every pair of counts."""
    log_w = grid.log_prior + s[:, None] * grid.success + f[:, None] * grid.failure
    log_w -= log_w.max(axis=1, keepdims=True)
    weights = np.exp(np.maximum(log_w, LOWEST))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


class Divergences:
    """[KL, D_α …] between P_v and P_{v+d} for tables P_v, with b = `grid.change(d)`.

    D_α = C(1−α)/(α−1) + C(1), KL = C(1). Around the middle of its range b is at most half that range, and with
    Φ = E φ(h·b), m = E b:  C(h) = log(1 + h·m + Φ) − h·m = Φ + [log1p(y) − y],  y = h·m + Φ, which loses no digits where
    h·b is small; elsewhere a log-sum-exp against tilts e^{h·b} that all tables share. Where a sum is too small to be held,
    the range of b stands in, which bounds every order.
    """

    def __init__(self, b: Array) -> None:
        self._spread = float(np.ptp(b))
        self._b = b - (b.max() + b.min()) / 2
        exponents = self._b[:, None] * POWERS
        self._small = np.abs(POWERS) * self._spread / 2 < _SMALL
        self._remainders = phi(exponents[:, self._small])
        large = exponents[:, ~self._small]
        self._tops = large.max(axis=0) if large.size else np.zeros(0)
        self._tilts = np.exp(np.maximum(large - self._tops, LOWEST))

    def at(self, p: Array) -> Array:
        """One row for every row of `p`."""
        mean = (p @ self._b)[:, None] * POWERS
        small = self._small
        cumulants = np.empty((len(p), len(POWERS)))
        remainder = p @ self._remainders
        cumulants[:, small] = remainder + _log1p_less(mean[:, small] + remainder)
        sums = p @ self._tilts
        logs = np.where(sums > _LEAST, np.log(np.maximum(sums, _LEAST)), np.inf)
        cumulants[:, ~small] = logs + self._tops - mean[:, ~small]
        cumulants = np.maximum(cumulants, 0.0)
        curves = cumulants[:, 1:] / -POWERS[1:] + cumulants[:, :1]
        return np.asarray(np.minimum(np.concatenate([cumulants[:, :1], curves], axis=1), self._spread))


def _log1p_less(y: Array) -> Array:
    """log(1+y) − y."""
    series = -y * y * (0.5 - y * (1 / 3 - y * (0.25 - y * (0.2 - y / 6))))
    return np.where(np.abs(y) < 3e-3, series, np.log1p(y) - y)
