"""R as a measurement: log p(R|t) for any sum t of a number of rows, up to a constant, from public numbers and R alone."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

HINTS = 257
_CELLS = 2_000_000
_NOISE_REACH = np.concatenate([-np.geomspace(1e3, 0.1, 48), [0.0], np.geomspace(0.1, 1e3, 48)])
_WELL_SDS = np.array([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0])
ROWS_REACH_SDS = 9.0


class Measurement(Protocol):
    """`hints` are sums near which log p(R|t) may have a peak of its own; `rows_within` holds all numbers of rows that count,
    and where log p(R|t) is `cornered` in them a few would not do for all."""

    @property
    def cornered(self) -> bool: ...
    def log_likelihood(self, totals: Array, rows: int) -> Array: ...
    def hints(self, rows: int) -> Array: ...
    def rows_within(self, least: int, most: int) -> tuple[int, int]: ...


class DrawnPoints:
    """Draws of the tempered table on the public grid:  Σ_i log[(1−γ)·P_t(θ_i) + γ/K], over the points that were drawn.

    The closed form τ·t·Ση − N·ψ_τ(t), which leaves out γ, is no substitute: one stray of the uniform share among five draws
    would move the answer by many standard deviations.
    """

    cornered = False

    def __init__(self, grid: PublicGrid, samples: Array) -> None:
        self._grid = grid
        self._drawn, self._times = np.unique(_places(grid, samples), return_counts=True)

    def log_likelihood(self, totals: Array, rows: int) -> Array:
        found = [
            np.log(_mixed(share[:, self._drawn], self._grid.size)) @ self._times
            for share in _tables(self._grid, totals, rows)
        ]
        return np.concatenate(found)

    def hints(self, rows: int) -> Array:
        """The sums whose tables peak at the points drawn, or at some of them."""
        chosen = np.linspace(0, len(self._drawn) - 1, min(HINTS, len(self._drawn))).astype(np.int64)
        return _peaking(self._grid, self._drawn[chosen], rows)

    def rows_within(self, least: int, most: int) -> tuple[int, int]:
        return least, most


class ScoredPoint:
    """One draw with weights exp(gain·p_k), p the mixed posterior's probabilities, itself mixed with γ (`map`)."""

    cornered = False

    def __init__(self, grid: PublicGrid, gain: float, sample: float) -> None:
        self._grid, self._gain = grid, gain
        self._drawn = int(_places(grid, np.array([sample]))[0])

    def log_likelihood(self, totals: Array, rows: int) -> Array:
        size, found = self._grid.size, []
        for share in _tables(self._grid, totals, rows):
            score = self._gain * _mixed(share, size)
            weight = np.exp(score - score.max(axis=1, keepdims=True))
            found.append(np.log(_mixed(weight[:, self._drawn] / weight.sum(axis=1), size)))
        return np.concatenate(found)

    def hints(self, rows: int) -> Array:
        """Away from its well the likelihood is flat: no slope would lead there."""
        around = _peaking(self._grid, np.array([self._drawn]), rows)[0]
        grid, k = self._grid, self._drawn
        rise = np.gradient(grid.mean, grid.eta)[k]
        return np.asarray(around + math.sqrt(max(rows * rise, 1.0)) * _WELL_SDS)

    def rows_within(self, least: int, most: int) -> tuple[int, int]:
        return least, most


@dataclass(frozen=True, slots=True)
class NoisySum:
    """`scale_up`·t + noise, of Laplace or Gaussian law, in steps of the lattice; people have one row each."""

    noisy: int
    scale: float
    gaussian: bool
    scale_up: int = 1
    cornered: ClassVar[bool] = False

    def log_likelihood(self, totals: Array, rows: int) -> Array:
        return log_noise(self.noisy - self.scale_up * totals, self.scale, self.gaussian)

    def hints(self, rows: int) -> Array:
        return np.asarray((self.noisy + self.scale * _NOISE_REACH) / self.scale_up)

    def rows_within(self, least: int, most: int) -> tuple[int, int]:
        return least, most


@dataclass(frozen=True, slots=True)
class NoisySumAndRows:
    """2t − steps·m and m, each times its own factor, with noise: neither the sum nor the number of rows m is known."""

    noisy: int
    noisy_rows: int
    scale: float
    rows_scale: float
    steps: int
    gaussian: bool
    scale_up: int = 1
    rows_scale_up: int = 1

    @property
    def cornered(self) -> bool:
        return not self.gaussian

    def log_likelihood(self, totals: Array, rows: int) -> Array:
        centred = self.scale_up * (2 * totals - self.steps * rows)
        apart = self.noisy_rows - self.rows_scale_up * np.array([float(rows)])
        found = log_noise(self.noisy - centred, self.scale, self.gaussian)
        return found + log_noise(apart, self.rows_scale, self.gaussian)

    def hints(self, rows: int) -> Array:
        centred = (self.noisy + self.scale * _NOISE_REACH) / self.scale_up
        return np.asarray((centred + self.steps * rows) / 2)

    def rows_within(self, least: int, most: int) -> tuple[int, int]:
        reach = self.rows_scale * (ROWS_REACH_SDS if self.gaussian else 4 * ROWS_REACH_SDS)
        centre = min(max(self.noisy_rows / self.rows_scale_up, least), most)
        reach = math.ceil(reach / self.rows_scale_up)
        return max(least, math.floor(centre) - reach), min(most, math.ceil(centre) + reach)


def log_noise(apart: Array, scale: float, gaussian: bool) -> Array:
    return -((apart / scale) ** 2) / 2 if gaussian else -np.abs(apart) / scale


def _places(grid: PublicGrid, samples: Array) -> Whole:
    """Indices of the grid points nearest to the samples, which they are."""
    order = np.argsort(grid.theta)
    ordered = grid.theta[order]
    right = np.searchsorted(ordered, samples).clip(1, len(ordered) - 1)
    nearer = samples - ordered[right - 1] < ordered[right] - samples
    return np.asarray(order[np.where(nearer, right - 1, right)], dtype=np.int64)


def _tables(grid: PublicGrid, totals: Array, rows: int) -> Iterator[Array]:
    """P_t at every point of the grid, a few sums at a time."""
    each = max(1, _CELLS // grid.size)
    fixed = grid.log_prior - grid.temperature * rows * grid.partition
    for start in range(0, len(totals), each):
        exponent = fixed + grid.temperature * totals[start : start + each, None] * grid.eta
        mass = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        yield mass / mass.sum(axis=1, keepdims=True)


def _mixed(share: Array, size: int) -> Array:
    return np.asarray((1 - UNIFORM_SHARE) * share + UNIFORM_SHARE / size)


def _peaking(grid: PublicGrid, places: Whole, rows: int) -> Array:
    """The sums whose tables peak at these points."""
    seen = grid.temperature * rows + grid.prior_rows
    return np.asarray((seen * grid.mean[places] - grid.prior_sum) / grid.temperature)
