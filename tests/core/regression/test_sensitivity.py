"""How far one replaced record moves the noisy statistics, by optimisation over all pairs of records."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from app.core.kinds import parse_model
from app.core.kinds.regression.perturbed.perturbed_linear import SENSITIVITY, SQUARE_WEIGHT, PerturbedLinear
from app.core.kinds.regression.perturbed.perturbed_mean import PerturbedMean
from app.core.kinds.regression.perturbed.perturbed_normal import SQUARE_WEIGHT as NORMAL_SQUARE_WEIGHT
from app.core.kinds.regression.perturbed.perturbed_normal import PerturbedNormal
from app.core.kinds.regression.perturbed.perturbed_precision import PerturbedPrecision
from app.core.statistics.moments import LATTICE, ExactMoments, moments_of
from tests.core.regression.regression_cases import COLUMNS, wage_model, wage_rows


def squashed(free: np.ndarray) -> tuple[np.ndarray, float]:
    """Any numbers to a record with ‖z‖ ≤ 1, |y| ≤ 1."""
    z, y = free[:-1], free[-1]
    return z / max(1.0, float(np.linalg.norm(z))), float(np.clip(y, -1, 1))


def weighted_distance(free: np.ndarray, square_weight: float) -> float:
    half = len(free) // 2
    (z, y), (other, t) = squashed(free[:half]), squashed(free[half:])
    products = np.outer(z, z) - np.outer(other, other)
    cross = z * y - other * t
    return float((products**2).sum() + (cross**2).sum() + square_weight * (y * y - t * t) ** 2)


def largest(dimension: int, square_weight: float, seed: int) -> float:
    rng = np.random.default_rng(seed)
    best = 0.0
    for _ in range(25):
        start = rng.normal(0, 1.2, 2 * (dimension + 1))
        found = minimize(lambda free: -weighted_distance(free, square_weight), start, method="Nelder-Mead",
                         options={"maxiter": 3000, "maxfev": 3000, "xatol": 1e-7, "fatol": 1e-9})  # fmt: skip
        best = max(best, -float(found.fun))
    return best


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_joint_square_sensitivity_is_four_and_a_half_and_no_more(dimension: int) -> None:
    found = largest(dimension, SQUARE_WEIGHT, dimension)
    assert found <= SENSITIVITY**2 + 1e-9
    assert found >= SENSITIVITY**2 - 1e-3


def test_a_heavier_weight_on_the_square_would_break_the_bound() -> None:
    free = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    assert weighted_distance(free, SQUARE_WEIGHT) == pytest.approx(4.5)
    assert weighted_distance(free, 1.6) > 4.5


@pytest.mark.slow
def test_many_random_records_never_exceed_it() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20_000):
        assert weighted_distance(rng.normal(0, 1, 8), SQUARE_WEIGHT) <= 4.5 + 1e-9


def moved(
    perturbation: PerturbedLinear | PerturbedMean | PerturbedPrecision, a: ExactMoments, b: ExactMoments
) -> float:
    steps = (perturbation.values(a) - perturbation.values(b)) / perturbation.ratios
    return math.sqrt(float((steps**2).sum()))


@pytest.mark.slow
def test_a_sum_of_squares_beside_a_sum_is_free_up_to_its_weight_and_no_further() -> None:
    """Every two of 2,001 numbers between the bounds: at most 4, which two opposite ends reach; 1 % more weight breaks it."""
    x = np.linspace(-1, 1, 2_001)
    apart, square = (x[:, None] - x) ** 2, (x[:, None] ** 2 - x**2) ** 2
    assert (apart + NORMAL_SQUARE_WEIGHT * square).max() == pytest.approx(4, abs=1e-12)
    assert (apart + 1.01 * NORMAL_SQUARE_WEIGHT * square).max() > 4.0001


def test_no_two_records_on_the_lattice_move_mean_and_square_farther_than_charged() -> None:
    """The same in whole numbers, at the ends, in the middle, near the worst distance and at random."""
    model = parse_model({"family": "normal", "column": "wage"}, COLUMNS)
    perturbation, steps = PerturbedNormal(model, 1), model.statistic.steps
    rng = np.random.default_rng(10)
    worst = np.rint(steps * (1 - (math.sqrt(5) - 1) + np.linspace(-1e-3, 1e-3, 101))).astype(np.int64)
    values = np.concatenate([[-steps, 0, steps], worst, -worst, rng.integers(-steps, steps + 1, 800)])
    assert np.abs(values).max() <= LATTICE
    first, second = values[:, None] - values, values[:, None] ** 2 - values**2
    moved = (first / perturbation.ratios[0]) ** 2 + (second / perturbation.ratios[1]) ** 2
    assert moved.max() <= perturbation.sensitivity**2


def test_replaced_rows_move_the_noisy_vector_by_at_most_the_charged_sensitivity() -> None:
    """Real models with all kinds of columns; k rows replaced move at most k times as much."""
    rng = np.random.default_rng(9)
    model = wage_model(features=["educ", "exper", "female", "region"], norm_bound=1.0)
    linear = PerturbedLinear(model, 30, 3)
    spec = {"columns": ["educ", "exper"], "norm_bound": 1.0}
    mean = PerturbedMean(parse_model({"family": "mvn_mean", "covariance": [[9, 0], [0, 9]], **spec}, COLUMNS), 30)
    matrix = PerturbedPrecision(parse_model({"family": "normal_precision_matrix", "radius": 50, **spec}, COLUMNS), 30)
    statistics = (
        (linear, model.statistic),
        (mean, mean._model.statistic),
        (matrix, matrix._model.statistic),
    )
    for turn in range(60):
        rows, k = wage_rows(30, turn), 1 + turn % 3
        other = {name: cells.copy() for name, cells in rows.items()}
        extreme = {
            "educ": rng.choice([0, 20], k),
            "exper": rng.choice([-5.0, 60.0], k),
            "wage": rng.choice([0.0, 40.0], k),
        }
        for name, cells in extreme.items():
            other[name][:k] = cells
        for perturbation, request in statistics:
            shift = moved(perturbation, moments_of(request, rows), moments_of(request, other))
            assert shift <= k * perturbation.sensitivity


def test_opposite_records_reach_the_sensitivity_of_a_mean_on_the_lattice() -> None:
    spec = {"family": "mvn_mean", "columns": ["educ"], "covariance": [[9]]}
    mean = PerturbedMean(parse_model(spec, COLUMNS), 1)
    low, high = (moments_of(mean._model.statistic, {"educ": [value]}) for value in (0, 20))
    assert moved(mean, low, high) == pytest.approx(2 * LATTICE, rel=1e-4)
