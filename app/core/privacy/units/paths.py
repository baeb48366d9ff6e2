"""Divergences from given statistics along given changes, several rows a person, with what bounds them between those statistics.

Along u = v − xd, x from −1 to α − 1, the table is P_v·e^{−xb} up to a constant, and with C(h) = log E_v e^{h(b − E_v b)}

    D_α(P_v ‖ P_{v+d}) = C(1−α)/(α−1) + C(1).

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

_CHUNK_ELEMENTS = 24_000
_EDGES = [0, 1, -2, -1]
_SMALL = 1e-3
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

    `divergence` has D_α on the window, a column for each order, `spill` how much more it may be on the whole grid.
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
    p = np.exp(log_p)
    b = eta * jobs.dt[:, None] - partition * jobs.dm[:, None]
    b -= np.einsum("ij,ij->i", p, b)[:, None]
    places = np.array([-1.0, 0.0, *(orders - 1)])
    shape = len(jobs.t), len(places)
    means = np.empty(shape), np.empty(shape)
    cumulants, outside = np.zeros(shape), np.zeros(shape)
    weights = np.empty_like(b)
    for i, place in enumerate(places):
        np.multiply(b, -place, out=weights)
        weights += log_p
        top = weights.max(axis=1)
        weights -= top[:, None]
        edges = weights[:, _EDGES].copy()
        np.exp(weights, out=weights)
        total = weights.sum(axis=1)
        cumulants[:, i] = top + np.log(total)
        for mean, value in zip(means, (eta, partition), strict=True):
            mean[:, i] = np.einsum("ij,ij->i", weights, value) / total
        outside[:, i] = beyond_edges(grid, columns[:, _EDGES], edges[:, None, :], np.log(total)[:, None])[:, 0]
        small = np.flatnonzero(cumulants[:, i] < _SMALL)
        if place and len(small):
            cumulants[small, i] = _small_cumulant(p[small], -place * b[small])
    base = grid.temperature * grid.eta[middle], grid.temperature * grid.partition[middle]
    divergence, spill = (each[:, 2:] / (orders - 1) + each[:, :1] for each in (cumulants, outside))
    return Paths(means[0] + base[0], means[1] + base[1], divergence * (1 + _LOST), spill)


def _small_cumulant(p: Array, x: Array) -> Array:
    """log E eˣ for E x = 0, near 0: a sum of terms none of which is negative."""
    terms = np.where(np.abs(x) <= 1, p * phi(np.clip(x, -1, 1)), p * (np.exp(np.minimum(x, 700)) - 1 - x))
    cumulant: Array = np.log1p(np.maximum(terms, 0).sum(axis=1))
    return cumulant
