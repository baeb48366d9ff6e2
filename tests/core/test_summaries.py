"""Tables and curves against numpy, scipy and brute force over all intervals."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from app.core.decisions.empirical import Empirical
from app.core.parameters import Parameter
from app.core.summaries import histogram, joint_histogram, kernel_density, summarise, tightest_interval
from app.core.summaries.kernel_density import bandwidth_of
from app.core.summaries.summary import decimal_of

UNIT = Parameter("theta", 0.0, 1.0)
COARSE = st.lists(st.integers(0, 12), min_size=1, max_size=14)
LEVELS = st.sampled_from(["0.1", "0.5", "0.8", "0.9", "0.999"]).map(Fraction)


def drawn(size: int, seed: int = 3) -> NDArray[np.float64]:
    return np.clip(np.random.default_rng(seed).beta(3, 8, size), 0, 1)


@given(COARSE, LEVELS)
def test_the_tightest_interval_is_the_narrowest_of_all_that_hold_the_share_and_the_lowest_of_those(
    numbers: list[int], level: Fraction
):
    """Against every pair of ends: on twelve values ties are common."""
    ordered = np.sort(np.array(numbers, dtype=float))
    held = {
        (low, high)
        for low, high in combinations_with_replacement(ordered, 2)
        if Fraction(int(((ordered >= low) & (ordered <= high)).sum()), len(ordered)) >= level
    }
    best = min(held, key=lambda ends: (ends[1] - ends[0], ends[0]))
    assert tightest_interval(ordered, level) == best


@pytest.mark.parametrize("size", [2, 3, 10, 101, 5000])
def test_a_row_is_what_numpy_computes(size: int):
    values = drawn(size)
    row = summarise(UNIT, values, Fraction("0.9"))
    assert row.mean == pytest.approx(values.mean(), rel=1e-14)
    assert row.sd == pytest.approx(values.std(ddof=1), rel=1e-12)
    assert row.mcse_mean == pytest.approx(values.std(ddof=1) / math.sqrt(size), rel=1e-12)
    assert row.median == np.quantile(values, 0.5, method="inverted_cdf")
    assert list(row.quantiles) == ["0.05", "0.25", "0.5", "0.75", "0.95"]
    for tau, value in row.quantiles.items():
        assert value == np.quantile(values, float(tau), method="inverted_cdf")


def test_mean_and_quantiles_are_to_the_bit_what_questions_are_answered():
    values = drawn(997)
    row, law = summarise(UNIT, values, Fraction("0.8")), Empirical(values, 0.0, 1.0)
    assert row.mean == law.mean
    assert {tau: law.quantile(Fraction(tau))[0] for tau in row.quantiles} == row.quantiles


def test_one_sample_says_nothing_about_spread():
    row = summarise(UNIT, np.array([0.25]), Fraction("0.9"))
    assert (row.mean, row.median, row.hdi) == (0.25, 0.25, (0.25, 0.25))
    assert row.sd is None
    assert row.mcse_mean is None


def test_samples_that_are_all_equal_have_no_spread_and_huge_ones_do_not_overflow():
    constant = summarise(UNIT, np.full(77, 0.1), Fraction("0.9"))
    assert (constant.mean, constant.sd, constant.hdi) == (0.1, 0.0, (0.1, 0.1))
    wide = summarise(Parameter("x", -1e300, 1e300), np.array([-1e300, 1e300]), Fraction("0.9"))
    assert wide.sd == pytest.approx(math.sqrt(2) * 1e300)


@given(st.integers(1, 10**17 - 1))
def test_a_share_is_named_by_the_decimal_it_was_written_with(digits: int):
    tau = Fraction(digits, 10**17)
    assert Fraction(decimal_of(tau)) == tau
    assert not decimal_of(tau).endswith("0")


@pytest.mark.parametrize("cells", [1, 2, 7, 50, 1000])
def test_counts_are_those_of_numpy_over_the_public_range(cells: int):
    parameter, values = Parameter("x", -2.0, 5.0), np.concatenate([drawn(4000) * 7 - 2, [-2.0, 5.0, 5.0]])
    found = histogram(parameter, values, cells)
    counts, edges = np.histogram(values, cells, (-2.0, 5.0))
    density, _ = np.histogram(values, cells, (-2.0, 5.0), density=True)
    assert found.counts.sum() == len(values)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_array_equal(found.edges, edges)
    np.testing.assert_allclose(found.density, density, rtol=1e-12)


def test_joint_counts_are_those_of_numpy_and_add_up_to_each_parameter_alone():
    first, second = Parameter("a", 0.0, 1.0), Parameter("b", -1.0, 3.0)
    values = drawn(5000), drawn(5000, seed=4) * 4 - 1
    found = joint_histogram(first, second, values, 20)
    counts, *edges = np.histogram2d(*values, bins=20, range=[(0.0, 1.0), (-1.0, 3.0)])
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_array_equal(found.edges, edges)
    np.testing.assert_array_equal(found.counts.sum(axis=1), histogram(first, values[0], 20).counts)
    assert float(found.density.sum()) * (1 / 20) * (4 / 20) == pytest.approx(1)


@pytest.mark.cases(5)
@pytest.mark.parametrize("size", [1, 2, 40, 3000])
@pytest.mark.parametrize("points", [5, 64, 300])
def test_the_curve_is_the_sum_of_kernels_reflected_at_both_bounds(size: int, points: int):
    """Each cell's share of every kernel and of its images, in closed form. Counting first moves a sample by at most 1/128 of
    a bandwidth, which changes the curve by less than 1/128·0.25/0.4 of its height."""
    parameter = Parameter("x", -1.0, 3.0)
    values = np.clip(drawn(size) * 4 - 1.2, -1.0, 3.0)
    found = kernel_density(parameter, values, points)
    edges = np.linspace(-1.0, 3.0, points + 1)
    share = np.zeros(points)
    for turn in range(-6, 7):
        for image in (values + 8 * turn, -2 - values + 8 * turn):
            share += np.diff(norm.cdf((edges[:, None] - image) / found.bandwidth).sum(axis=1))
    np.testing.assert_allclose(found.y, share / size / (4.0 / points), atol=5e-3 * found.y.max())
    np.testing.assert_allclose(found.x, (edges[1:] + edges[:-1]) / 2, atol=1e-12)
    assert float(found.y.sum()) * 4.0 / points == pytest.approx(1, rel=1e-12)
    assert (found.y >= 0).all()


def test_the_curve_of_a_grid_shows_the_posterior_and_not_the_grid():
    """Half a million draws of 61 points: the rule of thumb alone would draw 61 needles."""
    grid = np.linspace(0.2, 0.8, 61)
    weights = np.exp(-0.5 * ((grid - 0.5) / 0.06) ** 2)
    values = np.random.default_rng(5).choice(grid, 500_000, p=weights / weights.sum())
    found = kernel_density(UNIT, values, 1000)
    spacing = 0.01
    assert found.bandwidth == pytest.approx(spacing)
    smooth = norm.pdf(found.x, 0.5, math.hypot(0.06, spacing))
    np.testing.assert_allclose(found.y, smooth, atol=0.02 * smooth.max())


def test_the_bandwidth_of_a_continuous_sample_is_silvermans():
    values = np.random.default_rng(6).normal(0.5, 0.05, 4000)
    low, high = np.quantile(values, [0.25, 0.75])
    assert bandwidth_of(values) == pytest.approx(0.9 * min(values.std(), (high - low) / 1.34) * 4000**-0.2, rel=2e-3)
    assert bandwidth_of(np.full(50, 0.3)) == 0.0
