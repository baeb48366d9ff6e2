"""p(θ|R) ∝ π(θ)·Σ_t p(t|θ)·p(R|t), which is Σ_t p(θ|t)·p(t|R), as a table in φ and then as points.

Sums are visited at nodes a quarter of an sd of p(t|θ) apart, or nearer where p(R|t) bends, and never nearer than the lattice:
each stands for the whole numbers around it. The table is even in φ and is drawn again closer until the posterior fills it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.belief import Belief
from app.core.kinds.one_parameter.beliefs.likelihood_table import LikelihoodTable, likelihood_table
from app.core.kinds.one_parameter.beliefs.measurements import Measurement
from app.core.kinds.one_parameter.beliefs.stratified import stratified_points
from app.core.kinds.one_parameter.beliefs.sum_of_rows import RowLaw, row_law
from app.core.parameters import Parameter
from app.errors import CalibratedUnavailable, NumericalFailure

Array = NDArray[np.float64]

NODE_SDS = 0.25
REACH_SDS = 12.0
NODES_MAX = 2**20
CELLS = 1_536
_TOGETHER = 48
_FILLED = CELLS // 6
_CUT = 34.0
_TURNS = 12
_GRADED = 256


def calibrated_range(model: NaturalModel, unit_rows: int) -> tuple[Parameter, ...]:
    """The untrimmed prior's. Raises CalibratedUnavailable."""
    if unit_rows != 1:
        raise CalibratedUnavailable("a person may have several rows, and how many there are was not released")
    return (row_law(model).prior.parameter,)


def calibrated_belief(
    model: NaturalModel, people: int, unit_rows: int, measurement: Measurement, seed: bytes
) -> Belief:
    """Raises CalibratedUnavailable."""
    parameters, law = calibrated_range(model, unit_rows), row_law(model)
    law.check(people)
    edges, masses = calibrated_table(law, people, measurement)
    phi = stratified_points(edges, masses, seed)
    return Belief(parameters, law.prior.theta(phi)[:, None])


def calibrated_table(law: RowLaw, rows: int, measurement: Measurement) -> tuple[Array, Array]:
    """(edges in φ, the mass between each two)."""
    slice_ = _slice(law, likelihood_table(law, measurement, rows), rows)
    first, last = slice_.phi_ends(law)
    for _ in range(_TURNS):
        edges = np.linspace(first, last, CELLS + 1)
        phi = (edges[:-1] + edges[1:]) / 2
        log_mass = law.prior.log_weight(phi) + slice_.log_evidence(law, phi)
        top = log_mass.max()
        if not np.isfinite(top):
            raise NumericalFailure("a calibrated posterior came out undefined")
        kept = np.flatnonzero(log_mass > top - _CUT)
        if kept[-1] - kept[0] >= _FILLED:
            break
        first, last = edges[max(kept[0] - 1, 0)], edges[min(kept[-1] + 2, CELLS)]
    return edges, np.exp(log_mass - top)


@dataclass(frozen=True, slots=True)
class _Slice:
    """Nodes of the sum for one number of rows: log(p(R|t)·how many sums a node stands for), and their depths."""

    rows: int
    totals: Array
    log_weight: Array
    depth: Array

    def phi_ends(self, law: RowLaw) -> tuple[float, float]:
        """Where θ may be for any of these sums."""
        ends = np.array([self.depth[0] - REACH_SDS, self.depth[-1] + REACH_SDS]) / np.sqrt(self.rows)
        phi = np.interp(ends, law.depth, law.phi)
        outer = np.where(ends < law.depth[0], law.prior.first, np.where(ends > law.depth[-1], law.prior.last, phi))
        if law.phi[0] > law.phi[-1]:
            outer = np.where(ends < law.depth[0], law.prior.last, np.where(ends > law.depth[-1], law.prior.first, phi))
        return float(outer.min()), float(outer.max())

    def log_evidence(self, law: RowLaw, phi: Array) -> Array:
        """log Σ_t p(t|θ)·p(R|t) at every φ; sums out of reach of a group of φ are left out."""
        order = 1 if law.phi[0] < law.phi[-1] else -1
        depth = np.sqrt(self.rows) * np.interp(phi, law.phi[::order], law.depth[::order])
        found = np.empty(len(phi))
        for start in range(0, len(phi), _TOGETHER):
            near = depth[start : start + _TOGETHER]
            first = max(0, int(np.searchsorted(self.depth, near.min() - REACH_SDS)) - 1)
            last = int(np.searchsorted(self.depth, near.max() + REACH_SDS)) + 1
            inside = slice(min(first, len(self.totals) - 2), max(last, 2))
            exponent = law.log_sum(self.totals[inside], phi[start : start + _TOGETHER], self.rows)
            exponent = exponent + self.log_weight[inside]
            top = exponent.max(axis=1)
            safe = np.where(np.isfinite(top), top, 0.0)
            with np.errstate(divide="ignore"):
                found[start : start + _TOGETHER] = safe + np.log(np.exp(exponent - safe[:, None]).sum(axis=1))
        return found


def _slice(law: RowLaw, table: LikelihoodTable, rows: int) -> _Slice:
    ends = np.interp(table.totals[[0, -1]], rows * law.mean, np.sqrt(rows) * law.depth)
    count = int(np.ceil((ends[1] - ends[0]) / NODE_SDS)) + 1
    if count > NODES_MAX:
        raise CalibratedUnavailable("there are too many people, and too little was released, to weigh every sum")
    even = np.interp(np.linspace(ends[0], ends[1], count), np.sqrt(rows) * law.depth, rows * law.mean)
    graded = np.geomspace(1, rows * law.model.statistic.steps, _GRADED)  # laws narrow down to a point at either end
    wanted = np.concatenate([even, table.totals, graded, rows * law.model.statistic.steps - graded])
    totals = np.unique(np.rint(wanted.clip(table.totals[0], table.totals[-1])))
    edges = np.floor((totals[:-1] + totals[1:]) / 2)
    stands_for = np.diff(np.concatenate([[totals[0] - 1], edges, [totals[-1]]]))
    depth = np.interp(totals, rows * law.mean, np.sqrt(rows) * law.depth)
    return _Slice(rows, totals, table.at(totals) + np.log(stands_for), depth)
