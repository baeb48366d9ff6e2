"""`gaussian` on private groups: noise on every group's number of rows and on its centred sum, once; then free samples.

Of a group with m rows and the sum t of 0 … h steps a row, (s, m) with s = 2t − hm is measured, whole numbers both: around a
centre of half a step whole noise would show whether m is odd. A row counts in s as a number from −h to h and in m as 1. Who
replaces one row by another moves within a group s by at most 2h; between groups s by at most h and m by 1 in both of them; so

    ρ = k²·max(2h²/σ_s², 1/σ_m² + h²/σ_s²) = 2k²h²/σ_s²   with σ_m = σ_s/h:   hiding who is in which group is free.

(k rows of a person are k such replacements one after the other, and norms add: k². A person may also have fewer rows than
before: such a row moves one group by (h, 1), less than either.) Groups hold all rows, the empty ones too, so noise goes to every
declared group, whatever is in it.

θ of a group has the posterior given its (s̃, m̃): the number of rows has a prior flat from none to everybody's.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Belief, Evidence, Whole
from app.core.kinds.mechanism_fields import GaussianFields, gaussian_cost
from app.core.kinds.one_parameter.beliefs.measurements import NoisySumAndRows
from app.core.kinds.one_parameter.beliefs.posterior import belief_of
from app.core.kinds.one_parameter.beliefs.sum_of_rows import ROWS_MIN, RowLaw, row_law
from app.core.kinds.one_parameter.beliefs.sum_slices import Slices, sum_slices
from app.core.kinds.one_parameter.mechanisms.noisy_sum import Factors, Scales
from app.core.kinds.one_parameter.private.model import MeasuredGroups
from app.core.kinds.one_parameter.private.table_draws import GROUP_CELLS, drawn_within
from app.core.noise.discrete_gaussian import (
    ROUNDING,
    AddNoise,
    add_noise,
    noise_scale,
    scaled_up,
)
from app.core.parameters import Parameter
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics.groups import ExactGroups
from app.errors import CalibratedUnavailable

RandomBytes = Callable[[int], bytes]
GROUP_S = 0.2
PROBES = 512
NOISE_S = 500e-6


@dataclass(frozen=True, slots=True)
class GroupGaussian(GaussianFields):
    """(ε, δ) of all noisy numbers together, whatever N; neighbours replace one person's rows, wherever they belong."""

    def cost(self, model: MeasuredGroups, people: int, unit_rows: int) -> ReleaseCost:
        return gaussian_cost(self.rho, self.samples)

    def scales(self, model: MeasuredGroups, unit_rows: int) -> tuple[Scales, Factors]:
        """Of the noise on (s, m), on numbers multiplied by the factors; at least `SCALE_MIN` each."""
        steps = model.inner.statistic.steps
        sum_sd = noise_scale(2 * unit_rows * steps, self.rho)
        sds = (sum_sd, sum_sd / (steps * model.groups.rows_share) * ROUNDING)
        factors = tuple(scaled_up(sd) for sd in sds)
        return tuple(sd * factor for sd, factor in zip(sds, factors, strict=True)), factors

    def measure(
        self, model: MeasuredGroups, people: int, unit_rows: int, statistic: ExactGroups, noise: AddNoise = add_noise
    ) -> Whole:
        """(s̃, m̃) of one group after the other. `noise` is OpenDP's but in tests."""
        scales, factors = self.scales(model, unit_rows)
        steps, most = model.inner.statistic.steps, people * unit_rows
        values = []
        for exact in statistic.parts:  # held to what the analysis covers, whatever a source returns
            rows = min(max(exact.rows, 0), most)
            total = min(max(exact.total, 0), rows * steps)
            values += [factors[0] * (2 * total - steps * rows), factors[1] * rows]
        return noise(np.array(values, dtype=np.int64), np.tile(scales, model.count))

    def infer(
        self, model: MeasuredGroups, people: int, unit_rows: int, measured: Whole, random_bytes: RandomBytes
    ) -> NDArray[np.float64]:
        law, range_ = group_law(model), model.inner.parameter
        drawn = [
            drawn_within(law, slices, range_, self.samples, random_bytes)
            for slices in self._slices(law, model, people, unit_rows, measured)
        ]
        return np.stack(drawn, axis=1)

    def draw(
        self,
        model: MeasuredGroups,
        people: int,
        unit_rows: int,
        statistic: ExactGroups,
        random_bytes: RandomBytes,
        noise: AddNoise = add_noise,
    ) -> NDArray[np.float64]:
        measured = self.measure(model, people, unit_rows, statistic, noise)
        return self.infer(model, people, unit_rows, measured, random_bytes)

    def work(self, model: MeasuredGroups, people: int, unit_rows: int, cost: ReleaseCost) -> float:
        return 0.02 + model.count * (GROUP_S + 2 * NOISE_S + self.samples * 1e-6)

    def calibrated_parameters(self, model: MeasuredGroups, people: int, unit_rows: int) -> tuple[Parameter, ...]:
        self._check(model, unit_rows)
        return model.grouped(group_law(model).prior.parameter)

    def belief(self, model: MeasuredGroups, people: int, unit_rows: int, evidence: Evidence) -> Belief:
        """Groups are believed one by one: given what was measured, only their numbers of rows would tell of each other."""
        if evidence.measured is None:
            raise CalibratedUnavailable("what was measured was not kept")
        self._check(model, unit_rows)
        law, found = group_law(model), []
        for place, slices in enumerate(self._slices(law, model, people, unit_rows, evidence.measured)):
            seed = hashlib.sha256(evidence.seed + b"group" + place.to_bytes(4, "big")).digest()
            found.append(belief_of(law, slices, seed, GROUP_CELLS).points)
        return Belief(model.grouped(law.prior.parameter), np.concatenate(found, axis=1))

    def noisy_rows(self, model: MeasuredGroups, unit_rows: int, measured: Whole) -> list[tuple[float, float]]:
        """(number of rows as it was measured, its sd) of every group."""
        scales, factors = self.scales(model, unit_rows)
        return [(noisy / factors[1], scales[1] / factors[1]) for _, noisy in measured.reshape(-1, 2).tolist()]

    def _slices(self, law: RowLaw, model: MeasuredGroups, people: int, unit_rows: int, measured: Whole) -> list[Slices]:
        scales, factors = self.scales(model, unit_rows)
        found: list[Slices] = []
        for noisy, noisy_rows in measured.reshape(-1, 2).tolist():
            measurement = NoisySumAndRows(
                noisy=noisy,
                noisy_rows=noisy_rows,
                scale=scales[0],
                rows_scale=scales[1],
                steps=model.inner.statistic.steps,
                gaussian=True,
                scale_up=factors[0],
                rows_scale_up=factors[1],
            )
            found.append(sum_slices(law, measurement, (0, people * unit_rows)))
        return found

    def _check(self, model: MeasuredGroups, unit_rows: int) -> None:
        """A group may have few rows, whose sum has a law that is not known well where rows are clipped or rounded. Noise hides
        that if its sd is at least the largest that one row can have, half its range. Raises CalibratedUnavailable."""
        law, (scales, factors) = group_law(model), self.scales(model, unit_rows)
        uncertain = law.row.rounded or ROWS_MIN * law.clipped > 0.01
        if uncertain and scales[0] / factors[0] < model.inner.statistic.steps:
            raise CalibratedUnavailable(
                "rows may lie beyond the column's bounds or between its steps, and of few of them, which a group may have, the "
                "law of the sum is not known well enough beside so little noise"
            )


def group_law(model: MeasuredGroups) -> RowLaw:
    return row_law(model.inner, PROBES)
