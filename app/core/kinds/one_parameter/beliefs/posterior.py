"""p(θ|R) ∝ π(θ)·Σ_t p(t|θ)·p(R|t), which is Σ_t p(θ|t)·p(t|R), as a table in φ and then as points.

The table is drawn again closer until the posterior fills it. A single draw leaves some 2⁻²⁴ of the prior standing wherever θ may
be, the sampler's uniform share, and a point scored by probability much more: that range then has coarse cells, and its peak
close ones.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.belief import Belief
from app.core.kinds.one_parameter.beliefs.measurements import Measurement
from app.core.kinds.one_parameter.beliefs.stratified import stratified_points
from app.core.kinds.one_parameter.beliefs.sum_of_rows import RowLaw, row_law
from app.core.kinds.one_parameter.beliefs.sum_slices import Slices, log_evidence, sum_slices
from app.core.parameters import Parameter
from app.errors import CalibratedUnavailable, NumericalFailure

Array = NDArray[np.float64]
Within = tuple[float, float]

CELLS = 1_536
GAP_MAX = 0.5
_CELLS_FEW = 192
_CUT, _PEAK, _PEAK_SUMS = 34.0, 6.0, 4.0
"""Nats below the top that a table holds, that its close cells do, and that sums may be which show where these belong."""
_TURNS = 12
_POWER_STEP = 1e-3
_PEAK_SHARE = 0.25


def calibrated_range(model: NaturalModel, people: int) -> tuple[Parameter, ...]:
    """The untrimmed prior's. Raises CalibratedUnavailable."""
    law = row_law(model)
    law.check(people)
    return (law.prior.parameter,)


def calibrated_belief(
    model: NaturalModel, people: int, unit_rows: int, measurement: Measurement, seed: bytes
) -> Belief:
    """Raises CalibratedUnavailable."""
    law = row_law(model)
    law.check(people)
    return belief_of(law, sum_slices(law, measurement, (people, people * unit_rows)), seed)


def belief_of(law: RowLaw, slices: Slices, seed: bytes, cells: int = CELLS) -> Belief:
    """Raises CalibratedUnavailable."""
    if max(each.gap for each in slices) > GAP_MAX:
        raise CalibratedUnavailable("there are too many people, and too little was released, to weigh every sum")
    edges, masses = calibrated_table(law, slices, cells=cells)
    phi = stratified_points(edges, masses, seed)
    return Belief((law.prior.parameter,), law.prior.points(phi)[:, None])


def calibrated_table(
    law: RowLaw, slices: Slices, within: Within | None = None, cells: int = CELLS
) -> tuple[Array, Array]:
    """(edges in φ, the mass between each two), of what lies `within` a range of φ."""
    whole = _closer(law, slices, -np.inf, _CUT, within)
    top = max(float(each.scores.max()) for each in slices)
    peak = _closer(law, slices, top - _PEAK_SUMS, _PEAK, within)
    edges = np.linspace(*whole, cells + 1)
    if peak[1] - peak[0] < (whole[1] - whole[0]) * _PEAK_SHARE:
        edges = np.union1d(np.linspace(*whole, cells // 2 + 1), np.linspace(*peak, cells + 1).clip(*whole))
    log_mass = _log_masses(law, slices, edges)
    return edges, np.exp(log_mass - log_mass.max())


def _closer(law: RowLaw, slices: Slices, least: float, cut: float, within: Within | None) -> tuple[float, float]:
    """Between which φ the posterior is within `cut` nats of its top, given the sums whose score is `least` or more."""
    reach = [each.phi_ends(law, least) for each in slices if each.scores.max() >= least]
    first, last = min(low for low, _ in reach), max(high for _, high in reach)
    if within is not None:
        first, last = max(first, within[0]), min(last, within[1])
        first, last = (first, last) if first < last else within
    for _ in range(_TURNS):
        edges = np.linspace(first, last, _CELLS_FEW + 1)
        log_mass = _log_masses(law, slices, edges)
        kept = np.flatnonzero(log_mass >= log_mass.max() - cut)
        first, last = float(edges[max(kept[0] - 1, 0)]), float(edges[min(kept[-1] + 2, _CELLS_FEW)])
        if kept[-1] - kept[0] >= _CELLS_FEW // 6:
            break
    return first, last


def _log_masses(law: RowLaw, slices: Slices, edges: Array) -> Array:
    phi = (edges[:-1] + edges[1:]) / 2
    log_mass = _log_prior_masses(law, edges, phi) + np.log(np.diff(edges)) + log_evidence(law, slices, phi)
    if not np.isfinite(log_mass.max()):
        raise NumericalFailure("a calibrated posterior came out undefined")
    return np.asarray(log_mass)


def _log_prior_masses(law: RowLaw, edges: Array, phi: Array) -> Array:
    """Of the cells, up to a constant: density in the middle, but at an end where it is a power xᵖ of the distance.

    There the mass of the first cell is 2ᵖ/(1+p) times that, much more for a prior that piles up at an end.
    """
    found = law.prior.log_weight(phi)
    for cell, at_end, inward in ((0, edges[0] <= law.prior.first, 1), (-1, edges[-1] >= law.prior.last, -1)):
        if at_end:
            half = abs(phi[cell] - edges[cell])
            near = phi[cell] + inward * half * np.array([-_POWER_STEP, _POWER_STEP])
            power = float(np.diff(law.prior.log_weight(near))[0]) / (2 * _POWER_STEP)
            if -1 < power < 0:
                found[cell] += power * np.log(2) - np.log1p(power)
    return found
