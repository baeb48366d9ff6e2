"""What few people cannot reach: each step of the bounds against brute force, and charged ÷ exact among 1 to 5 rows."""

import itertools
import math

import numpy as np
import pytest

from app.core.kinds.regression.coordinate_law import coordinate_variance
from app.core.kinds.regression.cost import regression_divergences
from app.core.kinds.regression.few_people_mean import ball_bound, line_bound
from app.core.kinds.regression.needle_bound import largest_needle_variances
from app.core.kinds.regression.one_row_bound import one_row_bounds
from app.core.kinds.regression.reachable_bound import _middle, _Rows, _spread, farthest_mean, reachable_bounds
from tests.core.regression.exact_divergence import (
    Row,
    Setting,
    ball_points,
    divergence_of_few,
    divergences_at,
    log_posterior,
    worst_of_few,
)
from tests.deep import deep

ORDERS = (1.25, 2.0, 6.0, 40.0, 1024.0)
# (dimension, s = τ/σ², λ, R, order, rows), at most how far the charge is above, and the numbers of `few_rows` at which a search
# found the most. The limit is 1.5; what is above it is a known miss, written down in docs/privacy.md.
Case = tuple[int, float, float, float, float, int]
WORST: dict[Case, tuple[float, list[float]]] = {
    (1, 56.3, 1.42, 0.0334, 2.0, 1): (1.01, [1.2523, 1.5708, -1.5708, 2.3918, 1.5708, -4.7124]),
    (1, 8.96, 0.638, 1.68, 8.0, 2): (
        1.5,
        [-0.387, -0.6646, -1.5708, 0.7696, -1.5708, 1.5708, -1.0422, -0.6317, 1.5708],
    ),
    (2, 0.418, 0.115, 0.809, 16.0, 1): (1.1, [1.5816, 1.5707, -1.5708, 1.5816, 1.5708, -4.7124]),
    (2, 0.5, 1.0, 2**0.5, 4.0, 1): (1.3, [0.0864, 1.5708, 1.5708, 3.228, 1.5708, 1.5708]),
    (2, 1.0, 1.0, 2**0.5, 8.0, 2): (
        1.85,
        [0.3324, 1.5708, 1.5708, 2.7596, 1.5708, 1.5708, 0.5574, 1.5708, -1.5708],
    ),
    (3, 1.0, 1.0, 3**0.5, 4.0, 1): (1.3, [0.3148, 0.7825, 1.5708, 3.4564, 1.5708, 1.5708]),
    (3, 0.3, 1.0, 1.0, 8.0, 1): (1.15, [0.2638, 1.5708, 1.5708, 3.4054, 1.5708, 1.5708]),
}


def random_rows(rng: np.random.Generator, dimension: int, count: int) -> list[Row]:
    """Directions at random, half of them of length 1, nearly all with the largest target."""
    rows = []
    for _ in range(count):
        z = rng.normal(size=dimension)
        length = 1.0 if rng.random() < 0.5 else float(rng.random())
        y = float(rng.choice([-1.0, 1.0])) if rng.random() < 0.8 else float(rng.uniform(-1, 1))
        rows.append((length * z / np.linalg.norm(z), y))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimension", "seeds"),
    [(1, range(14)), (2, range(12)), deep(1, range(14, 300)), deep(2, range(12, 200)), deep(3, range(30))],
)
def test_charges_cover_random_neighbours_of_one_to_five_people_with_one_to_three_rows(
    dimension: int, seeds: range
) -> None:
    """Models from narrow to flat and from small to wide; a mirrored record, equal rows and random ones; both directions."""
    worst = 0.0
    for seed in seeds:
        rng = np.random.default_rng([dimension, seed])
        people, k = int(rng.integers(1, 6)), int(rng.choice([1, 1, 2, 3]))
        radius = float(10 ** rng.uniform(-1.5, 1.1))
        prior = min(float(10 ** rng.uniform(-2, 2)), 300 / radius**2)
        strength = min(float(10 ** rng.uniform(-2, 2)), 150 / radius**2 / people / k)
        setting, bare = (Setting(dimension, strength, each, radius) for each in (prior, 0.0))
        bounds = np.array(regression_divergences(ORDERS, strength, people * k, k, prior, radius, dimension))
        points, logs = ball_points(radius, dimension)
        for turn in range(6):
            base = log_posterior(points, logs, setting, random_rows(rng, dimension, (people - 1) * k))
            own = random_rows(rng, dimension, k)
            other = [(-z, y) for z, y in own] if turn % 3 == 0 else random_rows(rng, dimension, 1) * k
            p, q = (log_posterior(points, base, bare, each) for each in (own, other))
            for pair in ((p, q), (q, p)):
                worst = max(worst, float((divergences_at(*pair, ORDERS) / bounds).max()))
    assert 0.7 < worst <= 1


@pytest.mark.parametrize("case", WORST, ids=str)
def test_charges_of_few_people_are_as_near_the_worst_dataset_found_as_written_down(case: Case) -> None:
    (dimension, strength, prior, radius, order, rows), (most, free) = case, WORST[case]
    exact = divergence_of_few(Setting(dimension, strength, prior, radius), order, np.array(free))
    assert 1 <= regression_divergences((order,), strength, rows, 1, prior, radius, dimension)[0] / exact <= most


@pytest.mark.deep
@pytest.mark.parametrize(
    ("dimension", "rows", "widest", "most"),
    [(1, 1, 1.5, 1.5), (1, 3, 1.5, 1.5), (2, 1, 1.5, 1.5), (2, 2, 1.5, 1.9), (3, 1, 1.5, 1.5)],
)
@pytest.mark.parametrize("seed", range(6))
def test_a_search_among_few_rows_finds_no_charge_farther_from_the_exact_cost_than_written_down(
    dimension: int, rows: int, widest: float, most: float, seed: int
) -> None:
    rng = np.random.default_rng([43, dimension, rows, seed])
    ends = ((-2, 1.5), (-2, 1.5), (-1.5, math.log10(widest)))
    strength, prior, radius = (float(10 ** rng.uniform(*each)) for each in ends)
    order = float(rng.choice([1.25, 2, 4, 16, 64, 256]))
    exact, _ = worst_of_few(Setting(dimension, strength, prior, radius), order, rows, 5 if dimension < 3 else 2)
    ratio = regression_divergences((order,), strength, rows, 1, prior, radius, dimension)[0] / exact
    assert 1 <= ratio <= most


@pytest.mark.parametrize("dimension", [2, 3])
def test_no_tilt_makes_a_coordinate_of_the_ball_vary_more(dimension: int) -> None:
    points, logs = ball_points(1.0, dimension)
    for prior in (0.0, 0.7, 6.0, 40.0):
        largest = coordinate_variance(prior, dimension)
        for size in (0.0, 0.3, 2.0, 7.0, 30.0):
            weight = np.exp(logs - prior / 2 * (points**2).sum(axis=1) + size * (points[:, 0] - 1))
            weight /= weight.sum()
            variances = [float(weight @ (points[:, axis] - weight @ points[:, axis]) ** 2) for axis in range(2)]
            assert max(variances) <= largest * (1 + 1e-9)
            if size == 0:
                assert variances[0] == pytest.approx(largest, rel=1e-4)


@pytest.mark.parametrize(("strength", "prior", "radius"), [(3.0, 0.5, 0.8), (0.4, 2.0, 3.0), (20.0, 1.0, 1.0)])
@pytest.mark.parametrize("dimension", [1, 2])
def test_largest_ratio_of_two_posteriors_of_one_row_is_bounded_and_reached(
    dimension: int, strength: float, prior: float, radius: float
) -> None:
    rng, setting = np.random.default_rng(5), Setting(dimension, strength, prior, radius)
    points, logs = ball_points(radius, dimension)
    bound, worst = one_row_bounds((65536.0,), strength, prior, radius, dimension)[0], 0.0
    rows = random_rows(rng, dimension, 40) + [(np.eye(dimension)[0] * x, 1.0) for x in (-1.0, -0.5, 0.5, 1.0)]
    densities = [log_posterior(points, logs, setting, [row]) for row in rows]
    for p, q in itertools.permutations(densities, 2):
        worst = max(worst, float(divergences_at(p, q, (65536.0,))[0]))
    assert worst <= bound
    assert worst >= (0.85 if radius <= 1 else 0.6) * bound


def test_middle_of_a_posterior_is_within_its_bound() -> None:
    """1 to 6 rows in the plane, brute force; the bound of the plane (no line) at u = 0, in its worst box."""
    rng = np.random.default_rng(17)
    for _ in range(40):
        radius, rows = float(10 ** rng.uniform(-1, 0.8)), int(rng.integers(1, 7))
        strength, prior = (min(float(10 ** rng.uniform(-1.5, 1.5)), 60 / radius**2) for _ in range(2))
        setting = _Rows(strength, rows * strength, prior, radius, 2, False)
        u = np.array([0.0, 1.0])
        spread = _spread(setting, np.array([[prior]]), np.array([0.0]))
        found = float(_middle(setting, u, (np.ones((1, 1)), np.ones((1, 1))), (np.array([[prior]]),) * 2, spread)[0, 0])
        points, logs = ball_points(radius, 2)
        density = log_posterior(points, logs, Setting(2, strength, prior, radius), random_rows(rng, 2, rows))
        weight = np.exp(density - density.max())
        middle = weight @ points / weight.sum()
        assert float(np.linalg.norm(middle)) <= min(found, farthest_mean(setting.total, prior))


@pytest.mark.parametrize("dimension", [1, 2])
def test_variance_of_the_change_is_below_its_bound_over_segments(dimension: int) -> None:
    rng, beyond = np.random.default_rng(23), (0.0, 0.5, 3.0)
    for _ in range(20):
        radius, strength, prior = (float(10 ** rng.uniform(*ends)) for ends in ((-1, 0.7), (-1, 1), (-1, 1)))
        bounds = largest_needle_variances(beyond, strength, prior, radius, dimension)
        points, logs = ball_points(radius, dimension)
        (z, y), (z_other, y_other), *others = random_rows(rng, dimension, 5)
        f, g = ((b - points @ a) ** 2 / 2 for a, b in ((z, y), (z_other, y_other)))
        base = log_posterior(points, logs, Setting(dimension, strength, prior, radius), others)
        for bound, more in zip(bounds, beyond, strict=True):
            density = base - strength * ((1 + more) * f - more * g)
            weight = np.exp(density - density.max())
            weight /= weight.sum()
            b = strength * (g - f)
            assert float(weight @ (b - weight @ b) ** 2) <= bound


def test_what_many_people_reach_is_no_longer_bounded_by_their_number() -> None:
    few, many = (reachable_bounds((2.0,), 0.5, 0.5 * n, 1.0, 1.5, 2)[0] for n in (1, 10**5))
    assert few < many
    most, more = (regression_divergences((2.0,), 0.5, n, 1, 1.0, 1.5, 2)[0] for n in (10**5, 10**7))
    assert most == more


@pytest.mark.parametrize("people", [1, 2, 7])
def test_mean_on_a_line_is_charged_its_worst_tilt(people: int) -> None:
    """Every pair of tilts on a grid, integrated; the bound is within 2 % of the worst."""
    (points, weight), slope, curvature = np.polynomial.legendre.leggauss(300), 1.3, 2.2
    logs = np.log(weight) - curvature / 2 * points**2
    for order in (8.0, 64.0):
        tilts = np.linspace(-people, people, 16 * people + 1) * slope / 2
        pairs = [(a, b) for a in tilts for b in tilts[::2] if abs(a - b) <= slope * (1 + 1e-9)]
        p, q = (logs + np.array([pair[side] for pair in pairs])[:, None] * points for side in (0, 1))
        masses = [np.log(np.exp(each).sum(axis=1)) for each in (order * p + (1 - order) * q, p, q)]
        exact = float(((masses[0] - order * masses[1] + (order - 1) * masses[2]) / (order - 1)).max())
        bound = line_bound(order, slope, curvature, 1.0, people)
        assert exact <= bound <= 1.02 * exact
        assert exact <= ball_bound(order, slope, (curvature, curvature), (1.0, 1), people)
    assert math.isinf(line_bound(people / 2, slope, curvature, 1.0, people))
