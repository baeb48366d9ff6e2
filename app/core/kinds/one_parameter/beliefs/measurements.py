"""R as a measurement: log p(R|t) for any sum t of the rows, up to a constant, from public numbers and R alone."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.natural_model import NaturalModel

Array = NDArray[np.float64]

HINTS = 257
_CELLS = 2_000_000


class Measurement(Protocol):
    """`hints` are sums near which log p(R|t) may have a peak of its own."""

    def log_likelihood(self, totals: Array, rows: int) -> Array: ...
    def hints(self, rows: int) -> Array: ...


class DrawnPoints:
    """Draws of the tempered table on the public grid:  Σ_i log[(1−γ)·P_t(θ_i) + γ/K], over the points that were drawn.

    The closed form τ·t·Ση − N·ψ_τ(t), which leaves out γ, is no substitute: one stray of the uniform share among five draws
    would move the answer by many standard deviations.
    """

    def __init__(self, model: NaturalModel, rows_max: int, temperature: float, samples: Array) -> None:
        self._grid = model.grid(rows_max, temperature)
        order = np.argsort(self._grid.theta)
        ordered = self._grid.theta[order]
        right = np.searchsorted(ordered, samples).clip(1, len(ordered) - 1)
        nearer = samples - ordered[right - 1] < ordered[right] - samples
        self._drawn, self._times = np.unique(order[np.where(nearer, right - 1, right)], return_counts=True)

    def log_likelihood(self, totals: Array, rows: int) -> Array:
        grid, floor = self._grid, UNIFORM_SHARE / self._grid.size
        found = np.empty(len(totals))
        each = max(1, _CELLS // grid.size)
        fixed = grid.log_prior - grid.temperature * rows * grid.partition
        for start in range(0, len(totals), each):
            t = totals[start : start + each, None]
            exponent = fixed + grid.temperature * t * grid.eta
            top = exponent.max(axis=1, keepdims=True)
            mass = np.exp(exponent - top)
            share = mass[:, self._drawn] / mass.sum(axis=1, keepdims=True)
            found[start : start + each] = np.log((1 - UNIFORM_SHARE) * share + floor) @ self._times
        return found

    def hints(self, rows: int) -> Array:
        """The sums whose tables peak at the points drawn, or at some of them."""
        grid = self._grid
        chosen = self._drawn[np.linspace(0, len(self._drawn) - 1, min(HINTS, len(self._drawn))).astype(np.int64)]
        seen = grid.temperature * rows + grid.prior_rows
        return np.asarray((seen * grid.mean[chosen] - grid.prior_sum) / grid.temperature)
