"""The posterior given a *noisy* sum: the noise is integrated out, so intervals are as wide as they should be.

    p(t̃|θ) = Σ_t p(t|θ)·noise(t̃ − t),   p(t|θ) the law of the clipped and rounded sum, noise in lattice steps

Exact sums where the statistic has few values; otherwise quadrature over nodes that follow both the law of the sum and
the noise, linear in the logarithm between nodes (exact for the exponential tails of both). The work is the same whatever was
measured.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.one_parameter.beliefs.measurements import NoisySum
from app.core.kinds.one_parameter.beliefs.sum_of_rows import RowLaw, row_law

Array = NDArray[np.float64]

EXACT_WORK_MAX = 20_000_000
_VALUE_S = 80e-9
_NODES_S = 50e-6
_LAW_NODES = np.linspace(-10.0, 10.0, 161)
_NOISE_NODES = np.concatenate([-np.geomspace(60.0, 0.02, 80), [0.0], np.geomspace(0.02, 60.0, 80)])
_CHUNK = 4_096


def noisy_log_likelihood(model: NaturalModel, theta: Array, records: int, measured: NoisySum) -> Array:
    """log p(t̃|θ) up to a constant, at every θ."""
    values = records * model.statistic.steps + 1
    law, phi = row_law(model), np.array([model.spacing.forward(value) for value in theta.tolist()])
    if model.sums.discrete and values * len(theta) <= EXACT_WORK_MAX:
        return _exact(law, phi, records, measured)
    parts = [_quadrature(law, phi[start : start + _CHUNK], records, measured) for start in range(0, len(phi), _CHUNK)]
    return np.concatenate(parts)


def likelihood_seconds(model: NaturalModel, points: int, records: int) -> float:
    """Public: what the function above takes on the machine of reference."""
    values = records * model.statistic.steps + 1
    if model.sums.discrete and values * points <= EXACT_WORK_MAX:
        return values * points * _VALUE_S
    return points * _NODES_S


def _exact(law: RowLaw, phi: Array, records: int, measured: NoisySum) -> Array:
    t = np.arange(records * law.model.statistic.steps + 1, dtype=np.float64)
    noise = measured.log_likelihood(t, records)
    rows = max(1, 2_000_000 // len(t))
    found = [
        np.logaddexp.reduce(law.log_sum(t, phi[i : i + rows], records) + noise, axis=1)
        for i in range(0, len(phi), rows)
    ]
    return np.concatenate(found)


def _quadrature(law: RowLaw, phi: Array, records: int, measured: NoisySum) -> Array:
    mean, variance, _ = law.moments(phi, records)
    around = (measured.noisy + measured.scale * _NOISE_NODES) / measured.scale_up
    nodes = np.concatenate(
        [mean[:, None] + np.sqrt(variance)[:, None] * _LAW_NODES, np.broadcast_to(around, (len(phi), 161))], axis=1
    )
    nodes = np.sort(nodes, axis=1)
    height = law.log_sum(nodes, phi, records) + measured.log_likelihood(nodes, records)
    widths = np.diff(nodes, axis=1)
    pieces = _log_piece(height[:, :-1], height[:, 1:]) + np.log(np.maximum(widths, 1e-300))
    return np.asarray(np.logaddexp.reduce(pieces, axis=1))


def _log_piece(left: Array, right: Array) -> Array:
    """log of the mean of an exponential between e^left and e^right: (e^r − e^l)/(r − l)."""
    top = np.maximum(left, right)
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.abs(right - left)
        mean = np.where(gap < 1e-6, 1 - gap / 2, -np.expm1(-gap) / np.where(gap == 0, 1, gap))
        value = top + np.log(mean)
    return np.where(np.isneginf(top) | np.isnan(value), -np.inf, value)
