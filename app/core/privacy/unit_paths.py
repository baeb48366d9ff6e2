"""Divergences from given statistics along given changes, several rows a person, with what bounds them between those statistics.

Along u = v − xd, x from −1 to α − 1, the table is P_v·e^{−xb} up to a constant, and with C(h) = log E_v e^{h(b − E_v b)}

    D_α(P_v ‖ P_{v+d}) = C(1−α)/(α−1) + C(1),   KL = C(1).

All on windows of grid points; the bound of what is outside (`windows.py`) is added. `Paths` also carries E_u η and E_u A at
every place: of two statistics v, v′ they give J = (E_v − E_v′)[f·(v − v′)], the Jeffreys divergence of their tables.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import PublicGrid
from app.core.numerics.remainder import phi
from app.core.privacy.windows import beyond_edges

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_CHUNK_ELEMENTS = 60_000
_SMALL = 0.05
_LOST = 1e-12
"""Relatively, of a sum of some hundred terms that are all positive."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """Statistics (t, m) with a change (dt, dm) each, on the grid points from `first` on."""

    t: Array
    m: Array
    dt: Array
    dm: Array
    first: Index

    def take(self, chosen: slice) -> "Jobs":
        return Jobs(*(getattr(self, field)[chosen] for field in self.__slots__))


@dataclass(frozen=True, slots=True)
class Paths:
    """For every job (a row) and place x = −1, 0, α − 1 … (a column): E[τη], E[τA].

    `divergence` has KL and D_α on the window as columns, `spill` how much more they may be on the whole grid.
    """

    eta: Array
    partition: Array
    divergence: Array
    spill: Array


def follow(grid: PublicGrid, jobs: Jobs, width: int, orders: Array) -> Paths:
    size = max(1, _CHUNK_ELEMENTS // width)
    parts = [_chunk(grid, jobs.take(slice(i, i + size)), width, orders) for i in range(0, len(jobs.t), size)]
    return Paths(*(np.concatenate([getattr(part, field) for part in parts]) for field in Paths.__slots__))


def _chunk(grid: PublicGrid, jobs: Jobs, width: int, orders: Array) -> Paths:
    columns = jobs.first[:, None] + np.arange(width)
    middle = columns[:, width // 2, None]
    eta = grid.temperature * (grid.eta[columns] - grid.eta[middle])
    partition = grid.temperature * (grid.partition[columns] - grid.partition[middle])
    log_p = grid.log_prior[columns] + eta * jobs.t[:, None] - partition * jobs.m[:, None]
    log_p -= log_p.max(axis=1, keepdims=True)
    log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    b = eta * jobs.dt[:, None] - partition * jobs.dm[:, None]
    b -= np.einsum("ij,ij->i", np.exp(log_p), b)[:, None]
    places = np.array([-1.0, 0.0, *(orders - 1)])
    shape = len(jobs.t), len(places)
    means = np.empty(shape), np.empty(shape)
    cumulants, outside = np.zeros(shape), np.zeros(shape)
    for i, place in enumerate(places):
        weights, cumulants[:, i], outside[:, i] = _tilted(grid, columns, log_p, -place * b)
        for mean, value in zip(means, (eta, partition), strict=True):
            mean[:, i] = np.einsum("ij,ij->i", weights, value)
    base = grid.temperature * grid.eta[middle], grid.temperature * grid.partition[middle]
    behind, ahead = (each[:, 2:] / (orders - 1) for each in (cumulants, outside)), (cumulants[:, :1], outside[:, :1])
    divergence, spill = (np.concatenate([now, now + back], axis=1) for now, back in zip(ahead, behind, strict=True))
    return Paths(means[0] + base[0], means[1] + base[1], divergence * (1 + _LOST), spill)


def _tilted(grid: PublicGrid, columns: Index, log_p: Array, x: Array) -> tuple[Array, Array, Array]:
    """(P·eˣ normalised, log E eˣ, a bound of the weight outside the window)."""
    joint = log_p + x
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top)
    total = weights.sum(axis=1, keepdims=True)
    cumulant = (top + np.log(total))[:, 0]
    small = np.flatnonzero(cumulant < _SMALL)
    if len(small):
        p, some = np.exp(log_p[small]), x[small]
        far = np.exp(joint[small]) - p * (1 + some)
        terms = np.where(np.abs(some) <= 1, p * phi(np.clip(some, -1, 1)), far)
        cumulant[small] = np.log1p(np.maximum(terms, 0).sum(axis=1))
    outside = beyond_edges(grid, columns, joint[:, None, :], cumulant[:, None])[:, 0]
    return weights / total, cumulant, outside
