"""Draws follow the integer table; how closely the table follows the continuous posterior is tested beside this."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from app.core.grids.integer_table import integer_table, integer_weights
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.kinds.one_parameter.mechanisms import Baps
from app.core.statistics.sums import ExactStatistic
from tests.core.families.family_cases import build
from tests.deep import deep

FALSE_ALARM = 1e-6

many = pytest.mark.parametrize("draws", [100_000, deep(1_000_000)])


@pytest.mark.cases(6)
@many
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_draws_fit_the_exact_table(family: str, draws: int) -> None:
    """Pearson's chi-square on cells of at least twenty expected draws; false-alarm rate 10⁻⁶ a family, fixed seed."""
    people, place = 40, 0.2
    model = build(family, typical=True)
    constants = model.constants(model.grid(people, 1.0))
    statistic = ExactStatistic(round(place * people * model.statistic.steps), people)
    weights = integer_weights(constants, statistic)
    drawn = integer_table(constants, statistic).draw(draws, np.random.Generator(np.random.PCG64(7)).bytes)
    counts = np.bincount(drawn, minlength=len(weights))
    expected = shares(weights) * draws
    counts, expected = merged(counts, expected)
    assert len(expected) >= 10
    statistic_value = ((counts - expected) ** 2 / expected).sum()
    assert statistic_value < chi2.isf(FALSE_ALARM, len(expected) - 1)


@many
def test_the_same_chi_square_tells_the_table_of_a_neighbouring_dataset_apart(draws: int) -> None:
    """The power of the test above: the table of a neighbouring dataset is told apart by as many draws."""
    model = build("bernoulli", typical=True)
    constants = model.constants(model.grid(300, 1.0))
    drawn = integer_table(constants, ExactStatistic(100, 300)).draw(
        draws, np.random.Generator(np.random.PCG64(7)).bytes
    )
    weights = integer_weights(constants, ExactStatistic(101, 300))
    expected = shares(weights) * draws
    counts, expected = merged(np.bincount(drawn, minlength=len(weights)), expected)
    assert ((counts - expected) ** 2 / expected).sum() > chi2.isf(FALSE_ALARM, len(expected) - 1)


def shares(weights: list[int]) -> NDArray[np.float64]:
    total = sum(weights)
    return np.array([weight / total for weight in weights])


def merged(counts: NDArray[np.int64], expected: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Runs of neighbouring points of at least twenty expected draws each."""
    ends, held = [], 0.0
    for k, value in enumerate(expected):
        held += value
        if held >= 20:
            ends.append(k + 1)
            held = 0.0
    starts = [0, *ends[:-1]]  # what is left at the end joins the last run
    sums = [np.add.reduceat(values, starts) for values in (counts, expected)]
    return sums[0], sums[1]


def test_draws_of_a_release_are_those_of_its_table_in_order() -> None:
    model = build("poisson", typical=True)
    statistic = ExactStatistic(500, 60)
    released = Baps(50).draw(model, 60, 1, statistic, np.random.Generator(np.random.PCG64(3)).bytes)
    grid = model.grid(60, 1.0)
    table = integer_table(model.constants(grid), statistic)
    assert released.shape == (50, 1)
    assert (released[:, 0] == grid.theta[table.draw(50, np.random.Generator(np.random.PCG64(3)).bytes)]).all()
