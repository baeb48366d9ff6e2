"""What one point by the probability score of `map` costs, at the level of all rows of a person.

Ranges, and divergences of pairs of tables, add over independent blocks, so the largest sum over what a person can touch is
found as for draws of the posterior (`cost.py`), from figures of the tables that are drawn (`blocks/sharpened.py`).
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import GRID_POINTS_MIN
from app.core.kinds.networks.blocks.block_cost import certified_terms
from app.core.kinds.networks.blocks.block_grid import BlockShape, block_grid
from app.core.kinds.networks.blocks.block_terms import CURVE, DISTANCE, KL, PURE, moves, range_figures
from app.core.kinds.networks.blocks.sharpened import gap_terms, searched_terms, sharpened_pure, sharpened_terms
from app.core.kinds.networks.blocks.visited import every_pair_is_visited
from app.core.kinds.networks.cost import (
    all_node_terms,
    charged_figures,
    joined_figures,
    largest_figures,
    lowered,
    terms_of_shapes,
)
from app.core.kinds.networks.enumerated import enumerated_figures
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.several_rows import CHARGED_ROWS_MAX, UNIT_ROWS_PLACED_MAX
from app.core.kinds.networks.shapes import DETAILED_SHAPES_MAX, block_shapes, grouped_shapes, node_shapes
from app.core.privacy.cost import Cost

Array = NDArray[np.float64]

WORK_MAX = 9_000_000
"""Pairs of tables times points, of all shapes together, up to which charges are of every pair: about a second."""
ROWS_MAX = 150
SEARCHED_ROWS_MAX = 2_000
SEARCHED_SHAPES_MAX = 4
"""Where pairs are too many, for one row a person: a search over all counts, a second or so for every different block."""


VISITED, SEARCHED, RANGED = (
    "exact: every pair of counts",
    "certified: a search over all counts",
    "certified: bounded range",
)


@dataclass(frozen=True, slots=True)
class SharpenedCost:
    """Without the slack of a sampler. `method`: how its suprema over all counts were found."""

    cost: Cost
    kl_sup: float
    method: str


def sharpened_cost(model: NetworkModel, people: int, unit_rows: int, gain: float) -> SharpenedCost:
    rows = people * unit_rows
    figures = _ranged(model, people, unit_rows, gain)
    method = RANGED
    if _visited(model, people, unit_rows) or _affordable(model, people, unit_rows):
        method = VISITED
        terms = all_node_terms(
            model, rows, unit_rows, 1.0, lambda shape: sharpened_terms(shape, gain), CHARGED_ROWS_MAX
        )
        figures = np.minimum(figures, charged_figures(model, terms)[0])
    elif _searched(model, people, unit_rows):
        method = SEARCHED
        told = grouped_shapes(model, rows, 1, 1.0)
        terms = all_node_terms(
            model, rows, 1, 1.0, lambda shape: searched_terms(shape, gain, bool(told) and (shape.full or shape in told))
        )
        figures = np.minimum(figures, joined_figures(model, terms, rows)[0])
    found = enumerated_figures(model, people, unit_rows, lambda i: node_shapes(model, i, rows, unit_rows, 1.0), gain)
    return _cost(lowered(figures, found), method)


def sharpened_bound(model: NetworkModel, people: int, unit_rows: int, gain: float) -> SharpenedCost:
    """No less than `sharpened_cost`, and quick enough to be asked for again and again."""
    figures = _ranged(model, people, unit_rows, gain)
    if _visited(model, people, unit_rows):
        terms = all_node_terms(model, people * unit_rows, unit_rows, 1.0, lambda shape: sharpened_terms(shape, gain))
        figures = np.minimum(figures, largest_figures(model, terms)[0])
    return _cost(figures, RANGED)


def _ranged(model: NetworkModel, people: int, unit_rows: int, gain: float) -> Array:
    return range_figures(gain * largest_gap(model, people, unit_rows) * (1 + 1e-12))


def _cost(figures: Array, method: str) -> SharpenedCost:
    return SharpenedCost(Cost(float(figures[PURE]), tuple(figures[CURVE].tolist())), float(figures[KL]), method)


def sharpened_pure_cost(model: NetworkModel, people: int, unit_rows: int, gain: float) -> float | None:
    """None where pairs of tables are too many to visit."""
    if not _visited(model, people, unit_rows):
        return None
    terms = all_node_terms(model, people * unit_rows, unit_rows, 1.0, lambda shape: sharpened_pure(shape, gain))
    return float(largest_figures(model, terms)[0][0])


@lru_cache(maxsize=256)
def largest_gap(model: NetworkModel, people: int, unit_rows: int) -> float:
    """Γ: how far apart the changes of two points' scores can be, summed over all that a person touches.

    Where placements of rows are not visited, or shapes are too many, twice the total variation distance.
    """
    shapes = block_shapes(model, people * unit_rows, unit_rows, 1.0)
    apart = 2 * total_variation(model, people, unit_rows)
    if unit_rows > UNIT_ROWS_PLACED_MAX or len(shapes) > DETAILED_SHAPES_MAX // unit_rows:
        return apart
    terms = all_node_terms(model, people * unit_rows, unit_rows, 1.0, gap_terms)
    return min(apart, float(largest_figures(model, terms)[0][0]))


@lru_cache(maxsize=256)
def total_variation(model: NetworkModel, people: int, unit_rows: int) -> float:
    """Δ of law 1: the largest sum of total variation distances of the blocks one row touches, k times that for k rows, each of
    which may be the first of its block."""
    rows = people * unit_rows
    shapes = [_as_in_law_1(shape, unit_rows) for shape in block_shapes(model, rows, 1, 1.0)]
    known = terms_of_shapes(list(dict.fromkeys(shapes)), certified_terms)
    terms = all_node_terms(model, rows, 1, 1.0, lambda shape: known[_as_in_law_1(shape, unit_rows)])
    return float(largest_figures(model, terms)[0][DISTANCE]) * unit_rows


def _as_in_law_1(shape: BlockShape, unit_rows: int) -> BlockShape:
    return shape if unit_rows == 1 else replace(shape, full=False)


def _affordable(model: NetworkModel, people: int, unit_rows: int) -> bool:
    """Whether every pair of tables can be visited once, if not as often as a gain is tried."""
    rows = people * unit_rows
    if unit_rows > UNIT_ROWS_PLACED_MAX or rows > ROWS_MAX:
        return False
    shapes = block_shapes(model, rows, unit_rows, 1.0)
    places = (rows + 1) * (rows + 2) // 2 * len(moves(unit_rows))
    return len(shapes) * places * GRID_POINTS_MIN <= WORK_MAX and (
        sum(block_grid(shape).size * (2 * (rows + 1) if shape.full and unit_rows == 1 else places) for shape in shapes)
        <= WORK_MAX
    )


def _searched(model: NetworkModel, people: int, unit_rows: int) -> bool:
    """Whether counts are few enough for a search over all of them."""
    return (
        unit_rows == 1
        and people <= SEARCHED_ROWS_MAX
        and len(block_shapes(model, people, 1, 1.0)) <= SEARCHED_SHAPES_MAX
    )


def _visited(model: NetworkModel, people: int, unit_rows: int) -> bool:
    shapes = block_shapes(model, people * unit_rows, unit_rows, 1.0)
    few = unit_rows <= UNIT_ROWS_PLACED_MAX and len(shapes) <= DETAILED_SHAPES_MAX // unit_rows
    return few and all(every_pair_is_visited(shape) for shape in shapes)
