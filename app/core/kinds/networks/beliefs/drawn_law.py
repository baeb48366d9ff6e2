"""The law of what a split's draws are, given its counts: log p(R | s, f), for every configuration of one split at once.

A draw r of a split with counts (s, f) has probability (1−γ)·P_{s,f}(r) + γ/K on its grid of K points (`block_grid.py`), with

    P_{s,f}(r) = exp(log prior_r + s·x_r + f·y_r − ψ(s, f)),   ψ the log of the sum over the grid,

and, where a point is chosen by its probability, P ∝ exp(g·P_{s,f}). Which draws are strays of the uniform share is a latent of
its own, drawn by turns: given it, N draws that are none have the log-likelihood s·Σx + f·Σy − N·ψ(s, f).

ψ is analytic, on a scale of 1/τ near no counts and of the counts themselves beyond: it is tabulated on even steps of
log(a + τs) and log(b + τf) and interpolated by cubic splines. With steps h the error is about τn·h⁴/384, N of which are kept
under `ERROR_MOST` as far as the table stays small.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import UNIFORM_SHARE, BlockGrid, BlockShape, block_grid

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

ERROR_MOST = 0.02
STEP_LEAST, STEP_MOST = 0.04, 0.1
TERMS_MOST = 100_000_000
"""Of all sums of one table: beyond, steps are longer."""
STRAY_LEAST = 1e-4
_EDGE = 4
"""Steps beyond the counts there are: the spline's own ends are no part of what is asked of it."""
_SCALE_LEAST = 0.5
_COARSE, _TOGETHER = 16, 8
FAR = 45.0
"""In nats below the highest weight: what is left out of a sum is at most e⁻⁴⁵ of it, a point."""
_CHUNK = 1_000_000


@dataclass(frozen=True, slots=True)
class CountsTable:
    """A function of (s, f), 0 ≤ s, f ≤ n, as a cubic spline in log(1 + s/a) and log(1 + f/b)."""

    coefficients: Array
    scales: tuple[float, float]
    step: float

    def at(self, s: Whole, f: Whole) -> Array:
        from scipy.ndimage import map_coordinates  # loaded when first needed

        places = np.empty((2, len(s)))
        for place, counts, scale in zip(places, (s, f), self.scales, strict=True):
            np.log1p(counts / scale, out=place)
        places /= self.step
        places += _EDGE
        return np.asarray(map_coordinates(self.coefficients, places, order=3, prefilter=False))


def step_for(shape: BlockShape, draws: int) -> float:
    wanted = (384 * ERROR_MOST / (draws * shape.temperature * shape.rows)) ** 0.25
    reach = math.log1p(shape.rows * shape.temperature / _SCALE_LEAST)
    affordable = reach * math.sqrt(block_grid(shape).size / TERMS_MOST)
    return float(max(min(max(wanted, STEP_LEAST), STEP_MOST), affordable))


@lru_cache(maxsize=64)
def log_sums(shape: BlockShape, step: float, gain: float | None = None) -> tuple[CountsTable, CountsTable | None]:
    """ψ; with a gain, log Σ exp(g·P) too."""
    from scipy.ndimage import spline_filter

    grid = block_grid(shape)
    first, second = (max(strength, _SCALE_LEAST) / shape.temperature for strength in (shape.alpha, shape.beta))
    axes = []
    for scale in (first, second):
        nodes = math.ceil(math.log1p(shape.rows / scale) / step) + 1
        axes.append(scale * np.expm1(step * np.arange(-_EDGE, nodes + _EDGE)))
    values = np.stack([_log_sums(grid, s, axes[1], gain) for s in axes[0]], axis=1)
    tables = [CountsTable(spline_filter(each, order=3), (first, second), step) for each in values]
    return tables[0], tables[1] if len(tables) > 1 else None


def _log_sums(grid: BlockGrid, s: float, f: Array, gain: float | None) -> Array:
    """(what is asked for, f). Weights rise to one peak and fall, or fall and rise, so those that count lie side by side."""
    bare, points = grid.log_prior + s * grid.success, grid.size
    coarse = np.append(np.arange(0, points - 1, _COARSE), points - 1)
    heights = bare[coarse] + f[:, None] * grid.failure[coarse]
    near = heights > heights.max(axis=1, keepdims=True) - FAR
    low = coarse[np.maximum(near.argmax(axis=1) - 1, 0)]
    high = coarse[np.minimum(len(coarse) - near[:, ::-1].argmax(axis=1), len(coarse) - 1)] + 1
    found = np.empty((1 if gain is None else 2, len(f)))
    for first in range(0, len(f), _TOGETHER):
        own = slice(first, first + _TOGETHER)
        part = slice(low[own].min(), high[own].max())
        weights = bare[part] + f[own, None] * grid.failure[part]
        top = weights.max(axis=1, keepdims=True)
        weights -= top
        np.exp(weights, out=weights)
        sums = weights.sum(axis=1, keepdims=True)
        found[0, own] = (top + np.log(sums))[:, 0]
        if gain is not None:
            weights *= gain / sums
            best = weights.max(axis=1, keepdims=True)
            weights -= best
            np.exp(weights, out=weights)
            others = (points - weights.shape[1]) * np.exp(-best[:, 0])
            found[1, own] = best[:, 0] + np.log(weights.sum(axis=1) + others)
    return found


class DrawnSplit:
    """`places` are the grid points drawn, (draws, configurations). `gain`: of points chosen by their probability, one each.

    Rows are chains times configurations: which draws are strays is every chain's own.
    """

    def __init__(self, shape: BlockShape, places: Whole, chains: int, gain: float | None) -> None:
        self._grid = block_grid(shape)
        draws, self._configurations = places.shape
        step = step_for(shape, draws)
        self._psi, self._scores = log_sums(shape, step, gain)
        self._gain, self._chains = gain, chains
        keys, self._times = np.unique(places + np.arange(self._configurations) * self._grid.size, return_counts=True)
        self._owner, self._place = np.divmod(keys, self._grid.size)
        every = np.bincount(self._owner, self._times, self._configurations)
        x, y = (np.bincount(self._owner, self._times * each, self._configurations) for each in self._sides())
        self._all = every, x, y
        self._draws, self._x, self._y = (np.tile(each, chains) for each in self._all)

    @property
    def tables(self) -> int:
        """That a likelihood is looked up in."""
        return 1 if self._scores is None else 2

    def log_likelihood(self, row: Whole, s: Whole, f: Whole) -> Array:
        """Of counts (s, f) in the rows `row`; up to a constant for each."""
        psi = self._psi.at(s, f)
        if self._gain is None or self._scores is None:
            return np.asarray(s * self._x[row] + f * self._y[row] - self._draws[row] * psi)
        grid, place = self._grid, self._place[row % self._configurations]
        chance = np.exp(grid.log_prior[place] + s * grid.success[place] + f * grid.failure[place] - psi)
        drawn = np.exp(np.minimum(self._gain * chance - self._scores.at(s, f), 0.0))
        return np.asarray(np.log((1 - UNIFORM_SHARE) * drawn + UNIFORM_SHARE / grid.size))

    def look_for_strays(self, s: Whole, f: Whole, generator: np.random.Generator) -> None:
        """Given the counts of every row: which draws are of the uniform share. Chances below `STRAY_LEAST` are none."""
        if self._gain is not None:
            return
        grid, psi = self._grid, self._psi.at(s, f)
        counts = [each.reshape(self._chains, -1) for each in (s, f, psi)]
        found = [np.tile(each, (self._chains, 1)) for each in self._all]
        size = max(1, _CHUNK // len(self._owner))
        for first in range(0, self._chains, size):
            own = [each[first : first + size, self._owner] for each in counts]
            log_p = grid.log_prior[self._place] + own[0] * self._sides()[0] + own[1] * self._sides()[1] - own[2]
            stray = UNIFORM_SHARE / grid.size
            chance = stray / (stray + (1 - UNIFORM_SHARE) * np.exp(np.minimum(log_p, 0.0)))
            chain, key = np.nonzero(chance > STRAY_LEAST)
            strays = generator.binomial(self._times[key], chance[chain, key])
            at = (chain + first) * self._configurations + self._owner[key]
            for total, each in zip(found, (np.ones(len(self._place)), *self._sides()), strict=True):
                total -= np.bincount(at, strays * each[key], total.size).reshape(total.shape)
        self._draws, self._x, self._y = (each.ravel() for each in found)

    def _sides(self) -> tuple[Array, Array]:
        return self._grid.success[self._place], self._grid.failure[self._place]


def places_of(grid: BlockGrid, shares: Array) -> Whole:
    """The nearest points of the grid: shares were multiplied and divided again."""
    right = np.clip(np.searchsorted(grid.theta, shares), 1, grid.size - 1)
    nearer = shares - grid.theta[right - 1] < grid.theta[right] - shares
    return np.asarray(right - nearer, dtype=np.int64)
