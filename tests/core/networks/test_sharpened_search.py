"""Figures of blocks drawn by the probability score where pairs of tables are too many to visit: never below any of them.

The oracle's tables are its own (`star_oracle.py`); every pair of counts that a move can join is worked out.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import BlockShape, block_grid
from app.core.kinds.networks.blocks.block_terms import DIRECTIONS, PURE, SWAP
from app.core.kinds.networks.blocks.drawn_cost import total_groups
from app.core.kinds.networks.blocks.sharpened import gap_terms, searched_terms
from app.core.kinds.networks.mechanisms import NetworkMap
from app.core.kinds.networks.shapes import node_shapes
from app.core.kinds.networks.sharpened_cost import sharpened_bound
from app.core.privacy import ORDERS
from tests.core.networks.star_oracle import Star, between, drawn_by, star_suprema
from tests.core.networks.test_record_costs import model_of
from tests.deep import deep

Array = NDArray[np.float64]

FEW_ORDERS = (1.25, 2.0, 5.0, 12.0, 40.0, 128.0, 512.0, 8192.0)
PLACES = [0, *(1 + ORDERS.index(order) for order in FEW_ORDERS), PURE]


def every_pair(shape: BlockShape, gain: float, d: tuple[int, int]) -> tuple[Array, Array, Array]:
    """(s, f, figures) before the move d."""
    drawn = drawn_by(block_grid(shape).theta, (shape.alpha, shape.beta), 1.0, gain)
    totals = range(shape.rows, shape.rows + 1) if shape.full else range(shape.rows + 1)
    pairs = [(s, t - s) for t in totals for s in range(t + 1)]
    kept = [(s, f) for s, f in pairs if s + d[0] >= 0 and f + d[1] >= 0 and s + f + sum(d) <= shape.rows]
    s, f = np.array(kept, dtype=np.float64).T
    return s, f, between(drawn(s, f), drawn(s + d[0], f + d[1]), FEW_ORDERS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "gain"),
    [
        (BlockShape(1.0, 1.0, 0.05, 40, 1.0), 6.0),
        (BlockShape(0.3, 2.0, 0.01, 25, 1.0), 30.0),
        deep(BlockShape(12.0, 4.0, 0.02, 30, 1.0), 3.0),
        (BlockShape(1.0, 1.0, 0.05, 60, 1.0, full=True), 8.0),
        deep(BlockShape(1.0, 1.0, 0.05, 130, 1.0), 5.0),
        deep(BlockShape(0.5, 0.5, 0.001, 60, 1.0), 40.0),
        deep(BlockShape(50.0, 50.0, 0.001, 40, 1.0), 10.0),
        deep(BlockShape(29.0, 3.3, 0.003, 60, 1.0), 0.5),
        deep(BlockShape(2.0, 7.0, 0.3, 90, 1.0), 100.0),
        deep(BlockShape(1.0, 3.0, 0.01, 200, 1.0, full=True), 60.0),
    ],
    ids=str,
)
def test_no_pair_of_counts_exceeds_what_a_search_finds_for_all_of_them_or_for_their_group(
    shape: BlockShape, gain: float
) -> None:
    terms = searched_terms(shape, gain, grouped=True)
    told = terms.by_successes if shape.full else terms.by_group
    ends = total_groups(shape.rows)
    gaps = gap_terms(shape)
    assert told is not None
    for i, d in enumerate(DIRECTIONS):
        if shape.full and d not in SWAP:
            continue
        s, f, exact = every_pair(shape, gain, d)
        found = terms.rows[i][PLACES]
        assert (found >= exact.max(axis=0)).all()
        assert found[-1] <= gain * gaps.of(d)[0] * (1 + 1e-7)
        place = s.astype(np.int64) if shape.full else np.searchsorted(ends, s + f)
        assert (told[place, i][:, PLACES] >= exact).all()
        print(f"{shape} {d}: {np.round(found / exact.max(axis=0), 3)}")  # noqa: T201


@pytest.mark.parametrize(
    ("children", "people", "strength", "trim", "epsilon", "pure_most", "curve_most"),
    [
        deep(1, 150, 1.0, 0.05, 1.0, 1.15, 1.5),
        deep(3, 150, 1.0, 0.05, 1.0, 1.15, 1.5),
        deep(2, 130, 0.3, 0.02, 0.5, 1.15, 1.5),
        deep(1, 150, 1.0, 0.05, 6.0, 1.2, 3.4),
        deep(2, 100, 5.0, 0.01, 3.0, 1.2, 2.0),
        deep(1, 60, 50.0, 0.001, 1.0, 1.5, 6.0),
    ],
)
def test_networks_beyond_what_is_visited_are_charged_no_less_than_they_owe_and_far_less_than_their_range(
    children: int, people: int, strength: float, trim: float, epsilon: float, pure_most: float, curve_most: float
) -> None:
    model = model_of((2,) * (1 + children), ((), *(((0,),) * children)), strength, "tree", trim)
    mechanism = NetworkMap(epsilon, "probability")
    gain, cost = mechanism.gain(model, people, 1), mechanism.cost(model, people, 1)
    root, child = (
        drawn_by(block_grid(node_shapes(model, i, people, 1, 1.0)[0]).theta, (strength, strength), 1.0, gain)
        for i in (0, 1)
    )
    exact = star_suprema(Star(root, child, children, people, 1), FEW_ORDERS)
    ratios = np.array([cost.kl_sup, *cost.once.curve, cost.once.pure])[PLACES] / exact
    print(f"pure {ratios[-1]:.3f}, curve {ratios[1:-1].max():.3f}, least {ratios.min():.8f}")  # noqa: T201
    assert ratios.min() >= 1 - 1e-12
    assert ratios[-1] <= pure_most
    assert ratios[1:-1].max() <= curve_most


@pytest.mark.slow
def test_one_arrow_of_three_hundred_people_is_charged_less_than_half_of_its_range() -> None:
    model = model_of((2, 2), ((), (0,)), 1.0, "tree", 0.05)
    mechanism = NetworkMap(1.0, "probability")
    cost = mechanism.cost(model, 300, 1).once
    ranged = sharpened_bound(model, 300, 1, mechanism.gain(model, 300, 1)).cost
    assert cost.pure < ranged.pure / 2
    assert cost.curve[ORDERS.index(4)] < ranged.curve[ORDERS.index(4)] / 10
