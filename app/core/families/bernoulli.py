"""Bernoulli with a Beta prior, trimmed to [ω, 1−ω].

    p(x|θ) = θˣ(1−θ)^{1−x},  T = x,  η = log θ − log(1−θ),  A = −log(1−θ)

The grid is uniform in φ = arcsin √θ, where every posterior has sd ≈ 1/(2√rows); dθ = 2√(θ(1−θ))·dφ, so a Beta(a, b)
prior gives a point the log-weight (a−½)·log θ + (b−½)·log(1−θ), halved at both ends of the range.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from app.core.families.exponential import GridConstants, PublicGrid, grid_size
from app.core.families.parameters import Parameter
from app.core.families.reading import read_number, read_object
from app.core.numerics.fixed_point import fixed_log, fixed_log_complement, rescale
from app.core.schema import Column
from app.core.statistics import StatisticRequest
from app.errors import InvalidModel

TRIM_DEFAULT = 0.05
TRIM_MIN = 1e-6
TRIM_MAX = 0.49
PRIOR_MIN = 1e-3
PRIOR_MAX = 1e6
_POINT_BITS = 40


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Neighbours: one person's 0/1 records replaced. `alpha`, `beta` are the Beta prior, `trim` is ω."""

    column: str
    alpha: float = 1.0
    beta: float = 1.0
    trim: float = TRIM_DEFAULT
    family: str = "bernoulli"

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not PRIOR_MIN <= value <= PRIOR_MAX:
                raise InvalidModel(f"model.prior.{name}", f"a number from {PRIOR_MIN} to {PRIOR_MAX:g}")
        if not TRIM_MIN <= self.trim <= TRIM_MAX:
            raise InvalidModel("model.trim", f"a number from {TRIM_MIN} to {TRIM_MAX}")

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return (Parameter("theta", self.trim, 1 - self.trim),)

    @property
    def statistic(self) -> StatisticRequest:
        return StatisticRequest(self.column)

    @property
    def statistic_range(self) -> tuple[int, int]:
        return (0, 1)

    @property
    def lipschitz(self) -> float:
        """L = ln(1/ω): the largest |log-likelihood| of one record on the trimmed range."""
        return -math.log(self.trim)

    def as_json(self) -> dict[str, Any]:
        prior = {"alpha": self.alpha, "beta": self.beta}
        return {"family": self.family, "column": self.column, "prior": prior, "trim": self.trim}

    def grid(self, rows_max: int, temperature: float) -> PublicGrid:
        first, last = (math.asin(math.sqrt(edge)) for edge in (self.trim, 1 - self.trim))
        narrowest_sd = 0.5 / math.sqrt(temperature * rows_max + self.alpha + self.beta)
        angles = np.linspace(first, last, grid_size(last - first, narrowest_sd))
        theta = np.round(np.sin(angles) ** 2 * 2.0**_POINT_BITS) * 2.0**-_POINT_BITS
        theta[0], theta[-1] = self.trim, 1 - self.trim
        log_success, log_failure = np.log(theta), np.log1p(-theta)
        log_prior = (self.alpha - 0.5) * log_success + (self.beta - 0.5) * log_failure
        log_prior[[0, -1]] -= math.log(2)
        prior_sum, prior_rows, prior_rest = self.alpha - 0.5, self.alpha + self.beta - 1, np.zeros(len(theta))
        prior_rest[[0, -1]] -= math.log(2)
        if prior_rows < 0:  # a prior with both ends raised is not log-concave: all of it is rest
            prior_sum, prior_rows, prior_rest = 0.0, 0.0, log_prior
        eta, partition = log_success - log_failure, -log_failure
        return PublicGrid(theta, eta, partition, theta, log_prior, prior_sum, prior_rows, prior_rest, temperature)

    def constants(self, grid: PublicGrid) -> GridConstants:
        points = grid.theta.tolist()
        success, failure = fixed_log(points), fixed_log_complement(points)
        power = Fraction(grid.temperature)
        tilt_a, tilt_b = (Fraction(value) - Fraction(1, 2) for value in (self.alpha, self.beta))
        half = rescale(fixed_log([2.0])[0], Fraction(1))
        prior = [rescale(s, tilt_a) + rescale(f, tilt_b) for s, f in zip(success, failure, strict=True)]
        prior[0] -= half
        prior[-1] -= half
        eta = [rescale(s - f, power) for s, f in zip(success, failure, strict=True)]
        return GridConstants(eta, [rescale(-f, power) for f in failure], prior)


def parse_bernoulli(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> Bernoulli:
    fields = read_object("model", spec, required={"family", "column"}, optional={"prior", "trim"})
    column = fields["column"]
    if not isinstance(column, str) or column not in columns or columns[column].type != "binary":
        raise InvalidModel("model.column", "the name of a binary column of the dataset")
    prior = read_object("model.prior", fields.get("prior", {}), required=set(), optional={"alpha", "beta"})
    return Bernoulli(
        column=column,
        alpha=read_number("model.prior.alpha", prior.get("alpha", 1.0)),
        beta=read_number("model.prior.beta", prior.get("beta", 1.0)),
        trim=read_number("model.trim", fields.get("trim", TRIM_DEFAULT)),
    )
