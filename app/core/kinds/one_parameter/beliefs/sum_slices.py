"""Nodes of (sum, rows) with what was released beside each: what p(R|θ) is added up over.

Sums are visited a quarter of an sd of p(t|θ) apart, nearer where p(R|t) bends or the law narrows down to an end, and never
nearer than the lattice: each node stands for the whole numbers around it. Where the number of rows m is not known, because
people may have several each or because they are those of a private group, it has a prior of its own, flat from the least to the
most: a slice for each of a few m, close where they count and closer where noise has corners: a law e^{−|m̃−m|/b} five b apart is
no sum over m.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.one_parameter.beliefs.likelihood_table import CUT, LikelihoodTable, likelihood_table
from app.core.kinds.one_parameter.beliefs.measurements import Measurement
from app.core.kinds.one_parameter.beliefs.sum_of_rows import RowLaw

Array = NDArray[np.float64]
Rows = tuple[int, int]
"""How many rows there may be: the least and the most."""

NODE_SDS = 0.25
REACH_SDS = 12.0
NODES_MAX = 2**20
ROW_NODES = 17
_ROW_NODES_FEW = 7
_ROW_TURNS = 8
_ROW_NODES_MAX = 96
_CORNER_NEAR, _CORNER_STEP, _CORNER_HIDDEN = 12.0, 0.5, 0.1
"""Nats from the top that count, that two numbers of rows may be apart there, and that may hide between them."""
_TOGETHER = 48
_GRADED = 256


@dataclass(frozen=True, slots=True)
class Slice:
    """For one number of rows: log(p(R|t)·how many pairs (t, m) a node stands for), and the nodes' depths."""

    rows: int
    totals: Array
    log_weight: Array
    depth: Array
    scores: Array
    """log p(t)·p(R|t) at each node, p(t) as sized up."""

    @property
    def gap(self) -> float:
        """Between nodes, on average, in sds of the sum: a law narrower than that falls through. None where no sum is left out."""
        if self.totals[-1] - self.totals[0] < len(self.totals):
            return 0.0
        return float(self.depth[-1] - self.depth[0]) / len(self.depth)

    def phi_ends(self, law: RowLaw, least: float = -math.inf) -> tuple[float, float]:
        """Where θ may be for any of these sums whose score is `least` or more."""
        depth = self.depth[self.scores >= least]
        ends = np.array([depth[0] - REACH_SDS, depth[-1] + REACH_SDS]) / math.sqrt(self.rows)
        rising = law.phi[0] < law.phi[-1]
        outer = (law.prior.first, law.prior.last) if rising else (law.prior.last, law.prior.first)
        phi = np.interp(ends, law.depth, law.phi, left=outer[0], right=outer[1])
        return float(phi.min()), float(phi.max())

    def log_evidence(self, law: RowLaw, phi: Array) -> Array:
        """log Σ_t p(t|θ)·p(R|t) at every φ; sums out of reach of a group of φ are left out."""
        order = 1 if law.phi[0] < law.phi[-1] else -1
        depth = math.sqrt(self.rows) * np.interp(phi, law.phi[::order], law.depth[::order])
        found = np.empty(len(phi))
        for start in range(0, len(phi), _TOGETHER):
            near = depth[start : start + _TOGETHER]
            first = max(0, int(np.searchsorted(self.depth, near.min() - REACH_SDS)) - 1)
            last = int(np.searchsorted(self.depth, near.max() + REACH_SDS)) + 1
            inside = slice(min(first, max(len(self.totals) - 2, 0)), max(last, 2))
            exponent = law.log_sum(self.totals[inside], phi[start : start + _TOGETHER], self.rows)
            exponent = exponent + self.log_weight[inside]
            top = exponent.max(axis=1)
            safe = np.where(np.isfinite(top), top, 0.0)
            with np.errstate(divide="ignore"):
                found[start : start + _TOGETHER] = safe + np.log(np.exp(exponent - safe[:, None]).sum(axis=1))
        return found


@dataclass(frozen=True, slots=True)
class NoRows:
    """There may be none: then what was released says nothing of θ."""

    log_likelihood: float
    gap: ClassVar[float] = 0.0

    @property
    def scores(self) -> Array:
        return np.array([self.log_likelihood])

    def phi_ends(self, law: RowLaw, least: float = -math.inf) -> tuple[float, float]:
        return law.prior.first, law.prior.last

    def log_evidence(self, law: RowLaw, phi: Array) -> Array:
        return np.full(len(phi), self.log_likelihood)


Slices = Sequence[Slice | NoRows]


def sum_slices(law: RowLaw, measurement: Measurement, rows: Rows) -> list[Slice | NoRows]:
    """Never refuses: samples of what was paid for are drawn from these too."""
    least, most = measurement.rows_within(*rows)
    found: list[Slice | NoRows] = [*_some_rows(law, measurement, max(least, 1), most)] if most > 0 else []
    if least == 0:
        found.append(NoRows(float(measurement.log_likelihood(np.zeros(1), 0)[0])))
    return found


def _some_rows(law: RowLaw, measurement: Measurement, least: int, most: int) -> list[Slice]:
    rows = _even(least, most, _ROW_NODES_FEW)
    tables = [likelihood_table(law, measurement, each) for each in rows]
    for _ in range(_ROW_TURNS):
        scores = np.array([table.score for table in tables])
        near = np.flatnonzero(scores >= scores.max() - CUT)
        low, high = rows[max(near[0] - 1, 0)], rows[min(near[-1] + 1, len(rows) - 1)]
        if high - low + 1 <= len(rows) or (len(near) > len(rows) // 3 and len(rows) == ROW_NODES):
            break
        rows = _even(low, high, ROW_NODES)
        tables = [likelihood_table(law, measurement, each) for each in rows]
    if measurement.cornered and len(rows) > 1:
        rows, tables = _with_corners(law, measurement, rows, tables)
    best = max(table.score for table in tables)
    shares = _stands_for(rows)
    kept = [
        (m, table, share) for m, table, share in zip(rows, tables, shares, strict=True) if table.score >= best - CUT
    ]
    return [_slice(law, table, m, share) for m, table, share in kept]


def _with_corners(
    law: RowLaw, measurement: Measurement, rows: list[int], tables: list[LikelihoodTable]
) -> tuple[list[int], list[LikelihoodTable]]:
    """Numbers of rows halved until neighbours differ by little, and by less the nearer they are to the top."""
    found = dict(zip(rows, tables, strict=True))
    while len(found) < _ROW_NODES_MAX:
        rows = sorted(found)
        middles = _unresolved(np.array(rows, dtype=np.float64), np.array([found[each].score for each in rows]))
        if not len(middles):
            break
        found |= {each: likelihood_table(law, measurement, each) for each in middles}
    rows = sorted(found)
    return rows, [found[each] for each in rows]


def _unresolved(rows: Array, scores: Array) -> list[int]:
    """Middles of cells that are too steep, or may hide a peak: of a concave function it lies below its neighbours' lines."""
    widths = np.diff(rows)
    slopes = np.diff(scores) / widths
    before, after = np.append(slopes[0], slopes[:-1]), np.append(slopes[1:], slopes[-1])
    bend = np.maximum(before - after, 1e-300)
    hidden = widths * np.maximum(before - slopes, 0) * np.maximum(slopes - after, 0) / bend
    below = scores.max() - np.maximum(scores[:-1], scores[1:])
    allowed = 1 + below / 3
    open_cells = (np.abs(np.diff(scores)) > _CORNER_STEP * allowed) | (hidden > _CORNER_HIDDEN * allowed)
    open_cells &= (widths > 1) & (below < _CORNER_NEAR)
    return [int(each) for each in np.floor((rows[:-1] + rows[1:]) / 2)[open_cells]]


def log_evidence(law: RowLaw, slices: Slices, phi: Array) -> Array:
    return np.asarray(np.logaddexp.reduce([each.log_evidence(law, phi) for each in slices], axis=0))


def _slice(law: RowLaw, table: LikelihoodTable, rows: int, share: float) -> Slice:
    mean, depth = rows * law.mean, math.sqrt(rows) * law.depth
    ends = np.interp(table.totals[[0, -1]], mean, depth)
    count = min(math.ceil((ends[1] - ends[0]) / NODE_SDS) + 1, NODES_MAX)
    even = np.interp(np.linspace(ends[0], ends[1], count), depth, mean)
    largest = rows * law.model.statistic.steps
    graded = np.geomspace(1, max(largest, 2), _GRADED)
    wanted = np.concatenate([even, table.totals, graded, largest - graded])
    totals = np.unique(np.rint(wanted.clip(table.totals[0], table.totals[-1])))
    edges = np.floor((totals[:-1] + totals[1:]) / 2)
    stands_for = np.diff(np.concatenate([[totals[0] - 1], edges, [totals[-1]]]))
    log_weight = table.at(totals) + np.log(stands_for) + math.log(share)
    scores = np.interp(totals, table.totals, table.scores)
    return Slice(rows, totals, log_weight, np.interp(totals, mean, depth), scores)


def _even(low: int, high: int, count: int) -> list[int]:
    return sorted({round(value) for value in np.linspace(low, high, count).tolist()})


def _stands_for(rows: Sequence[int]) -> list[float]:
    """How many numbers of rows each of these stands for: half the way to its neighbours."""
    if len(rows) == 1:
        return [1.0]
    gaps = np.diff(np.array(rows, dtype=np.float64))
    whole = gaps.max() == 1
    ends = (gaps[0] + 1) / 2 if not whole else 1.0, (gaps[-1] + 1) / 2 if not whole else 1.0
    return [float(ends[0]), *((gaps[:-1] + gaps[1:]) / 2).tolist(), float(ends[1])]
