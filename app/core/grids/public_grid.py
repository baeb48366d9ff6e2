"""One-parameter exponential families h(x)·exp(η(θ)T(x) − A(θ)) on a public finite grid.

The posterior of m records with Σ T = t, at temperature τ, is the table

    w_k ∝ exp(log prior_k + τ·(η_k·t − A_k·m)),   k = 1 … K,

and one person's change moves (t, m) along a direction d = (Δt, Δm). Neighbouring relation everywhere: the same
n people, one person's rows replaced. Everything here comes from public numbers; only (t, m) is private.
"""

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.numerics.hull import hull_vertices
from app.core.parameters import Parameter
from app.core.statistics.sums import StatisticRequest
from app.errors import NumericalFailure

Array = NDArray[np.float64]
Direction = tuple[int, int]

GRID_POINTS_MAX = 2**16
GRID_POINTS_MIN = 65
POINTS_PER_SD = 6
STEEPEST = 1.25


@dataclass(frozen=True, slots=True)
class PublicGrid:
    """K points in increasing order of η, with what the analysis needs at each.

    `mean` is A′(η), the expected statistic of one record; it rises with η. `log_prior` includes the width of the
    cell a point stands for. Of it, `prior_sum`·η − `prior_rows`·A with `prior_rows` ≥ 0 acts like records already
    seen, so posteriors stay log-concave up to `prior_rest`, what is left of `log_prior`. `rounding` bounds how far η and A as
    doubles may be from what the sampler's integers are rounded from.
    """

    theta: Array
    eta: Array
    partition: Array
    mean: Array
    log_prior: Array
    prior_sum: float
    prior_rows: float
    prior_rest: Array
    temperature: float
    rounding: tuple[float, float]

    def __post_init__(self) -> None:
        arrays = (self.theta, self.eta, self.partition, self.mean, self.log_prior, self.prior_rest)
        if not all(np.isfinite(array).all() for array in arrays):
            raise NumericalFailure("a public grid came out undefined")
        if not (np.diff(self.eta) > 0).all() or not self.prior_rows >= 0:
            raise NumericalFailure("a public grid came out unordered")

    @property
    def size(self) -> int:
        return len(self.theta)

    def change(self, direction: Direction) -> Array:
        """b(θ_k) = τ·(η_k·Δt − A_k·Δm): the log-likelihood ratio of a change, at every point."""
        moved_sum, moved_rows = direction
        return self.temperature * (self.eta * moved_sum - self.partition * moved_rows)


@dataclass(frozen=True, slots=True)
class GridConstants:
    """The same constants as integers in units of 2⁻⁸⁰; the sampler adds these, exactly."""

    eta: list[int]
    partition: list[int]
    log_prior: list[int]


class ExponentialModel(Hashable, Protocol):
    """A family with its prior, trim and column: pure data, validated before anything is read."""

    @property
    def family(self) -> str: ...
    @property
    def column(self) -> str: ...
    @property
    def parameters(self) -> tuple[Parameter, ...]: ...
    @property
    def statistic(self) -> StatisticRequest: ...
    @property
    def statistic_range(self) -> tuple[int, int]:
        """Smallest and largest value of T for one record, on its integer lattice."""
        ...

    @property
    def lipschitz(self) -> float:
        """The papers' L = sup_θ,x |ℓ_θ(x) − ℓ_θ(y)| bound for ρ = 1, shown beside ours and never charged."""
        ...

    def as_json(self) -> dict[str, Any]: ...
    def grid(self, rows_max: int, temperature: float) -> PublicGrid: ...
    def constants(self, grid: PublicGrid) -> GridConstants: ...


def grid_size(width: float, curvature: float, end_bend: float = 0.0) -> int:
    """Cells of length h for a range of `width` in φ: six to the narrowest posterior sd, 1/√c.

    With points in the middles of cells, a table differs from the masses of its cells by h²/24·(f″/f − its mean) of a
    density f, relatively. A normal posterior of curvature c then has total variation h²c/48·E|z² − 1| = 0.020·h²c, and
    one cut off by an end of the range, e^{−sx − cx²/2}, at most 0.029·h²c; a pure exponential has none, the ratio of mass
    to middle being the same in every cell. Six keeps 0.029/6² under 10⁻³.

    Cut off, a posterior bends more the steeper it is, by `end_bend` for each unit of s, until s = 1¼/h and one cell holds
    most of it: hence c = curvature + end_bend·1¼·6·√c, solved for √c.
    """
    steep = STEEPEST * POINTS_PER_SD * end_bend / 2
    root = steep + math.sqrt(steep**2 + curvature)
    wanted = math.ceil(POINTS_PER_SD * width * root)
    return min(max(wanted, GRID_POINTS_MIN), GRID_POINTS_MAX)


def cell_middles(first: float, last: float, count: int) -> Array:
    """The middles of `count` equal cells of [first, last]: what lies in a cell is drawn as its middle."""
    edges = np.linspace(first, last, count + 1)
    return np.asarray((edges[:-1] + edges[1:]) / 2)


def person_corners(statistic_range: tuple[int, int], unit_rows: int) -> list[tuple[int, int]]:
    """Extreme (Σ T, rows) of one person who has between 1 and `unit_rows` rows."""
    low, high = statistic_range
    return sorted({(rows * edge, rows) for rows in (1, unit_rows) for edge in (low, high)})


def person_points(statistic_range: tuple[int, int], unit_rows: int) -> list[tuple[int, int]]:
    """Every (Σ T, rows) one person can have, for small enumerations."""
    low, high = statistic_range
    return [(t, rows) for rows in range(1, unit_rows + 1) for t in range(rows * low, rows * high + 1)]


def directions(statistic_range: tuple[int, int], unit_rows: int) -> list[Direction]:
    """Changes d = new − old at which the cost of one person can be largest, up to sign.

    For fixed α the divergence D_α(P_v ‖ P_{v+d}) = C((1−α)d)/(α−1) + C(d) is convex in d, so its supremum over
    all changes is reached at a vertex of the polytope of differences, a difference of corners.
    """
    corners = person_corners(statistic_range, unit_rows)
    changes = [(new[0] - old[0], new[1] - old[1]) for old, new in itertools.permutations(corners, 2)]
    return [change for change in hull_vertices(changes) if change > (0, 0)]
