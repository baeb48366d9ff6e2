"""A person in two datasets at once: what both releases together reveal, by brute force, against what the population is charged.

The joint law of both releases is written out point by point, for every way to replace one person in both datasets (or in the one
they are in), and in the adaptive case for every way the first release may decide about the second.
"""

import itertools

import numpy as np
import pytest

from app.core.grids.bernoulli import bernoulli
from app.core.grids.natural_model import NaturalModel
from app.core.privacy import ORDERS
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.ledger.account import charge, open_account
from app.ledger.amounts import NANO, amounts_of
from tests.core.brute_force import (
    Array,
    Prior,
    log_posteriors,
    neighbours_by_place,
    public_points,
    renyi_divergences,
)
from tests.deep import deep

pytestmark = pytest.mark.slow

ADMISSIVE = {"epsilon": 1e5, "delta": 1e-6}
SOME = ORDERS[::5]
SLACK = 4 * 2.0**-44 * (2 * np.array(SOME) - 1) / (np.array(SOME) - 1) + 4 / NANO


class Release:
    """One release of a dataset: the exact law of its output for every dataset there is, and which of them are neighbours."""

    def __init__(self, prior: tuple[float, float], trim: float, people: int, unit_rows: int) -> None:
        self.model: NaturalModel = bernoulli("x", *prior, trim)
        self.people, self.unit_rows = people, unit_rows
        statistics, first, second = neighbours_by_place(people, unit_rows)
        self.pairs = [*zip(first.tolist(), second.tolist(), strict=True)]
        points = public_points(self.model, people, unit_rows, 1.0)
        self.laws: Array = log_posteriors(points, Prior(*prior), 1.0, statistics).astype(np.float64)
        self.cost = posterior_draw_cost(self.model, people, unit_rows, 1.0).cost


def charged(*releases: Release) -> Array:
    account = open_account(None, population="pop_a", **ADMISSIVE)
    for release in releases:
        account = charge(account, amounts_of(release.cost))
    return np.array(account.spent.curve_nano[::5]) / NANO


def supremum(first: Release, second: Release, *, only_after: Array | None = None) -> Array:
    """Over all joint neighbours, at every order. `only_after`: points of the first release after which there is a second."""
    stays = [(place, place) for place in range(len(second.laws))]
    worst = np.zeros(len(SOME))
    for (a, b), (c, d) in itertools.product(first.pairs, [*second.pairs, *stays]):
        log_p = _joint(first.laws[a], second.laws[c], only_after)
        log_q = _joint(first.laws[b], second.laws[d], only_after)
        found = [renyi_divergences(log_p[None], log_q[None], order)[0] for order in SOME]
        worst = np.maximum(worst, found)
    return worst


def _joint(first: Array, second: Array, only_after: Array | None) -> Array:
    if only_after is None:
        return np.add.outer(first, second).ravel()
    return np.concatenate([np.add.outer(first[only_after], second).ravel(), first[~only_after]])


@pytest.mark.parametrize(
    ("prior", "trim", "sizes"),
    [
        ((1.0, 1.0), 0.25, ((2, 1), (1, 2))),
        deep((0.5, 0.5), 0.05, ((3, 1), (2, 1))),
        deep((5.0, 2.0), 0.05, ((1, 2), (2, 1))),
    ],
)
def test_replacing_a_person_in_both_datasets_costs_no_more_than_their_population_is_charged(
    prior: tuple[float, float], trim: float, sizes: tuple[tuple[int, int], tuple[int, int]]
) -> None:
    first, second = (Release(prior, trim, *size) for size in sizes)
    together, exact = charged(first, second), supremum(first, second)
    assert (together >= exact).all()
    assert (together <= 1.02 * exact + SLACK).all()
    assert (exact > 1.2 * np.array(first.cost.curve[::5])).all(), "one dataset's own account is no bound for both"


def test_a_second_dataset_asked_because_of_the_first_release_is_covered_too() -> None:
    first, second = Release((1.0, 1.0), 0.25, 1, 1), Release((1.0, 1.0), 0.25, 1, 1)
    points = np.arange(first.laws.shape[1])
    for only_after in (points < len(points) / 2, points % 2 == 0):
        assert (charged(first, second) >= supremum(first, second, only_after=only_after)).all()
