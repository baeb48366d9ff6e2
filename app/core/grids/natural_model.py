"""One class for every one-parameter family: a family is its T with public bounds, η, A, prior and trim.

    p(x|θ) ∝ exp(η(θ)·T(x) − A(θ)),   T clipped to [low, high] and rounded to `steps` equal steps, per record

In lattice units T = low + q·j with j ∈ {0 … steps}, q = (high − low)/steps, so that η·T − A = (qη)·j − (A − low·η):
the analysis and the sampler see the whole number j, with natural parameter qη and partition A − low·η.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.grids.combination import Combination, fixed_forms, solve_pair
from app.core.grids.priors import Prior
from app.core.grids.public_grid import GridConstants, PublicGrid, cell_middles, grid_size
from app.core.grids.spacing import EVEN, Spacing
from app.core.grids.sum_laws import SumLaw
from app.core.parameters import Parameter
from app.core.statistics.sums import StatisticRequest

Array = NDArray[np.float64]

_POINT_BITS = 40
_PRIOR_PROBES = 2_049
_BEND_PARTS = 64


@dataclass(frozen=True, slots=True)
class NaturalModel:
    """Pure data, validated by the family that made it. Neighbours: one person's rows replaced.

    `information` is the Fisher information of one record in the coordinate φ, the same at every θ; `known` are the
    constants a family takes as given; `papers_trials` the m of the papers' L = m·log(1/ω), where they state one. `range_open`:
    nobody declared the range, and a mechanism that it costs nothing may widen it before anything is stored.
    """

    family: str
    statistic: StatisticRequest
    parameter: Parameter
    eta: Combination
    partition: Combination
    spacing: Spacing
    information: float
    prior: Prior
    sums: SumLaw
    known: tuple[tuple[str, float], ...] = ()
    trim: float | None = None
    papers_trials: int | None = None
    range_open: bool = field(default=False, compare=False)

    @property
    def column(self) -> str:
        return self.statistic.column

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (self.parameter,)

    @property
    def statistic_range(self) -> tuple[int, int]:
        return (0, self.statistic.steps)

    @property
    def lipschitz(self) -> float:
        """The papers' L for ρ = 1; sup |ℓ_θ(x) − ℓ_θ(y)| where they give no figure. Shown, never charged."""
        if self.papers_trials is not None and self.trim is not None:
            return -self.papers_trials * math.log(self.trim)
        ends = np.array([self.parameter.lower, self.parameter.upper])
        return float(np.abs(self.eta.at(ends)).max() * (self.statistic.upper - self.statistic.lower))

    def as_json(self) -> dict[str, Any]:
        trim: Any = self.trim
        if trim is None:
            trim = {"lower": self.parameter.lower, "upper": self.parameter.upper}
        body = {"family": self.family, "column": self.column, "prior": self.prior.as_json(), "trim": trim}
        return body | dict(self.known)

    def grid(self, rows_max: int, temperature: float) -> PublicGrid:
        first, last = (self.spacing.forward(end) for end in (self.parameter.lower, self.parameter.upper))
        curvature = self.information * temperature * rows_max + self._prior_curvature(first, last)
        count = grid_size(last - first, curvature, self._end_bend(first, last))
        theta = self._points(cell_middles(first, last, count))
        eta, partition = self._lattice_forms()
        log_prior = self._log_weight().at(theta)
        prior_sum, prior_rows, whole = self._prior_records()
        rest = np.zeros(len(theta)) if whole else log_prior  # like records already seen, up to a constant
        mean = partition.slope(theta) / eta.slope(theta)
        forms = eta.at(theta), partition.at(theta)
        rounding = eta.rounding(theta), partition.rounding(theta)
        return PublicGrid(theta, *forms, mean, log_prior, prior_sum, prior_rows, rest, temperature, rounding)

    def constants(self, grid: PublicGrid) -> GridConstants:
        points = grid.theta.tolist()
        power = Fraction(grid.temperature)
        eta, partition = self._lattice_forms()
        forms = (eta.times(power), partition.times(power), self._log_weight())
        return GridConstants(*fixed_forms(forms, points))

    def _lattice_forms(self) -> tuple[Combination, Combination]:
        low = Fraction(self.statistic.lower)
        return self.eta.times(Fraction(self.statistic.step)), self.partition.plus(self.eta.times(-low))

    def _log_weight(self) -> Combination:
        """log of prior density times the width of a grid cell."""
        return self.prior.log_density.plus(self.spacing.log_width)

    def _prior_records(self) -> tuple[float, float, bool]:
        """(s, r, True) where the prior's log-weight is s·η − r·A in lattice units with r ≥ 0; else (0, 0, False)."""
        found = solve_pair(self.eta, self.partition, self._log_weight())
        if found is None or found[1] > 0:
            return 0.0, 0.0, False
        total, rows = found[0], -found[1]
        steps = (total - rows * Fraction(self.statistic.lower)) / Fraction(self.statistic.step)
        return float(steps), float(rows), True

    def _points(self, phi: Array) -> Array:
        """θ at each φ, to 40 significant bits so that every platform has the same; inside the trim; η rising.

        Where φ is θ itself nothing is rounded: there is no function to differ in, and bits to lose far from zero.
        """
        theta = self.spacing.inverse(phi)
        if self.spacing is not EVEN:
            mantissa, exponent = np.frexp(theta)
            theta = np.ldexp(np.round(mantissa * 2.0**_POINT_BITS), exponent - _POINT_BITS)
        theta = theta.clip(self.parameter.lower, self.parameter.upper)
        rising = self.eta.at(theta[[0, -1]])
        ordered: Array = theta if rising[0] < rising[1] else theta[::-1].copy()
        return ordered

    def _end_bend(self, first: float, last: float) -> float:
        """The largest outward rise of log |dη/dφ| at an end of the range, per unit of φ; 0 where it falls at both.

        The log-density n·(η·t̄ − A) of a posterior that peaks beyond an end has a slope s there: moving t̄ outward by s/(n·η′)
        gives it that slope, and takes n·t̄·η″, s·η″/η′, off its second derivative.
        """
        near = (last - first) / _BEND_PARTS
        phi = np.array([first, first + near, last - near, last])
        theta = self.spacing.inverse(phi).clip(self.parameter.lower, self.parameter.upper)
        steepness = np.log(np.abs(self.eta.slope(theta))) + self.spacing.log_width.at(theta)
        return max(0.0, float(steepness[1] - steepness[0]) / near, float(steepness[2] - steepness[3]) / near)

    def _prior_curvature(self, first: float, last: float) -> float:
        """The largest −d²/dφ² of the log prior in φ: a strong prior narrows every posterior."""
        phi = np.linspace(first, last, _PRIOR_PROBES)
        theta = np.clip(self.spacing.inverse(phi), self.parameter.lower, self.parameter.upper)
        bends = np.diff(self._log_weight().at(theta), 2) / (phi[1] - phi[0]) ** 2
        return max(0.0, float(-bends.min()))
