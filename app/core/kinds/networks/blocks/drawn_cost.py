"""What one person's rows cost in one block as it is drawn, mixture included: every figure certified for all counts, any n.

  rows may miss it    branch and bound over all counts (`mixed_curve.py`), from ceilings of Var(b) that hold for any number
  every row in it     one row a person and few people: every pair of tables. Otherwise the one-parameter family's figures for
                      the table it draws, mixed with no more of the uniform one than a block's

`block_cost.py` has the figures of the posterior itself, without the mixture, which gains of `map` are set by.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_cost import counts_before, family_cost, figures_of, up_to_mirror
from app.core.kinds.networks.blocks.block_grid import UNIFORM_SHARE, BlockGrid, BlockShape, block_grid, tables
from app.core.kinds.networks.blocks.block_suprema import groups, path_bounds, primitive, reachable
from app.core.kinds.networks.blocks.block_terms import (
    CURVE,
    DISTANCE,
    KL,
    PURE,
    RANGE,
    SWAP,
    BlockTerms,
    Direction,
    moves,
)
from app.core.kinds.networks.blocks.curvature import VarianceMap, far_out, plane_edges
from app.core.kinds.networks.blocks.mixed_curve import LOOSE, drawn_brackets
from app.core.kinds.networks.blocks.mixed_pure import mixed_pure
from app.core.kinds.networks.blocks.quick_figures import quick_figures
from app.core.kinds.networks.blocks.visited import (
    drawn_figures,
    every_charged_pair_is_visited,
    every_pair_is_visited,
    least_before,
    visited_terms,
)
from app.core.privacy.cost import ORDERS
from app.errors import NumericalFailure

Array = NDArray[np.float64]

FULL_WORK_MAX = 80_000
"""Tables times points up to which every pair of a block that every row falls in is visited."""
FULL_POINTS_MAX = 3_000
_CHUNK = 40_000
_EXAMPLES = 16
_PARTS = (1 / 2, 3 / 8, 1 / 4, 1 / 6, 1 / 10, 1 / 18, 1 / 36)
_RELATIVE = 1e-9


@lru_cache(maxsize=1024)
def block_terms(shape: BlockShape, grouped: bool = False) -> BlockTerms:
    """Every pair of tables as drawn where they are few, else what is certified for all counts, `grouped` by their total."""
    if not every_charged_pair_is_visited(shape):
        return searched_terms(shape, grouped)
    few = every_pair_is_visited(shape)
    found = visited_terms(shape, drawn_figures if few else quick_figures, mirror=not few)
    grid = block_grid(shape)
    reach = np.array([float(np.ptp(grid.change(d))) * (1 + _RELATIVE) for d in moves(shape.unit_rows)])
    for rows in (found.rows, found.by_total, found.by_pair):
        if rows is not None:
            rows[..., RANGE], rows[..., DISTANCE] = reach, np.tanh(reach / 4)
    if found.by_pair is None or few:
        return found
    return replace(found, by_group=_by_groups(found.by_pair, total_groups(shape.rows)) if grouped else None)


def _by_groups(by_pair: Array, ends: NDArray[np.int64]) -> Array:
    """[group of totals, move, figure] from [s, f, move, figure]."""
    s, f = np.indices(by_pair.shape[:2])
    groups = np.minimum(np.searchsorted(ends, s + f), len(ends) - 1)
    found = np.zeros((len(ends), *by_pair.shape[2:]))
    np.maximum.at(found, groups, by_pair)
    return found


def searched_terms(shape: BlockShape, grouped: bool = False) -> BlockTerms:
    grid = block_grid(shape)
    directions = moves(shape.unit_rows)
    exact = shape.full and shape.unit_rows == 1 and (shape.rows + 1) * grid.size <= FULL_WORK_MAX
    asked, mirrored = up_to_mirror(shape, directions)
    if exact:  # told by successes, which a mirror turns into failures
        found, asked, mirrored = _swapped(grid, shape, directions), list(directions), {}
    elif shape.full:
        found = np.minimum(_family_suprema(shape, asked), _full_ceilings(grid, shape, asked))
    else:
        found = _searched(grid, shape, asked, total_groups(shape.rows) if grouped else None)
    return _terms(grid, shape, asked, mirrored, found, exact)


@lru_cache(maxsize=256)
def bracketing_terms(shape: BlockShape, grouped: bool = False) -> tuple[BlockTerms, BlockTerms]:
    """(no less, no more) than `block_terms`, in a fraction of the time where it searches; for choosing, never charged."""
    grid = block_grid(shape)
    if every_charged_pair_is_visited(shape) or (shape.full and grid.size > FULL_POINTS_MAX):
        return block_terms(shape, grouped), block_terms(shape, grouped)
    asked, mirrored = up_to_mirror(shape, moves(shape.unit_rows))
    if shape.full:
        ends = _full_ceilings(grid, shape, asked), _full_examples(grid, shape, asked)
    else:
        ends = _searched_brackets(grid, shape, asked, total_groups(shape.rows) if grouped else None)
    most, least = (_terms(grid, shape, asked, mirrored, found, exact=False) for found in ends)
    return most, least


def _terms(
    grid: BlockGrid,
    shape: BlockShape,
    asked: Sequence[Direction],
    mirrored: Mapping[Direction, Direction],
    found: Array,
    exact: bool,
) -> BlockTerms:
    """From [asked move, group, figure]."""
    order = [asked.index(mirrored.get(d, d)) for d in moves(shape.unit_rows)]
    rows = np.stack([figures_of(grid, shape, d, found[i]) for i, d in enumerate(asked)])[order]
    rows[..., DISTANCE] = np.tanh(rows[..., RANGE] / 4)
    if not (rows >= 0).all() or not np.isfinite(rows).all():
        raise NumericalFailure("the cost of a block came out undefined")
    told = np.swapaxes(rows, 0, 1) if rows.shape[1] > 1 else None
    by_group, by_successes = (None, told) if shape.full else (told, None)
    whole = rows.max(axis=1)
    return BlockTerms(
        whole,
        exact,
        grid.size,
        shape.unit_rows,
        every_row=shape.full,
        by_group=by_group,
        by_successes=by_successes,
    )


def total_groups(rows: int) -> NDArray[np.int64]:
    """The last total of each group, finer towards nothing and towards all rows; t and `rows` − t lie in groups that mirror
    each other."""
    low = np.array([int((rows - 1) * part) for part in _PARTS], dtype=np.int64)
    return np.unique([*low, *(rows - 1 - low), rows])


def _starts(
    grid: BlockGrid,
    shape: BlockShape,
    asked: Sequence[Direction],
    ends: NDArray[np.int64] | None,
    far: bool = False,
) -> Iterator[tuple[Direction, NDArray[np.int64], Array]]:
    """Rectangles of counts before every move, and bounds of the posterior's [KL, D_α …] on them."""
    edges = plane_edges(shape.trim, shape.temperature, ORDERS[-1] * shape.unit_rows, (shape.alpha, shape.beta), far)
    axes = list(dict.fromkeys(primitive(d)[0] for d in asked))
    ceilings = VarianceMap(grid, edges, axes, ordered=True)
    sides = []
    for side in edges:
        last = float(side[-1])
        beyond = np.geomspace(last, max(last, shape.rows), 12) if ends is not None else side[-1:]
        sides.append(groups(np.unique(np.concatenate([side, beyond])), shape.rows))
    starts = np.array([(*s, *f) for s, f in product(*sides) if s[0] + f[0] <= shape.rows], dtype=np.float64)
    for d in sorted(asked, key=lambda move: move[0] * move[1] > 0):
        boxes = reachable(starts, d, shape.rows)
        axis, times = primitive(d)
        yield d, boxes.astype(np.int64), path_bounds(ceilings, axes.index(axis), boxes, d) * times**2


def _searched(grid: BlockGrid, shape: BlockShape, asked: Sequence[Direction], ends: NDArray[np.int64] | None) -> Array:
    """[move, group, figure]; the less of two where rows reach as far as a strong prior's cells are wide, and are missed there."""
    strong = far_out((shape.alpha, shape.beta))
    beyond = shape.rows * shape.temperature > strong and shape.unit_rows == 1
    pure: dict[Direction, float] = {}
    found, loose = _searched_from(grid, shape, asked, ends, pure, grown=strong < np.inf and not beyond)
    places = [i for i, excess in enumerate(loose) if excess > LOOSE]
    if places and beyond:
        again, _ = _searched_from(grid, shape, [asked[i] for i in places], ends, pure, far=True, grown=True)
        found[places] = np.minimum(found[places], again)
    return found


def _searched_from(
    grid: BlockGrid,
    shape: BlockShape,
    asked: Sequence[Direction],
    ends: NDArray[np.int64] | None,
    pure: dict[Direction, float],
    far: bool = False,
    grown: bool = False,
) -> tuple[Array, list[float]]:
    """And how far each move's worst figure is above what was reached. `pure` costs are kept for another search."""
    found: dict[Direction, Array] = {}
    loose: dict[Direction, float] = {}
    for d, boxes, tops in _starts(grid, shape, asked, ends, far):
        counts, b = counts_before(grid, shape, d), grid.change(d)
        if d not in pure:
            pure[d] = min(mixed_pure(grid, counts, b, UNIFORM_SHARE, 1 / shape.temperature), _by_steps(found, d))
        found[d], reached = drawn_brackets(
            grid,
            counts,
            b,
            UNIFORM_SHARE,
            1 / shape.temperature,
            boxes,
            tops,
            ends,
            searched=True,
            grown=grown,
            pure=pure[d],
        )
        loose[d] = float((found[d].max(axis=0) / np.maximum(reached.max(axis=0), 1e-300)).max())
    return np.stack([found[d] for d in asked]), [loose[d] for d in asked]


def _searched_brackets(
    grid: BlockGrid, shape: BlockShape, asked: Sequence[Direction], ends: NDArray[np.int64] | None
) -> tuple[Array, Array]:
    """The first steps of `_searched`, which it goes on from: what is bounded, and what is reached."""
    sides: dict[Direction, tuple[Array, Array]] = {}
    for d, boxes, tops in _starts(grid, shape, asked, ends):
        counts, b = counts_before(grid, shape, d), grid.change(d)
        known = {move: most for move, (most, _) in sides.items()}
        sides[d] = drawn_brackets(
            grid, counts, b, UNIFORM_SHARE, 1 / shape.temperature, boxes, tops, ends, _by_steps(known, d)
        )
    most, least = (np.stack([sides[d][i] for d in asked]) for i in (0, 1))
    return most, least


def _full_ceilings(grid: BlockGrid, shape: BlockShape, asked: Sequence[Direction]) -> Array:
    """[move, 1, figure] of a block that every row falls in, from ceilings of Var(b) where totals are as many as there are."""
    suprema = np.zeros((len(asked), 1, PURE + 1))
    places = [i for i, d in enumerate(asked) if d in SWAP or shape.unit_rows > 1]
    suprema[places] = np.inf
    if grid.size > FULL_POINTS_MAX:
        return suprema
    for d, boxes, tops in _starts(grid, shape, [asked[i] for i in places], None):
        held = boxes[:, 1] + boxes[:, 3] >= least_before(shape, d)
        suprema[asked.index(d), 0, :PURE] = tops[held].max(axis=0, initial=0.0)
        suprema[asked.index(d), 0, PURE] = np.ptp(grid.change(d))
    return suprema


def _full_examples(grid: BlockGrid, shape: BlockShape, asked: Sequence[Direction]) -> Array:
    """[move, 1, figure]: the largest at some counts where all rows of a person change sides; of other moves nothing."""
    total, moved = shape.least_rows - 1 + shape.unit_rows, shape.unit_rows
    s = np.unique(np.geomspace(moved, total, _EXAMPLES).astype(np.int64))
    before, after = (
        tables(grid, count.astype(np.float64), (total - count).astype(np.float64)) for count in (s, s - moved)
    )
    mixed = [(1 - UNIFORM_SHARE) * table + UNIFORM_SHARE / grid.size for table in (before, after)]
    row = np.maximum(drawn_figures(*mixed), drawn_figures(*mixed[::-1]))[:, : PURE + 1].max(axis=0)
    swapped = np.array([d in ((moved, -moved), (-moved, moved)) for d in asked])[:, None]
    return np.where(swapped, row * (1 - _RELATIVE), 0.0)[:, None]


def _by_steps(found: Mapping[Direction, Array], d: Direction) -> float:
    """Successes and failures that come or go together cost no more, as a pure cost, than one after the other."""
    if d[0] * d[1] <= 0:
        return np.inf
    parts = ((d[0], 0), (0, d[1]))
    known = [found[part] if part in found else found[part[::-1]] for part in parts]  # with a symmetric prior mirrored
    return float(sum(part[:, PURE].max() for part in known))


def _swapped(grid: BlockGrid, shape: BlockShape, asked: Sequence[Direction]) -> Array:
    """[move, successes before, figure]: every row is an observation and one is swapped."""
    s = np.arange(shape.rows + 1, dtype=np.float64)
    drawn = (1 - UNIFORM_SHARE) * tables(grid, s, shape.rows - s) + UNIFORM_SHARE / grid.size
    suprema = np.zeros((len(asked), shape.rows + 1, PURE + 1))
    for i, d in enumerate(asked):
        if d not in SWAP:
            continue
        from_ = np.arange(shape.rows) + (d[0] < 0)
        for part in np.array_split(from_, max(1, shape.rows * grid.size // _CHUNK)):
            suprema[i, part] = drawn_figures(drawn[part], drawn[part + d[0]])[:, : PURE + 1]
    return suprema


def _family_suprema(shape: BlockShape, asked: Sequence[Direction]) -> Array:
    family = family_cost(shape)
    row = np.empty(PURE + 1)
    row[KL], row[CURVE], row[PURE] = family.kl_sup, family.drawn.curve, family.drawn.pure
    possible = np.array([d in SWAP or shape.unit_rows > 1 for d in asked])[:, None]
    return np.where(possible, row, 0.0)[:, None]
