"""What `laplace` and `gaussian` share: one noisy statistic, measured once, and everything after it for free.

One row a person: t + noise. Several: how many rows there are is private too, and (2t − steps·m, m) is measured, twice the sum
around the middle of its range, so that it stays whole. One row then counts for at most `steps` either way, and the number of
rows costs nothing where its noise is narrower by about as much (TRUTH §4): what the larger of two neighbours' changes costs is
a change of k rows from one end of the range to the other, whose number stays.

The samples are those of the posterior given that on the public grid, inside the declared range; the calibrated belief leaves it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import table_of
from app.core.kinds.belief import Belief, Evidence, Whole
from app.core.kinds.one_parameter.beliefs.measurements import Measurement, NoisySum, NoisySumAndRows
from app.core.kinds.one_parameter.beliefs.posterior import calibrated_belief, calibrated_range
from app.core.kinds.one_parameter.beliefs.sum_of_rows import row_law
from app.core.kinds.one_parameter.beliefs.sum_slices import log_evidence, sum_slices
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.noise_aware import likelihood_seconds, noisy_log_likelihood
from app.core.kinds.one_parameter.statistic import clamped
from app.core.parameters import Parameter
from app.core.statistics.sums import ExactStatistic
from app.errors import CalibratedUnavailable

Scales = tuple[float, ...]
Factors = tuple[int, ...]
SLICES_SHOWN = 50
FEW_ROWS = 3
SLICE_POINT_S = {True: 16e-6, False: 50e-6}
"""Of one point given one number of rows, by whether a person has few of them. Measured at most 11 µs and 38 µs, all families,
30 to 100,000 people, 2 to 50 rows, ε from 0.01 to 8."""
FAR = 1e6


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
        slices = sum_slices(law, measurement, (people, people * unit_rows))
        evidence = log_evidence(law, slices, phi)
        if not np.isfinite(evidence.max()):  # all that was measured lies far beyond the range: its nearest point
            ends = np.array([each.phi_ends(law) for each in slices])
            evidence = -np.abs(phi - ends.mean()) / np.abs(phi[-1] - phi[0]) * FAR
    log_w = grid.log_prior + evidence
    table = table_of(np.exp(log_w - log_w.max()))
    return grid.theta[table.draw(samples, random_bytes)][:, None]


class MeasuresSum(ABC):
    """A mechanism that adds noise to the sum once; a subclass says which noise, and how to read what came out."""

    __slots__ = ()

    samples: int

    @abstractmethod
    def measure(
        self, model: Model, people: int, unit_rows: int, statistic: ExactStatistic, noise: Any = ..., /
    ) -> Whole: ...

    @abstractmethod
    def measurement(self, model: Model, unit_rows: int, measured: Whole) -> Measurement: ...

    def infer(
        self, model: Model, people: int, unit_rows: int, measured: Whole, random_bytes: Callable[[int], bytes]
    ) -> NDArray[np.float64]:
        measurement = self.measurement(model, unit_rows, measured)
        return samples_given(model, people, unit_rows, measurement, self.samples, random_bytes)

    def draw(
        self,
        model: Model,
        people: int,
        unit_rows: int,
        statistic: ExactStatistic,
        random_bytes: Callable[[int], bytes],
        *noise: Any,
    ) -> NDArray[np.float64]:
        """(samples, 1). `noise` is OpenDP's but in tests."""
        measured = self.measure(model, people, unit_rows, statistic, *noise)
        return self.infer(model, people, unit_rows, measured, random_bytes)

    def calibrated_parameters(self, model: Model, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        return calibrated_range(model, people)

    def belief(self, model: Model, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        if evidence.measured is None:
            raise CalibratedUnavailable("what was measured was not kept: the release was made by an earlier version")
        measurement = self.measurement(model, unit_rows, evidence.measured)
        return calibrated_belief(model, people, unit_rows, measurement, evidence.seed)


def inference_seconds(model: Model, points: int, people: int, unit_rows: int) -> float:
    """Public: what `samples_given` takes but for the draws."""
    each = likelihood_seconds(model, points, people)
    return each if unit_rows == 1 else 1.0 + SLICES_SHOWN * points * SLICE_POINT_S[unit_rows <= FEW_ROWS]


@lru_cache(maxsize=256)
def grid_points(model: Model, rows_max: int) -> int:
    """Finding the noise for a target asks for the cost of many ε, all on one grid."""
    return model.grid(rows_max, 1.0).size
