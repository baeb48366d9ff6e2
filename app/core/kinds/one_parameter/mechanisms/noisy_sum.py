"""What `laplace` and `gaussian` share: one noisy statistic, measured once, and everything after it for free.

One row a person: t + noise. Several: how many rows there are is private too, and (2t − steps·m, m) is measured, twice the sum
around the middle of its range, so that it stays whole. One row then counts for at most `steps` either way, and the number of
rows costs nothing where its noise is narrower by about as much (TRUTH §4): what the larger of two neighbours' changes costs is
a change of k rows from one end of the range to the other, whose number stays.

The samples are those of the posterior given that on the public grid, inside the declared range; the calibrated belief leaves it.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import table_of
from app.core.kinds.belief import Belief, Evidence, Whole
from app.core.kinds.one_parameter.beliefs.measurements import Measurement, NoisySum, NoisySumAndRows
from app.core.kinds.one_parameter.beliefs.posterior import calibrated_belief
from app.core.kinds.one_parameter.beliefs.sum_of_rows import row_law
from app.core.kinds.one_parameter.beliefs.sum_slices import log_evidence, sum_slices
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.noise_aware import likelihood_seconds, noisy_log_likelihood
from app.core.kinds.one_parameter.statistic import clamped
from app.core.statistics.sums import ExactStatistic
from app.errors import CalibratedUnavailable

Scales = tuple[float, ...]
Factors = tuple[int, ...]
SLICES_SHOWN = 25


def measured_values(model: Model, people: int, unit_rows: int, statistic: ExactStatistic, factors: Factors) -> Whole:
    """Private: what noise is added to, each times its factor."""
    exact = clamped(model, people, unit_rows, statistic)
    if unit_rows == 1:
        return np.array([factors[0] * exact.total], dtype=np.int64)
    centred = 2 * exact.total - model.statistic.steps * exact.rows
    return np.array([factors[0] * centred, factors[1] * exact.rows], dtype=np.int64)


def measurement_of(model: Model, measured: Whole, scales: Scales, factors: Factors, gaussian: bool) -> Measurement:
    values = [int(value) for value in measured]
    if len(values) == 1:
        return NoisySum(values[0], scales[0], gaussian, factors[0])
    return NoisySumAndRows(
        noisy=values[0],
        noisy_rows=values[1],
        scale=scales[0],
        rows_scale=scales[1],
        steps=model.statistic.steps,
        gaussian=gaussian,
        scale_up=factors[0],
        rows_scale_up=factors[1],
    )


def samples_given(
    model: Model,
    people: int,
    unit_rows: int,
    measurement: Measurement,
    samples: int,
    random_bytes: Callable[[int], bytes],
) -> NDArray[np.float64]:
    """(samples, 1), on the public grid."""
    grid = model.grid(people * unit_rows, 1.0)
    if isinstance(measurement, NoisySum):
        evidence = noisy_log_likelihood(model, grid.theta, people, measurement)
    else:
        law = row_law(model)
        phi = np.array([model.spacing.forward(value) for value in grid.theta.tolist()])
        evidence = log_evidence(law, sum_slices(law, measurement, people, unit_rows), phi)
    log_w = grid.log_prior + evidence
    table = table_of(np.exp(log_w - log_w.max()))
    return grid.theta[table.draw(samples, random_bytes)][:, None]


def belief_given(
    model: Model, people: int, unit_rows: int, evidence: Evidence, measurement: Callable[[Whole], Measurement]
) -> Belief:
    if evidence.measured is None:
        raise CalibratedUnavailable("what was measured was not kept: the release was made by an earlier version")
    return calibrated_belief(model, people, unit_rows, measurement(evidence.measured), evidence.seed)


def inference_seconds(model: Model, points: int, people: int, unit_rows: int) -> float:
    """Public: what `samples_given` takes but for the draws."""
    each = likelihood_seconds(model, points, people)
    return each if unit_rows == 1 else 1.0 + SLICES_SHOWN * points * 50e-6


@lru_cache(maxsize=256)
def grid_points(model: Model, rows_max: int) -> int:
    """Finding the noise for a target asks for the cost of many ε, all on one grid."""
    return model.grid(rows_max, 1.0).size
