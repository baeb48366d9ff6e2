"""Growth of a divergence inside a rectangle of counts, and a search by it, beside every pair of counts there."""

import numpy as np
import pytest

from app.core.kinds.networks.blocks.block_grid import UNIFORM_SHARE, BlockShape, Divergences, block_grid, tables
from app.core.kinds.networks.blocks.block_suprema import all_counts, allowed
from app.core.kinds.networks.blocks.block_terms import PURE, moves
from app.core.kinds.networks.blocks.convex_orders import convex_figures
from app.core.kinds.networks.blocks.drawn_cost import _starts, counts_before
from app.core.kinds.networks.blocks.mixed_curve import _ALL, _Search
from app.core.kinds.networks.blocks.mixed_pure import mixed_pure
from app.core.kinds.networks.blocks.path_growth import PathGrowth
from app.core.kinds.networks.blocks.visited import drawn_figures
from tests.deep import deep

DIRECTIONS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, 1), (1, -1), (2, -1), (1, 1))


@pytest.mark.parametrize("rounds", [12, deep(600)])
def test_no_count_inside_exceeds_the_corners_by_more_than_growth(rounds: int) -> None:
    rng, nearest = np.random.default_rng(4), 0.0
    for _ in range(rounds):
        prior = 10 ** rng.uniform(-0.5, 2, 2)
        trim, power = float(10 ** rng.uniform(-2.5, -0.6)), float(rng.choice([1.0, 0.3]))
        shape = BlockShape(*(float(each) for each in prior), trim, 60, power)
        grid, d = block_grid(shape), DIRECTIONS[rng.integers(len(DIRECTIONS))]
        (u0, w0), sides = rng.integers(0, 40, 2), rng.integers(0, 6, 2)
        corners = np.array([(u0 + i * sides[0], w0 + j * sides[1]) for i in (0, 1) for j in (0, 1)], dtype=np.float64)
        growth, told = PathGrowth(grid, counts_before(grid, shape, d), grid.change(d)), Divergences(grid.change(d))
        p = tables(grid, corners[:, 0], corners[:, 1])
        factors = growth.factors(corners, growth.along(p), np.arange(4)[None], np.zeros(1))[0]
        most = told.at(p).max(axis=0) * factors
        inside = np.stack(np.meshgrid(u0 + np.arange(sides[0] + 1), w0 + np.arange(sides[1] + 1)), axis=-1).reshape(
            -1, 2
        )
        found = told.at(tables(grid, *inside.T.astype(np.float64))).max(axis=0)
        assert (found <= most * (1 + 1e-9)).all()
        assert np.isinf(factors[growth.told :]).all()
        nearest = max(nearest, float((found / most)[:6].min() if sides.any() else 0.0))
    assert nearest > 0.5


@pytest.mark.parametrize(
    ("alpha", "beta", "trim", "rows"), [(29.0, 3.3, 0.02, 40), deep(29.0, 3.3, 0.003, 120), deep(0.6, 50.0, 0.05, 120)]
)
def test_a_search_by_growth_is_never_below_any_pair_of_tables_as_drawn(
    alpha: float, beta: float, trim: float, rows: int
) -> None:
    shape = BlockShape(alpha, beta, trim, rows, 1.0)
    grid, pairs = block_grid(shape), all_counts(rows)
    for d, boxes, tops in _starts(grid, shape, moves(1), None):
        search = _Search(
            grid, counts_before(grid, shape, d), grid.change(d), UNIFORM_SHARE / grid.size / (1 - UNIFORM_SHARE), _ALL
        )
        pure = mixed_pure(grid, counts_before(grid, shape, d), grid.change(d), UNIFORM_SHARE, 1.0)
        first = convex_figures(np.minimum(np.column_stack([tops, np.full(len(boxes), pure)]), pure))
        most, _ = search.suprema(boxes, first, 1.0, 0, grown=True)
        before = pairs[allowed(pairs[:, 0], pairs[:, 1], d, rows)]
        drawn = [
            (1 - UNIFORM_SHARE) * tables(grid, *(before + step).T) + UNIFORM_SHARE / grid.size
            for step in (0, np.array(d))
        ]
        exact = drawn_figures(*drawn)[:, : PURE + 1].max(axis=0)
        assert (most[0] >= exact * (1 - 1e-9)).all()
        assert (most[0] <= 1.2 * exact).all(), (most[0] / exact).max()
