"""Several rows a person: ceilings on a mesh of statistics (Σ T, rows), integrated along the path of every pair.

Cells are sectors: the mean statistic a row in [a₀, a₁], rows in [m₀, m₁]. On each, from the table at its centre (`cells.py`),

    Var_d ≤ max over corners δ of Σ p·(b_d − E b_d)²·exp((f − E f)·δ),   f·δ = τ(η·δt − A·δm),

a quadratic form in the change d, so three sums a corner serve every change. With x counting changes along the line,

    (α−1)·D_α(P_v ‖ P_{v+d}) = ∫₀^{α−1} (α−1−x)·Var_d(v − xd) dx + (α−1)·∫₀¹ (1−x)·Var_d(v + xd) dx,

and on every piece of x Var_d is at most the largest ceiling among the cells that the piece can meet from anywhere in v's cell:
(t − xΔt)/(m − xΔm) is monotone in each of t/m, m and x, so its extremes are at corners. A first dataset with n − 1 + j rows,
j < k, has no person of more than j rows, so its changes are those from 1 … j rows to 1 … k; with more rows from 1 … k rows. D_α
is convex in the change: the vertices of those are enough, and every dataset is in one of the k classes.

The pure cost of the table mixed with γ is at most the steepest slope among cells of n … nk rows
and a mean of 0 … s (`units/slope.py`).
"""

from dataclasses import dataclass
from itertools import pairwise, product
from math import ceil

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import Direction, PublicGrid, directions, person_corners
from app.core.numerics.hull import hull_vertices
from app.core.privacy.cells import Cells
from app.core.privacy.cost import ORDERS
from app.core.privacy.enumeration import Supremum
from app.core.privacy.range_maximum import RangeMaximum
from app.core.privacy.units.slope import CellTables
from app.core.privacy.windows import means_peaking_at, points_per_sd, posterior_windows, window_width
from app.errors import NumericalFailure

Array = NDArray[np.float64]

CELL_SDS, CELL_SDS_MANY = 0.12, 0.25
"""Width of a cell in sds of the posterior: finer where that takes fewer than CELLS_FEW across the range."""
CELLS_FEW = 400
PIECE_CELLS = 1.2
"""Length of a piece of a path, in cells."""
REACH_SDS = 9.0
"""How far back paths are followed: beyond, orders are bounded through the pure cost (`posterior_cost.capped_curve`)."""
PIECES_MAX = 40
"""To one change: beyond, a person moves a posterior by many of its own widths."""
ROWS_MAX = 8
"""Rows a person: each is a class of first datasets with paths of its own."""
_PARTS_MAX = 24
_ROW_RATIO_NEAR, _ROW_RATIO = 1.1, 1.3
_NEAR_ROWS = 1.2
_GROWTH = 1.3
_CELLS_MAX = 8_000


@dataclass(frozen=True, slots=True)
class MeshBounds:
    """Of one draw: curve and KL without the share γ, infinite at orders out of reach; and the pure cost with it."""

    exact: Supremum
    pure: float


def mesh_supremum(grid: PublicGrid, steps: int, people: int, unit_rows: int) -> MeshBounds | None:
    """None where that takes too many cells: there `peaks.py` is nearly as tight."""
    if unit_rows > ROWS_MAX:
        return None
    spread = points_per_sd(grid, float(people))
    width = CELL_SDS if grid.size < CELLS_FEW * CELL_SDS * spread else CELL_SDS_MANY
    if not grid.size * 12 < _CELLS_MAX * width * spread:
        return None
    sd = _largest_sd(grid, steps, people, unit_rows)
    if sd > PIECES_MAX * PIECE_CELLS * width:
        return None
    paths = _Paths(min(REACH_SDS / sd, people / (2 * (unit_rows - 1))), PIECE_CELLS * width / sd)
    edges = _edges(grid, steps, people, unit_rows, width, spread, paths.reach)
    if (len(edges[0]) - 1) * (len(edges[1]) - 1) > _CELLS_MAX:
        return None
    mesh = _Mesh(grid, *edges)
    found = np.zeros(len(ORDERS) + 1)
    for most in range(1, unit_rows + 1):
        found = np.maximum(found, _from_class(mesh, paths, steps, people, unit_rows, most))
    pure = mesh.steepest(directions((0, steps), unit_rows), steps, (people, people * unit_rows))
    return MeshBounds(Supremum(found[1:], float(found[0])), pure)


@dataclass(frozen=True, slots=True)
class _Paths:
    """How many changes back paths are followed, and into how long pieces they are cut."""

    reach: float
    piece: float


def _from_class(mesh: "_Mesh", paths: _Paths, steps: int, people: int, unit_rows: int, most: int) -> Array:
    """KL and D_α over first datasets in which a person has up to `most` rows: all of n − 1 + `most` rows, or more for k."""
    rows = people - 1.0 + most
    starts = _starts(mesh, steps, (rows, float(people * unit_rows) if most == unit_rows else rows))
    news = person_corners((0, steps), unit_rows)
    return _over(mesh, paths, _changes(person_corners((0, steps), most), news), starts)


def _changes(olds: list[Direction], news: list[Direction]) -> list[Direction]:
    changes = {(new[0] - old[0], new[1] - old[1]) for old in olds for new in news} | {(0, 0)}
    return [change for change in hull_vertices(changes) if change != (0, 0)]


def _over(mesh: "_Mesh", paths: _Paths, changes: list[Direction], starts: tuple[Array, ...]) -> Array:
    """KL and D_α, the largest over changes and starts."""
    found = np.zeros(len(ORDERS) + 1)
    for change in changes if len(starts[0]) else []:
        found = np.maximum(found, _along(mesh, paths, change, starts))
    return found


def _largest_sd(grid: PublicGrid, steps: int, people: int, unit_rows: int) -> float:
    """About the largest sd of b among the fewest rows; what it is decides how fine the work is, no bound."""
    means = means_peaking_at(grid, grid.mean[:: max(1, grid.size // 128)], float(people))
    t = people * np.append(means[(means >= 0) & (means <= steps)], [0.0, float(steps)])
    return unit_rows * steps * float(np.sqrt(max(_variance(grid, t, people).max(), 1e-300)))


def _edges(
    grid: PublicGrid, steps: int, people: int, unit_rows: int, width: float, spread: float, reach: float
) -> tuple[Array, Array]:
    """Of cells that cover everything a path of `reach` changes, and one forward, can meet."""
    # Forward a change leaves at least n rows; back it may leave fewer, and further than one change only by `reach`.
    fewest, most = people - reach * (unit_rows - 1), people * unit_rows + max(reach, 1.0) * (unit_rows - 1)
    moved = max(reach, 1.0) * unit_rows * steps
    bottom, top = -moved / fewest, (steps * people + moved) / fewest
    count = max(9, int(np.ceil((grid.size - 1) / (width * spread))) + 1)
    means = np.interp(np.linspace(0, grid.size - 1, count), np.arange(grid.size), grid.mean)
    inner = np.unique(means_peaking_at(grid, means, float(people)).clip(bottom, top))
    below, above = inner[:1] - inner[0], inner[:1] - inner[0]
    if len(inner) > 1:
        below = inner[0] - _outward(inner[0] - bottom, inner[1] - inner[0])
        above = inner[-1] + _outward(top - inner[-1], inner[-1] - inner[-2])
    a = np.unique(np.concatenate([[bottom, 0.0, float(steps), top], inner, below, above]).clip(bottom, top))
    a = _cut(grid, a, people, np.where((a[:-1] >= 0) & (a[1:] <= steps), 1.4, 4.0) * width)
    fewer = max(1, ceil(min(people - fewest, np.log(people / fewest) / np.log(_ROW_RATIO_NEAR))))
    rows = [*np.geomspace(fewest, people, fewer + 1).tolist()]
    while rows[-1] < most:
        ratio = _ROW_RATIO_NEAR if rows[-1] < people * _NEAR_ROWS else _ROW_RATIO
        rows.append(min(most, max(rows[-1] * ratio, rows[-1] + 1)))
    firsts = [people - 1.0 + j for j in range(1, unit_rows + 1)]
    return a, np.unique(
        np.array([*rows, fewest, most, float(people), *firsts, float(people * unit_rows)]).clip(fewest, most)
    )


def _cut(grid: PublicGrid, a: Array, people: int, widths: Array) -> Array:
    """Cells cut until none is longer than so many sds of its own posterior: posteriors may all pile up at an end of the trim."""
    t = people * np.concatenate([a[:-1], (a[:-1] + a[1:]) / 2, a[1:]])
    sd = np.sqrt(_variance(grid, t, people)).reshape(3, -1).max(axis=0)
    parts = np.ceil(np.diff(a) * people * sd / widths).clip(1, _PARTS_MAX).astype(np.int64)
    cut = [np.linspace(a[i], a[i + 1], parts[i], endpoint=False) for i in range(len(parts))]
    return np.append(np.concatenate(cut), a[-1])


def _variance(grid: PublicGrid, t: Array, people: int) -> Array:
    """Of τη, at sums `t` of the fewest rows."""
    m = np.full(len(t), float(people))
    windows = posterior_windows(grid, t, m, window_width(grid, t, m))
    p, x = np.exp(windows.log_p), grid.temperature * grid.eta[windows.columns]
    x = x - (p * x).sum(axis=1, keepdims=True)
    variance: Array = (p * x**2).sum(axis=1)
    return variance


def _outward(room: float, first: float) -> Array:
    distances = [0.0]
    step = first
    while distances[-1] < room and len(distances) < 200:
        distances.append(distances[-1] + step)
        step = max(first, (_GROWTH - 1) * distances[-1])
    return np.array(distances)


class _Mesh:
    """Cells [a[i], a[i+1]] × [m[j], m[j+1]], flattened with j running fastest, with what bounds them all."""

    def __init__(self, grid: PublicGrid, a: Array, m: Array) -> None:
        self.a, self.m = a, m
        low_a, low_m = (side.ravel() for side in np.meshgrid(a[:-1], m[:-1], indexing="ij"))
        high_a, high_m = (side.ravel() for side in np.meshgrid(a[1:], m[1:], indexing="ij"))
        self._cells = Cells(low_a, high_a, low_m, high_m)
        self._tables = CellTables(grid, self._cells)
        self._tallest: dict[Direction, RangeMaximum] = {}

    def tallest(self, change: Direction) -> RangeMaximum:
        """Its ceilings, one row of cells to each number of rows."""
        if change not in self._tallest:
            self._tallest[change] = RangeMaximum(self._tables.ceilings(change).reshape(len(self.a) - 1, -1).T)
        return self._tallest[change]

    def steepest(self, changes: list[Direction], steps: int, rows: tuple[int, int]) -> float:
        """sup of w_k·|b_k − E b| over the cells of reachable statistics and all changes between the given ones."""
        cells = self._cells
        inside = (cells.a1 > 0) & (cells.a0 < steps) & (cells.m1 > rows[0]) & (cells.m0 < rows[1])
        return float(self._tables.slopes(np.flatnonzero(inside), changes)[0].max(initial=0.0))


def _along(mesh: _Mesh, paths: _Paths, change: Direction, starts: tuple[Array, ...]) -> Array:
    """KL and D_α at every order over all first datasets in `starts`; infinite where α − 1 is beyond reach."""
    table = mesh.tallest(change)
    back = np.linspace(0.0, paths.reach, max(2, int(np.ceil(paths.reach / paths.piece)) + 1))
    ahead = np.linspace(0.0, 1.0, max(2, int(np.ceil(1 / paths.piece)) + 1))
    behind = _largest(mesh, table, starts, change, -back)
    kl = _largest(mesh, table, starts, change, ahead) @ np.diff(ahead - ahead**2 / 2)
    found = np.full(len(ORDERS) + 1, np.inf)
    found[0] = kl.max()
    near = np.array(ORDERS) - 1 <= paths.reach
    length = (np.array(ORDERS) - 1)[near]
    ends = np.minimum(back[:, None], length)
    weights = np.diff(ends * length - ends**2 / 2, axis=0) / length
    found[1:][near] = (behind @ weights + kl[:, None]).max(axis=0)
    return found


def _starts(mesh: _Mesh, steps: int, rows: tuple[float, float]) -> tuple[Array, ...]:
    """(a₀, a₁, m₀, m₁) of the parts of cells where a first dataset can be."""
    a = mesh.a[(mesh.a >= 0) & (mesh.a <= steps)]
    m = mesh.m[(mesh.m >= rows[0]) & (mesh.m <= rows[1])]
    pairs = [(m[0], m[0])] if len(m) == 1 else list(pairwise(m))
    low, high = (np.repeat(a[side], len(pairs)) for side in (slice(None, -1), slice(1, None)))
    first, last = (np.tile([pair[i] for pair in pairs], len(a) - 1) for i in (0, 1))
    return low, high, first, last


def _largest(mesh: _Mesh, table: RangeMaximum, starts: tuple[Array, ...], change: Direction, x: Array) -> Array:
    """For every start and every piece between neighbours of `x`, the largest ceiling that v + xd can meet."""
    low, high, first, last = (side[:, None] for side in starts)
    least, most = np.full((len(low), len(x) - 1), np.inf), np.full((len(low), len(x) - 1), -np.inf)
    for number, place in product((first, last), (x[:-1], x[1:])):
        rows = number + place * change[1]
        for mean in (low, high):
            value = (number * mean + place * change[0]) / rows
            np.minimum(least, value, out=least)
            np.maximum(most, value, out=most)
    moved = np.sort(np.stack([x[:-1], x[1:]]) * change[1], axis=0)
    a0, a1, m0, m1 = (
        _cell(edges, side)
        for edges, side in ((mesh.a, least), (mesh.a, most), (mesh.m, first + moved[0]), (mesh.m, last + moved[1]))
    )
    largest = np.zeros(a0.shape)
    for offset in range(int((m1 - m0).max()) + 1):
        largest = np.maximum(largest, table.between(np.minimum(m0 + offset, m1), a0, a1))
    return largest


def _cell(edges: Array, values: Array) -> NDArray[np.int64]:
    """The cell of each value; rounding may put one on an edge into either neighbour, whose ceilings both hold there."""
    if not (values.min() >= edges[0] - 1e-9 * abs(edges[0]) and values.max() <= edges[-1] + 1e-9 * abs(edges[-1])):
        raise NumericalFailure("a path left the cells that bound it")
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
