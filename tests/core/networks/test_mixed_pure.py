"""The pure cost of blocks as drawn, and how far a point's probability moves: bounds against every pair of counts."""

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_cost import certified_terms, counts_before
from app.core.kinds.networks.blocks.block_grid import BlockShape, block_grid
from app.core.kinds.networks.blocks.block_terms import PURE, moves
from app.core.kinds.networks.blocks.mixed_pure import CLOSE, largest_fall, mixed_pure
from app.core.kinds.networks.blocks.sharpened import gap_terms
from app.core.kinds.networks.blocks.visited import every_pair_is_visited
from tests.core.networks.drawn_oracle import SHARE, mixed, posterior_table
from tests.deep import deep

Array = NDArray[np.float64]

SHAPES = [
    BlockShape(1.0, 1.0, 0.05, 24, 1.0),
    BlockShape(0.2, 3.0, 0.003, 17, 0.8),
    deep(BlockShape(1.0, 1.0, 0.05, 90, 1.0)),
    deep(BlockShape(30.0, 7.0, 0.01, 60, 0.3)),
    deep(BlockShape(0.1, 0.1, 1e-5, 40, 1.0)),
]


def every_pair(shape: BlockShape, d: tuple[int, int], drawn: bool) -> tuple[Array, Array]:
    """Tables before and after d at all counts that allow it, in plain nested loops."""
    theta = block_grid(shape).theta
    known = {}
    for s in range(shape.rows + 1):
        for f in range(shape.rows + 1 - s):
            table = posterior_table(theta, (shape.alpha, shape.beta), (s, f), shape.temperature)
            known[s, f] = mixed(table) if drawn else table
    pairs = [(known[v], known[v[0] + d[0], v[1] + d[1]]) for v in known if (v[0] + d[0], v[1] + d[1]) in known]
    before, after = (np.stack(side).astype(np.float64) for side in zip(*pairs, strict=True))
    return before, after


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("d", [(-1, 0), (0, 1), (1, -1), (-3, 2)], ids=str)
def test_bound_over_rectangles_covers_every_pair_and_is_within_its_tolerance(
    shape: BlockShape, d: tuple[int, int]
) -> None:
    grid = block_grid(shape)
    counts = counts_before(grid, shape, d)
    before, after = every_pair(shape, d, drawn=True)
    exact = float(np.log(before / after).max())
    bound = mixed_pure(grid, counts, grid.change(d), SHARE, 1 / shape.temperature)
    assert exact <= bound * (1 + 1e-12) <= exact * CLOSE * (1 + 1e-9)
    before, after = every_pair(shape, d, drawn=False)
    fall = float((before - after).max())
    bound = largest_fall(grid, counts, grid.change(d), 1 / shape.temperature)
    assert fall <= bound * (1 + 1e-12) <= fall * CLOSE * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [BlockShape(1.0, 1.0, 0.05, 3_000, 1.0), deep(BlockShape(0.3, 2.0, 0.001, 40_000, 0.2))],
    ids=str,
)
def test_no_counts_of_a_large_block_exceed_its_bound_and_some_come_close(shape: BlockShape) -> None:
    """Beyond every enumeration: small counts, and 2,000 of all sizes and balances."""
    rng = np.random.default_rng(5)
    theta = block_grid(shape).theta
    x, y = np.log(theta), np.log1p(-theta)
    sizes = np.exp(rng.uniform(0, np.log(shape.rows - 2), 2_000))
    s = np.concatenate([np.repeat(np.arange(12), 12), np.floor(sizes * rng.beta(0.4, 0.4, 2_000))])
    f = np.concatenate([np.tile(np.arange(12), 12), np.floor(sizes)]) - np.concatenate([np.zeros(144), s[144:]])
    terms = certified_terms(shape)

    def logs(s: Array, f: Array) -> Array:
        log = (shape.alpha - 0.5 + shape.temperature * s)[:, None] * x
        log += (shape.beta - 0.5 + shape.temperature * f)[:, None] * y
        p = np.exp(log - log.max(axis=1, keepdims=True))
        return np.asarray(np.log((1 - SHARE) * p / p.sum(axis=1, keepdims=True) + SHARE / len(theta)))

    for d in moves(1):
        held = (s + d[0] >= 0) & (f + d[1] >= 0)
        found = (logs(s[held], f[held]) - logs(s[held] + d[0], f[held] + d[1])).max()
        charged = terms.of(d)[PURE]
        assert found <= charged * (1 + 1e-12)
        assert charged <= found * 1.05


def test_many_rows_no_longer_make_a_block_dearer_than_its_mixture_allows() -> None:
    """Removing a success costs 1.74 whatever n, where the posterior alone would cost up to ln 19 = 2.94."""
    for rows in (300, 10_000):
        assert certified_terms(BlockShape(1.0, 1.0, 0.05, rows, 1.0)).of((-1, 0))[PURE] == pytest.approx(1.74, abs=0.02)


def test_a_log_concave_table_has_no_point_with_much_mass_far_from_the_mean() -> None:
    """p_k·|Σ_j (b_k − b_j)·p_j| ≤ the largest step of b: what bounds a point's change where counts are many."""
    rng = np.random.default_rng(3)
    for _ in range(400):
        size = int(rng.integers(2, 40))
        slopes = np.sort(rng.normal(0, rng.choice([0.01, 0.3, 3]), size - 1))[::-1]
        log = np.concatenate([[0], np.cumsum(slopes)])
        p = np.exp(log - log.max())
        p /= p.sum()
        steps = rng.exponential(1, size - 1)
        b = np.concatenate([[0], np.cumsum(steps)])
        assert (p * np.abs(b - p @ b)).max() <= steps.max()


@pytest.mark.parametrize("unit_rows", [1, 2])
def test_gap_of_a_block_too_large_to_visit_covers_counts_tried_one_by_one(unit_rows: int) -> None:
    shape = BlockShape(1.0, 1.0, 0.05, 120 * unit_rows, 1.0, False, unit_rows)
    assert not every_pair_is_visited(shape)
    theta = block_grid(shape).theta
    for d in moves(unit_rows):
        best = 0.0
        for s, f in [(a, b) for a in (0, 1, 2, 3, 9, 40, 100) for b in (0, 1, 2, 5, 17, 90) if a + b <= 110]:
            if min(s + d[0], f + d[1]) >= 0:
                after = (s + d[0], f + d[1])
                p, q = (posterior_table(theta, (1.0, 1.0), v, 1.0) for v in ((s, f), after))
                best = max(best, float(np.ptp(p - q)))
        assert 0 < best <= gap_terms(shape).of(d)[0]
