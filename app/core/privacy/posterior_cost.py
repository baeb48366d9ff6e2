"""What one draw from a tempered posterior on a grid costs, as a proven upper bound for every order.

Of an exact draw (`DrawCost.cost`) the smallest at each order (PRIVACY §2):
  bounded range   pure r = max b − min b;  D_α ≤ min(r, α·r²/8)
and one of
  exact           every neighbouring pair visited (`enumeration.py`)
  certified       one row a person: a ceiling of Var(b) integrated along the path of every pair (`kernel.py`)
  certified       several rows a person: such ceilings on a mesh of statistics, along every path (`units/mesh.py`)
  certified       otherwise: α/2 times a mean of sup Var(b) over statistics nearer and further from the reachable (`peaks.py`)

Of the draw that is made (`DrawCost.drawn`), from the table mixed with γ of the uniform one: D_α is no larger, the pure cost ε
far smaller (`mixed_slope.py`, `mixed_pairs.py`), and then D_α too: f(α) = (α−1)·D_α = log E_Q[(P/Q)^α] is convex with slope at
most ε, so D_α ≤ (f(α₀) + (α − α₀)·ε)/(α−1) for every order α₀ ≤ α, f(1) = 0 among them.
On top of either the slack of the integer sampler, proven in `grids/integer_table.py`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import Direction, ExponentialModel, PublicGrid, directions
from app.core.privacy.cost import ORDERS, Cost
from app.core.privacy.curvature import Ceiling
from app.core.privacy.enumeration import (
    Supremum,
    all_pair_count,
    dataset_count,
    enumerate_drawn,
    enumerate_pointwise,
    enumerate_pure,
    enumerate_supremum,
    pair_count,
)
from app.core.privacy.kernel import kernel_ceiling, supremum_under
from app.core.privacy.mixed_orders import chorded, convex_envelope, drawn_powers
from app.core.privacy.mixed_pairs import pair_supremum
from app.core.privacy.mixed_slope import steepest_slope
from app.core.privacy.peak_regions import Peaks, chernoff, tops_of, weighted_means
from app.core.privacy.units.cells import cell_supremum
from app.core.privacy.units.falls import largest_fall
from app.core.privacy.units.lattice import lattice_curve, lattice_powers
from app.core.privacy.units.mesh import MeshBounds, mesh_supremum
from app.core.privacy.units.slope import steepest_unit_slope
from app.core.privacy.windows import rounding_factor
from app.errors import NumericalFailure

Array = NDArray[np.float64]

WEIGHT_ERROR = 2.0**-44
"""s: every sampled weight is within e^{±s} of exact; derived in `mechanisms/integer_table.py`."""

ENUMERATION_WORK_MAX = 360_000
ENUMERATION_RECORDS_MAX = 64
"""Different records one person can have; each is a round of its own, whatever the number of pairs."""
VISITS_MAX = 7_500_000
"""Pairs times points of the grid; for one row a person fewer, because sums are visited faster (`mixed_orders.py`)."""
DATASETS_WORK_MAX = 5_000_000
LARGE_STEP_SDS = 0.3
"""A change of that many sds of η moves a table by up to 0.4 % less than the steepest slope says."""
_RELATIVE_MARGIN = 1e-9
_ORDERS_AT_ONCE = 8
_NEAR_PURE = 0.985


@dataclass(frozen=True, slots=True)
class DrawCost:
    """One draw: `cost` of an exact one, `drawn` of the one that is made, with its share γ of the uniform table.

    `kl_sup` bounds KL between neighbours; `range_pure` how far a log-likelihood ratio varies; `method` says how the curve was
    certified.
    """

    cost: Cost
    drawn: Cost
    kl_sup: float
    range_pure: float
    method: str
    grid_points: int


@lru_cache(maxsize=512)
def posterior_draw_cost(model: ExponentialModel, people: int, unit_rows: int, temperature: float) -> DrawCost:
    """Cached by the public numbers it is a function of: model, people, rows a person, temperature."""
    grid = model.grid(people * unit_rows, temperature)
    changes = directions(model.statistic_range, unit_rows)
    span = max(float(np.ptp(grid.change(change))) for change in changes) * (1 + _RELATIVE_MARGIN)
    span += grid_rounding(grid, changes)
    bounds = _bounds(model, grid, people, unit_rows, changes)
    orders = np.array(ORDERS)
    curve = np.minimum(bounds.exact.curve * (1 + _RELATIVE_MARGIN), np.minimum(span, orders * span**2 / 8))
    pure = np.fmin(span, bounds.pure * (1 + _RELATIVE_MARGIN) + grid_rounding(grid, changes))
    # a point is drawn with a probability from γ/K to 1 − γ + γ/K, whatever the table
    pure = min(float(pure), math.log1p((1 - UNIFORM_SHARE) * grid.size / UNIFORM_SHARE) * (1 + _RELATIVE_MARGIN))
    kl = min(bounds.exact.kl * (1 + _RELATIVE_MARGIN), span, span**2 / 8) + 4 * WEIGHT_ERROR
    if not kl >= 0:
        raise NumericalFailure("a bound on KL came out undefined")
    capped = capped_curve(curve, float(pure))
    capped = _with_tried_orders(model, grid, people, unit_rows, curve, capped, float(pure), bounds.top)
    cost, drawn = with_slack(span, curve), with_slack(float(pure), capped)
    return DrawCost(cost, drawn, float(kl), span, bounds.method, grid.size)


def capped_curve(curve: Array, pure: float) -> Array:
    """D_α of a law whose log-ratios are at most `pure`, from bounds of D_α without that."""
    orders = np.array([1.0, *ORDERS])
    powers = np.append(0.0, (orders[1:] - 1) * curve)
    beyond = orders[1:, None] - orders
    tangents = np.where(beyond >= 0, powers + beyond * pure, np.inf)
    capped: Array = tangents.min(axis=1) / (orders[1:] - 1)
    return capped


def _with_tried_orders(
    model: ExponentialModel,
    grid: PublicGrid,
    people: int,
    unit_rows: int,
    curve: Array,
    capped: Array,
    pure: float,
    top: float,
) -> Array:
    """D_α where some orders of the mixed table were computed, for every pair or every sum, and convexity between them."""
    orders, (low, high) = np.array(ORDERS), model.statistic_range
    visits = all_pair_count((low, high), people, unit_rows) * grid.size
    affordable = VISITS_MAX if unit_rows > 1 else VISITS_MAX // (4 if high - low > 1 else 16)
    if visits <= affordable and _few_records((low, high), unit_rows):
        powers = _every_pair(grid, (low, high), people, unit_rows, pure)
    elif unit_rows > 1:
        powers = lattice_powers(grid, (low, high), people, unit_rows, capped, pure)
    elif low == 0:
        powers = drawn_powers(grid, people, high, curve, capped, pure, top)
    else:
        return capped
    lost = (
        np.log(rounding_factor(grid, float(people * unit_rows * high), float(people * unit_rows)))
        + 2.0**-50 * grid.size
    )
    powers = powers * (1 + _RELATIVE_MARGIN) + 2 * orders * lost
    better: Array = convex_envelope(np.minimum((orders - 1) * capped, powers), pure) / (orders - 1)
    return np.minimum(capped, better * (1 + _RELATIVE_MARGIN))


def _every_pair(grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int, pure: float) -> Array:
    """(α−1)·D_α of the mixed table, up to the order where D_α is all but the pure cost."""
    orders, powers = np.array(ORDERS), np.full(len(ORDERS), np.inf)
    for start in range(0, len(orders), _ORDERS_AT_ONCE):
        part = slice(start, start + _ORDERS_AT_ONCE)
        powers[part] = enumerate_drawn(grid, statistic_range, people, unit_rows, orders[part])
        if powers[part][-1] >= _NEAR_PURE * pure * (orders[part][-1] - 1):
            break
    return powers


def with_slack(pure: float, curve: Array) -> Cost:
    orders = np.array(ORDERS)
    slack = 2 * WEIGHT_ERROR * (2 * orders - 1) / (orders - 1)
    return Cost(pure + 4 * WEIGHT_ERROR, tuple((curve + slack).tolist()))


def grid_rounding(grid: PublicGrid, changes: list[Direction]) -> float:
    """What a difference of b, at two points or from a mean, may lose in doubles against the sampler's integers.

    Twice the error of each value, as much again for the products and sums of `change`, and the integers' own 2⁻⁸⁰.
    """
    eta, partition = grid.rounding
    return max(abs(t) * (eta + 2.0**-78) + abs(m) * (partition + 2.0**-78) for t, m in changes) * 4 * grid.temperature


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Of an exact draw's curve, and of the pure cost of the mixed table; the latter undefined or infinite where unknown."""

    exact: Supremum
    pure: float
    method: str
    top: float = np.inf
    """ψ″ ≤ top wherever a path goes, one row a person; infinite where it is not known."""


def _bounds(
    model: ExponentialModel, grid: PublicGrid, people: int, unit_rows: int, changes: list[Direction]
) -> _Bounds:
    low, high = model.statistic_range
    edge = max(abs(low), abs(high)) * people * unit_rows
    if _few_pairs(model, grid, people, unit_rows):
        slack = rounding_factor(grid, float(edge), float(people * unit_rows))
        exact = enumerate_supremum(grid, (low, high), people, unit_rows).times(slack)
        pure = enumerate_pure(grid, (low, high), people, unit_rows) + np.log(slack)
        return _Bounds(exact, float(pure), "exact: every neighbouring pair")
    ceiling = kernel_ceiling(grid, (low, high), people) if unit_rows == 1 else None
    if ceiling is not None:
        slack = rounding_factor(grid, edge + ORDERS[-1] * (high - low), float(people))
        exact = supremum_under(ceiling, (low, high), people).times(slack)
        pure = _largest_change(grid, ceiling, (low, high), people)
        top = float(np.maximum(ceiling.left, ceiling.right).max())
        return _Bounds(exact, pure, "certified: ceilings of the curvature under its kernel", top)
    if unit_rows > 1 and low == 0:
        mesh = mesh_supremum(grid, high, people, unit_rows)
        if mesh is not None:
            return _meshed(mesh, grid, model.statistic_range, people, unit_rows)
    tops = tops_of(Peaks(grid, (low, high), people, unit_rows, changes))
    curve, pure = weighted_means(tops), chernoff(tops, grid.size)
    if unit_rows > 1 and low == 0:
        slack = rounding_factor(grid, 2.0 * edge, 2.0 * people * unit_rows)
        slope = steepest_unit_slope(grid, high, people, unit_rows) * slack + np.sqrt(tops[0]) * (slack - 1)
        pure = _unit_pure(grid, (low, high), people, unit_rows, float(np.fmin(pure, slope)), slack)
        curve = _unit_curve(grid, (low, high), people, unit_rows, pure, curve / slack) * slack
    exact = Supremum(chorded(curve), float(tops[0] / 2))
    return _Bounds(exact, pure, "certified: supremum of the curvature")


def _meshed(
    mesh: MeshBounds, grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int
) -> _Bounds:
    """The mesh's bounds with what rounding may have lost; the pure cost pair by pair where there are few datasets."""
    edge, rows = float(statistic_range[1] * people * unit_rows), float(people * unit_rows)
    slack = rounding_factor(grid, 2 * edge, 2 * rows)
    pure = mesh.pure * slack + np.sqrt(2 * mesh.exact.kl) * (slack - 1)
    pure = _unit_pure(grid, statistic_range, people, unit_rows, float(pure), slack)
    curve = _unit_curve(grid, statistic_range, people, unit_rows, float(pure), mesh.exact.curve)
    exact = Supremum(chorded(curve), mesh.exact.kl).times(slack)
    return _Bounds(exact, float(pure), "certified: ceilings of the curvature along every path")


def _unit_pure(
    grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int, known: float, slack: float
) -> float:
    few = _few_records(statistic_range, unit_rows)
    if few and dataset_count(statistic_range, people, unit_rows) * grid.size <= DATASETS_WORK_MAX:
        return min(known, enumerate_pure(grid, statistic_range, people, unit_rows) + float(np.log(slack)))
    return min(known, largest_fall(grid, statistic_range[1], people, unit_rows, known) + float(np.log(slack)))


def _unit_curve(
    grid: PublicGrid, statistic_range: tuple[int, int], people: int, unit_rows: int, pure: float, known: Array
) -> Array:
    """D_α of every dataset where they are few, else by cells."""
    if _few_records(statistic_range, unit_rows):
        curve = lattice_curve(grid, statistic_range, people, unit_rows, pure)
        if curve is not None:
            return np.minimum(known, curve)
    return cell_supremum(grid, statistic_range[1], people, unit_rows, pure, known)


def _few_records(statistic_range: tuple[int, int], unit_rows: int) -> bool:
    span = statistic_range[1] - statistic_range[0]
    return unit_rows + span * unit_rows * (unit_rows + 1) // 2 <= ENUMERATION_RECORDS_MAX


def _few_pairs(model: ExponentialModel, grid: PublicGrid, people: int, unit_rows: int) -> bool:
    """Whether every neighbouring pair can be visited."""
    low, high = model.statistic_range
    few = _few_records(model.statistic_range, unit_rows)
    affordable = ENUMERATION_WORK_MAX if unit_rows > 1 else ENUMERATION_WORK_MAX // 3  # the other road is faster there
    return few and pair_count((low, high), people, unit_rows) * grid.size <= affordable


def _largest_change(
    grid: PublicGrid, ceiling: Ceiling, statistic_range: tuple[int, int], people: int, pointwise: bool = False
) -> float:
    """One row a person, of log q or of p: the steepest slope times a change, or pair by pair where a change is much of an sd.

    Rounded log-weights move w and p by a part 2e and the mean by 2e·sd, e^{4e} the factor of `rounding_factor`.
    """
    low, high = statistic_range
    step, ends = high - low, (float(people * low), float(people * high))
    slack = rounding_factor(grid, max(map(abs, ends)), float(people))
    inside = (ceiling.nodes[1:] > ends[0]) & (ceiling.nodes[:-1] < ends[1])
    sd = float(np.sqrt(np.maximum(ceiling.left, ceiling.right)[inside].max(initial=0.0)))
    slope = steepest_slope(grid, people, ceiling, ends, pointwise)
    largest = step * (slope * slack + sd * (slack - 1))
    if low == 0 and not step * sd < LARGE_STEP_SDS:
        largest = np.fmin(largest, pair_supremum(grid, people, step, sd, pointwise) + np.log(slack))
    return float(largest)


@lru_cache(maxsize=512)
def point_change(model: ExponentialModel, people: int, unit_rows: int) -> float:
    """How much one person can change the posterior probability of one point, at temperature 1; at most a total variation.

    That is at most √(KL/2) (Pinsker), and tanh(r/4) for two tables with log-ratios of range r.
    """
    draw = posterior_draw_cost(model, people, unit_rows, 1.0)
    grid = model.grid(people * unit_rows, 1.0)
    largest = min(float(np.sqrt(draw.kl_sup / 2)), float(np.tanh(draw.range_pure / 4)))
    if _few_pairs(model, grid, people, unit_rows):
        slack = rounding_factor(grid, float(model.statistic_range[1] * people * unit_rows), float(people * unit_rows))
        found = enumerate_pointwise(grid, model.statistic_range, people, unit_rows) * slack + slack - 1
        return min(largest, found * (1 + _RELATIVE_MARGIN))
    ceiling = kernel_ceiling(grid, model.statistic_range, people) if unit_rows == 1 else None
    if ceiling is None:
        return largest
    found = _largest_change(grid, ceiling, model.statistic_range, people, pointwise=True)
    return float(
        np.fmin(largest, found * (1 + _RELATIVE_MARGIN) + grid_rounding(grid, [(model.statistic_range[1], 0)]))
    )
