"""The segment's bound, step by step against brute force: the range, the variance over all laws, the curve, how near it is."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from app.core.kinds.regression.needle_bound import _first_boxes, divergence_bounds, loss_range
from app.core.kinds.regression.segment_variance import largest_variance, truncated_variance
from tests.core.regression.exact_divergence import (
    Setting,
    dataset,
    divergences,
    segment_divergence,
    worst_divergence,
    worst_segment,
)
from tests.deep import deep

PEOPLE = 100_000
# (dimension, s = τ/σ², λ, R, order) and the numbers of `dataset` at which a search among so many people found the most.
WORST: dict[tuple[int, float, float, float, float], list[float]] = {
    (1, 1.0, 1.0, 1.0, 8.0): [1.5708, 1.5708, 1.5708, -1.5708, 1.2283, -0.0409],
    (1, 11.0, 1.0, 1.0, 1.25): [1.4281, 1.5708, 1.5708, -1.5708, -2.3849, -0.0221],
    (1, 0.3, 0.1, 2.0, 8.0): [1.5708, 1.5708, 1.5708, -1.5708, 4.8655, -0.043],
    (2, 1.0, 1.0, 2**0.5, 8.0): [2.1504, 1.2063, 1.7106, -1.6082, 0.5004, -0.0412],
    (2, 11.0, 1.0, 2**0.5, 1.25): [0.6572, 1.9196, 1.3025, -1.4445, -2.6006, -0.0224],
    (2, 0.3, 0.1, 2.0, 8.0): [0.9575, 2.0437, 1.5178, -1.5709, -2.6633, -0.0449],
    (3, 11.0, 1.0, 3**0.5, 1.25): [0.689, 2.0502, 1.995, -1.5286, -2.6122, -0.0217],
}
"""Radii up to 2: in balls much wider than their prior it takes more people than this to come near the worst segment."""

# In such balls: (dimension, s, λ, R, order) and p, q, h/R and the tilt of the segment at which a search found the most.
WIDE: dict[tuple[int, float, float, float, float], list[float]] = {
    (1, 2.44, 46.9, 2.3, 16.0): [0.3282, 1.0, 0.0, 33.5302],
    (1, 0.0134, 17.0, 4.21, 1024.0): [0.1675, 1.0, 0.0, 30.8527],
    (1, 1.12, 12.2, 8.11, 4.0): [0.0707, 1.0, 0.0, 74.2032],
    (1, 0.363, 1.05, 2.45, 8.0): [0.5831, 1.0, 0.0, -0.8543],
    (1, 0.02681, 0.2488, 10.63, 8.0): [0.0699, 1.0, 0.0, 1.3177],
    (2, 3.38, 52.8, 4.0, 8.0): [0.7483, 0.7701, 0.9428, -63.0186],
    (3, 0.03754, 0.5923, 4.197, 64.0): [0.7445, 0.8112, 0.6752, -2.1484],
}


def half_square(w: np.ndarray, row: np.ndarray) -> float:
    return float((row[-1] - row[:-1] @ w) ** 2 / 2)


def found_range(dimension: int, radius: float, rows: int, starts: int) -> float:
    """Over pairs of up to `rows` rows each and two points of the ball: Nelder–Mead from random starts."""

    def squashed(free: np.ndarray, most: float) -> np.ndarray:
        return free * most / max(most, float(np.linalg.norm(free)))

    def lost(free: np.ndarray) -> float:
        parts = free.reshape(-1, dimension + 1)
        (v, w), records = (squashed(part[:-1], radius) for part in parts[:2]), parts[2:]
        clipped = [np.append(squashed(part[:-1], 1.0), math.sin(part[-1])) for part in records]
        difference = 0.0
        for sign, half in ((1, clipped[:rows]), (-1, clipped[rows:])):
            difference += sign * sum(half_square(v, row) - half_square(w, row) for row in half)
        return -abs(difference)

    rng, best = np.random.default_rng(dimension), 0.0
    for _ in range(starts):
        start = rng.normal(0, 1.5, (2 + 2 * rows) * (dimension + 1))
        options = {"maxiter": 4_000, "maxfev": 4_000, "xatol": 1e-6, "fatol": 1e-9}
        best = max(best, -float(minimize(lost, start, method="Nelder-Mead", options=options).fun))
    return best


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "radius"),
    [
        (1, 6.0),
        deep(2, 2.5),
        deep(1, 0.4),
        deep(1, 3.0),
        deep(2, 0.4),
        deep(3, 0.7),
        deep(3, 2.0),
        deep(2, 1.0),
        deep(1, 12.0),
    ],
)
def test_range_of_one_replaced_row_is_reached_and_never_passed(dimension: int, radius: float) -> None:
    found = found_range(dimension, radius, 1, 6 if dimension == 1 else 12)
    assert 0.995 * loss_range(radius, dimension) <= found <= loss_range(radius, dimension) * (1 + 1e-9)


@pytest.mark.parametrize("radius", [0.3, 1.0, 2.0, 7.0])
def test_range_in_the_plane_is_reached_by_the_rows_that_its_proof_names(radius: float) -> None:
    cosine = -1.0 if radius <= 1 else -1 / radius
    row, other = np.array([1.0, 0.0, 1.0]), np.array([cosine, math.sqrt(1 - cosine**2), 1.0])
    ends = [half_square(w, other) - half_square(w, row) for w in (-radius * other[:-1], -radius * row[:-1])]
    assert ends[0] - ends[1] == pytest.approx(loss_range(radius, 2))


@pytest.mark.deep
@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_two_rows_a_person_reach_twice_the_range_and_no_more(radius: float) -> None:
    found = found_range(2, radius, 2, 60)
    assert 0.97 * 2 * loss_range(radius, 2) <= found <= 2 * loss_range(radius, 2) * (1 + 1e-9)


def test_variance_of_a_truncated_normal_is_the_integral() -> None:
    t, weight = np.polynomial.legendre.leggauss(400)
    for x in (-2000.0, -30.0, -0.51, -0.49, 0.0, 0.3, 0.49, 0.51, 7.0, 900.0):
        density = weight * np.exp(-x * (t**2 - (x < 0)) / 2)
        assert truncated_variance(x) == pytest.approx(float(density @ t**2 / density.sum()), rel=1e-9)


def test_variance_on_a_segment_is_below_its_bound_for_every_tilt_and_part() -> None:
    """400 pairs (γ, β) and κ of both signs, in the table and beyond, 60 tilts on [−1, 1] and on parts; many come near."""
    rng, (t, weight), near = np.random.default_rng(31), np.polynomial.legendre.leggauss(160), []
    for _ in range(400):
        beta, gamma = 10 ** rng.uniform(-2, 1, 2)
        curvature = float(rng.choice([-1, 1]) * 10 ** rng.uniform(-1, 3))
        bound = float(largest_variance(np.array(curvature), gamma, beta))
        found = 0.0
        for low, high in [(-1.0, 1.0), *np.sort(rng.uniform(-1, 1, (2, 2)), axis=1).tolist()]:
            at = (low + high) / 2 + (high - low) / 2 * t
            tilts = np.linspace(-1.2, 1.2, 60)[:, None] * (abs(curvature) + 4 / (high - low))
            logs = np.log(weight) - curvature * at**2 / 2 + tilts * at
            share = np.exp(logs - logs.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
            values = beta * at**2 + gamma * at
            found = max(found, float((share * (values - (share @ values)[:, None]) ** 2).sum(axis=1).max()))
        assert found <= bound * (1 + 1e-9)
        near.append(found / bound)
    assert np.median(near) > 0.75
    assert max(near) > 0.95


def test_first_boxes_cover_every_needle() -> None:
    boxes = _first_boxes(3)
    assert np.prod(boxes[:, :, 1] - boxes[:, :, 0], axis=1).sum() == pytest.approx(1)
    assert (_first_boxes(1)[:, 2] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(("strength", "prior", "radius"), [(0.7, 0.3, 1.3), deep(9.0, 4.0, 0.6)])
def test_bounds_cover_datasets_of_every_size_in_the_plane(strength: float, prior: float, radius: float) -> None:
    """Random datasets of 1 to 3,000 rows that pin and tilt; four orders each, both directions."""
    setting, orders, rng = Setting(2, strength, prior, radius), (1.25, 3.0, 12.0, 80.0), np.random.default_rng(8)
    bounds = np.array(divergence_bounds(orders, strength, prior, radius, 2))
    worst = 0.0
    for people in (1, 3, 30, 3000):
        for _ in range(6):
            row, other, others = dataset(setting, rng.uniform(-math.pi, math.pi, 6), people)
            for pair in ((row, other), (other, row)):
                worst = max(worst, float((divergences(setting, orders, *pair, others) / bounds).max()))
    assert 0.1 < worst <= 1


def test_rows_of_a_person_count_as_strength() -> None:
    """k = 3 equal rows replaced by 3 others, exact in one dimension, are covered by s = 3τ/σ²; and so are unequal ones."""
    t, weight = np.polynomial.legendre.leggauss(400)
    bounds = np.array(divergence_bounds((1.5, 6.0), 3 * 0.8, 1.0, 1.0, 1))
    values = list(itertools.product((-1.0, -0.4, 1.0), (-1.0, 1.0)))
    worst = 0.0
    for rows in itertools.combinations_with_replacement(values, 3):
        for tilt in (-4.0, 0.0, 4.0):
            base = np.log(weight) - t**2 / 2 + tilt * t
            p = base - 0.4 * sum((y - z * t) ** 2 for z, y in rows)
            q = base - 0.4 * 3 * (1 - t) ** 2
            for bound, order in zip(bounds, (1.5, 6.0), strict=True):
                masses = [np.log(np.exp(each).sum()) for each in (order * p + (1 - order) * q, p, q)]
                worst = max(worst, (masses[0] - order * masses[1] + (order - 1) * masses[2]) / (order - 1) / bound)
    assert 0.6 < worst <= 1


@pytest.mark.parametrize("case", WORST, ids=str)
def test_charges_are_at_most_half_again_the_worst_dataset_found(case: tuple[int, float, float, float, float]) -> None:
    dimension, strength, prior, radius, order = case
    setting = Setting(dimension, strength, prior, radius)
    exact = float(divergences(setting, [order], *dataset(setting, np.array(WORST[case]), PEOPLE))[0])
    assert 1 <= divergence_bounds((order,), strength, prior, radius, dimension)[0] / exact <= 1.5


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(12))
def test_a_search_over_models_and_datasets_finds_no_charge_far_from_the_exact_cost(seed: int) -> None:
    """Models drawn at random with R ≤ 2 and s from 0.05 to 40: never below, and at most 1.5 times the worst dataset found."""
    rng = np.random.default_rng([41, seed])
    dimension = int(rng.integers(1, 4))
    strength, prior, radius = (
        float(10 ** rng.uniform(low, high)) for low, high in ((-1.3, 1.6), (-1.3, 1), (-0.5, 0.3))
    )
    order = float(rng.choice([1.25, 2, 4, 8, 16, 64]))
    exact, _ = worst_divergence(Setting(dimension, strength, prior, radius), order, PEOPLE, 3 if dimension < 3 else 1)
    ratio = divergence_bounds((order,), strength, prior, radius, dimension)[0] / exact
    assert 1 <= ratio <= 1.5


@pytest.mark.parametrize("case", WIDE, ids=str)
def test_charges_in_wide_balls_are_at_most_half_again_the_worst_segment_found(
    case: tuple[int, float, float, float, float],
) -> None:
    dimension, strength, prior, radius, order = case
    exact = segment_divergence(Setting(dimension, strength, prior, radius), order, *WIDE[case])
    assert 1 <= divergence_bounds((order,), strength, prior, radius, dimension)[0] / exact <= 1.5


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(40))
def test_a_search_over_models_and_segments_finds_no_charge_far_from_the_worst(seed: int) -> None:
    """s and λ from 0.01 to 100, R from 0.03 to 16: with as many people as it takes, never below and at most 1.5 times."""
    rng = np.random.default_rng([47, seed])
    dimension = int(rng.integers(1, 4))
    strength, prior, radius = (float(10 ** rng.uniform(low, high)) for low, high in ((-2, 2), (-2, 2), (-1.5, 1.2)))
    order = float(rng.choice([1.25, 2, 4, 8, 16, 64, 256, 1024]))
    exact, _ = worst_segment(Setting(dimension, strength, prior, radius), order, 6)
    assert 1 <= divergence_bounds((order,), strength, prior, radius, dimension)[0] / exact <= 1.5
