"""What a check of fit costs: never below the exact divergence of any two neighbouring histograms."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.kinds.fit_check import FitCheck, with_check
from app.core.kinds.one_parameter.mechanisms import Gaussian, Laplace
from app.core.privacy import ORDERS
from app.core.privacy.gaussian import SCALE_MIN
from app.core.statistics.histograms import ExactHistogram
from app.errors import InvalidCheck
from tests.core.families.family_cases import build
from tests.deep import deep

Array = NDArray[np.float64]

BINS = 3
TRIED = [i for i, order in enumerate(ORDERS) if order <= 64][::3]


def changes(unit_rows: int) -> set[tuple[int, ...]]:
    """Counts after minus before, over every two sets of one to `unit_rows` rows of one person."""
    had = [
        tuple(rows.count(place) for place in range(BINS))
        for count in range(1, unit_rows + 1)
        for rows in combinations_with_replacement(range(BINS), count)
    ]
    return {tuple(b - a for a, b in zip(old, new, strict=True)) for old in had for new in had}


def law(check: FitCheck, unit_rows: int) -> tuple[Array, int]:
    """log-probabilities of the noise on whole numbers, and the place of zero."""
    scale = check.scale(unit_rows)
    wide = 60 if check.delta is None else 12
    reach = int(wide * scale) + 64 * check.factor(unit_rows) * unit_rows
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    log_law = -np.abs(z) / scale if check.delta is None else -(z**2) / (2 * scale**2)
    return log_law - np.logaddexp.reduce(log_law), reach


def divergence(order: float, shift: int, log_law: Array) -> float:
    if shift == 0:
        return 0.0
    at, moved = (log_law[shift:], log_law[:-shift]) if shift > 0 else (log_law[:shift], log_law[-shift:])
    return float(np.logaddexp.reduce(order * at + (1 - order) * moved)) / (order - 1)


@pytest.mark.parametrize(
    ("epsilon", "delta", "unit_rows"),
    [
        (0.1, None, 1),
        (1.7, None, 1),
        (0.8, None, 2),
        (1.0, 1e-6, 1),
        deep(2.5, None, 3),
        deep(0.3, None, 3),
        deep(6.0, 1e-4, 2),
        deep(0.4, 1e-5, 1),
    ],
)
def test_no_neighbour_costs_more_than_is_charged_and_one_costs_about_as_much(
    epsilon: float, delta: float | None, unit_rows: int
) -> None:
    check = FitCheck(epsilon, delta)
    charged, factor, (log_law, _) = check.cost(unit_rows), check.factor(unit_rows), law(check, unit_rows)
    moves = changes(unit_rows)
    for index in TRIED:
        each = {shift: divergence(ORDERS[index], factor * shift, log_law) for shift in range(-unit_rows, unit_rows + 1)}
        exact = max(sum(each[shift] for shift in move) for move in moves)
        assert exact <= charged.curve[index] * (1 + 1e-9)
        assert exact >= charged.curve[index] * 0.9
    if delta is None:
        assert max(sum(map(abs, move)) for move in moves) / check.scale(unit_rows) <= charged.pure <= epsilon
    else:
        assert charged.epsilon(delta) <= epsilon
        assert check.scale(unit_rows) >= SCALE_MIN


def test_costs_of_release_and_check_add_on_the_curve_and_on_the_pure_sum() -> None:
    model, check = build("poisson"), FitCheck(0.1)
    plain = Laplace(10, 0.5).cost(model, 100, 2)
    both = with_check(plain, check, 2)
    assert both.once.pure == pytest.approx(plain.once.pure + check.cost(2).pure)
    assert both.once.curve == tuple(a + b for a, b in zip(plain.once.curve, check.cost(2).curve, strict=True))
    assert both.per_sample == plain.per_sample
    assert with_check(plain, None, 2) is plain


def test_gaussian_noise_beside_gaussian_noise_stays_gaussian_and_laplace_noise_does_not() -> None:
    plain = Gaussian(10, 0.5, 1e-6).cost(build("poisson"), 100, 1)
    assert with_check(plain, FitCheck(0.2, 1e-6), 1).gaussian
    assert not with_check(plain, FitCheck(0.2), 1).gaussian


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_noise_has_the_sd_that_is_said(delta: float | None) -> None:
    """Within 5 %: of 20,000 counts, a false alarm less than once in 10⁶."""
    check, exact = FitCheck(0.5, delta), ExactHistogram(np.full(20_000, 7, dtype=np.int64))
    noisy = check.counts(1, check.measure(100, 1, exact))
    assert np.std(noisy - 7) == pytest.approx(check.sd(1), rel=0.05)
    simulated = check.simulated(np.random.default_rng(1), 1, exact.counts)
    assert np.std(simulated - 7) == pytest.approx(check.sd(1), rel=0.05)
    assert abs(np.mean(noisy) - 7) < check.sd(1) * 5 / np.sqrt(20_000)


def test_counts_no_source_could_return_are_cut_to_those_the_analysis_covers() -> None:
    found = FitCheck(1.0).measure(
        10, 2, ExactHistogram(np.array([-5, 3, 10**12], dtype=np.int64)), lambda values, _: values
    )
    assert found.tolist() == [0, 3, 20]


@pytest.mark.parametrize(("epsilon", "delta"), [(0, None), (-1, None), (float("nan"), None), (1, 0), (1, float("nan"))])
def test_nonsense_fails_closed(epsilon: float, delta: float | None) -> None:
    with pytest.raises(InvalidCheck):
        FitCheck(epsilon, delta)
