"""Every pair as products of matrices: which datasets are neighbours, and divergences of laws that nobody made of a posterior."""

import numpy as np
import pytest

from app.core.grids.bernoulli import bernoulli
from app.core.privacy import ORDERS
from app.core.privacy.drawn_cost import drawn_cost
from app.core.privacy.enumeration import enumerate_laws
from app.core.privacy.every_pair import TOLERANCE, EveryPair
from app.core.privacy.mixed_pairs import log_drawn
from app.core.privacy.neighbours import Neighbours, blocks_of
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.core.privacy.visited import drawn_tables, every_pair
from tests.contracts.charge_cases import Setting
from tests.core.families.drawn_tables import owed, owed_by_tables
from tests.core.families.neighbouring_pairs import reachable_pairs

SIZES = [(1, 1, 1), (1, 1, 3), (2, 1, 2), (1, 6, 1), (3, 9, 1), (1, 4, 3), (2, 3, 2), (1, 30, 2), (5, 4, 2), (2, 5, 4)]
"""Steps of a record, people, rows a person."""
POWERS = np.array(ORDERS) - 1


def places(neighbours: Neighbours) -> dict[tuple[int, int], int]:
    every = [(t, m) for m in neighbours.rows for t in range(neighbours.steps * m + 1)]
    return {statistic: place for place, statistic in enumerate(every)}


def pairs_of(neighbours: Neighbours) -> list[tuple[int, int]]:
    place = places(neighbours)
    pairs = reachable_pairs(neighbours.steps, neighbours.people, neighbours.unit_rows)
    return [(place[first], place[second]) for first, second in pairs]


@pytest.mark.parametrize("size", SIZES)
def test_blocks_hold_every_neighbouring_pair_and_no_other(size: tuple[int, int, int]) -> None:
    neighbours = Neighbours(*size)
    assert neighbours.count == len(places(neighbours))
    found = set()
    for block in blocks_of(neighbours):
        here, there = np.nonzero(block.mask)
        first = neighbours.first(block.rows) + block.here.start + here
        second = neighbours.first(block.other) + block.there.start + there
        found |= set(zip(first.tolist(), second.tolist(), strict=True))
    assert {pair for pair in found if pair[0] != pair[1]} == set(pairs_of(neighbours))


@pytest.mark.parametrize("size", [(1, 30, 1), (2, 3, 2), (1, 4, 3)])
@pytest.mark.parametrize("spread", [0.01, 0.3, 6.0])
def test_laws_of_no_shape_cost_what_their_pairs_owe(size: tuple[int, int, int], spread: float) -> None:
    """At every order, by tables, by a few datasets and by pairs: the widest spread overflows all but the last."""
    neighbours = Neighbours(*size)
    source = np.random.Generator(np.random.PCG64(7))
    log_q = spread * source.standard_normal((neighbours.count, 40))
    log_q -= np.log(np.exp(log_q).sum(axis=1, keepdims=True))
    exact = owed_by_tables(log_q, pairs_of(neighbours))
    pairs = EveryPair(neighbours, log_q, unimodal=False)
    assert pairs.pure == pytest.approx(exact.pure, rel=1e-12)
    powers = pairs.powers()
    known = np.isfinite(powers)
    ratio = powers[known] / (POWERS * exact.curve)[known]
    assert ratio.min() >= 1 - 1e-12
    assert ratio.max() <= 1 + TOLERANCE + 1e-6
    closely = EveryPair(neighbours, log_q, unimodal=False, tolerance=0.0).powers() / (POWERS * exact.curve)
    assert 1 - 1e-12 <= closely.min() <= closely.max() <= 1 + 1e-6
    assert known.all() or exact.curve[known][-1] >= 0.99 * exact.pure
    gaps = [float((np.exp(log_q[i]) * (log_q[i] - log_q[j])).sum()) for i, j in pairs_of(neighbours)]
    assert 1 <= pairs.kl() / max(gaps) <= 1 + 1e-6


@pytest.mark.parametrize(
    ("people", "unit_rows", "temperature"), [(3, 1, 1.0), (400, 1, 0.1), (1_500, 1, 1.0), (9, 2, 1.0)]
)
def test_a_visited_draw_is_never_charged_more_than_its_certified_bounds(
    people: int, unit_rows: int, temperature: float
) -> None:
    """They were charged before: `postern ledger recost` would call an old charge too low, and recost lines would not verify."""
    model = bernoulli("cured")
    found = drawn_cost(model, people, unit_rows, temperature)
    before = posterior_draw_cost(model, people, unit_rows, temperature).drawn
    assert found.method == "exact: every neighbouring pair"
    assert found.cost.pure <= before.pure
    assert all(now <= then for now, then in zip(found.cost.curve, before.curve, strict=True))


@pytest.mark.slow
def test_points_that_no_dataset_visits_may_stand_as_one() -> None:
    """An exponential rate trimmed 80-fold: most of the grid has hardly a posterior."""
    setting = Setting("exponential", prior=2, trim=2, people=5, unit_rows=2, steps=2, temperature=0.5)
    model, neighbours = setting.model(), Neighbours(2, 5, 2)
    grid = model.grid(10, 0.5)
    whole = EveryPair(neighbours, drawn_tables(grid, neighbours))
    merged = every_pair(grid, neighbours)
    assert merged is not None
    assert merged.pure == pytest.approx(whole.pure, rel=1e-9)
    first, second = merged.powers(), whole.powers()
    both = np.isfinite(first) & np.isfinite(second)
    assert first[both] == pytest.approx(second[both], rel=2 * TOLERANCE)
    exact = owed(model, 5, 2, 0.5, reachable_pairs(2, 5, 2))
    assert (first[both] >= (POWERS * exact.curve)[both] * (1 - 1e-9)).all()


def test_a_scored_law_of_several_rows_costs_what_all_its_pairs_owe() -> None:
    setting, gain = Setting("geometric", prior=0, trim=2, people=4, unit_rows=2, steps=2, temperature=1.0), 15.0
    grid = setting.model().grid(8, 1.0)

    def law(log_p: np.ndarray) -> np.ndarray:
        weights = gain * np.exp(log_drawn(log_p, grid.size))
        return log_drawn(weights - np.logaddexp.reduce(weights, axis=1)[:, None], grid.size)

    def scored(log_q: np.ndarray, size: int) -> np.ndarray:
        weights = gain * np.exp(log_q)
        many = np.append(np.zeros(log_q.shape[1] - 1), np.log(size - log_q.shape[1] + 1))
        return log_drawn(weights - np.logaddexp.reduce(weights + many, axis=1)[:, None], size)

    pure, curve = enumerate_laws(grid, (0, 2), 4, 2, np.array(ORDERS), law)
    pairs = every_pair(grid, Neighbours(2, 4, 2), scored)
    assert pairs is not None
    assert pairs.pure == pytest.approx(pure, rel=1e-9)
    powers = pairs.powers()
    known = np.isfinite(powers)
    ratio = powers[known] / (POWERS * curve)[known]
    assert ratio.min() >= 1 - 1e-9
    assert ratio.max() <= 1 + 2 * TOLERANCE
