"""Posteriors much narrower than their ball: closed forms against normal laws and integrals, and how near the charge is."""

import numpy as np
import pytest
from scipy.stats import chi

from app.core.kinds.regression.coordinate_law import coordinate_moments
from app.core.kinds.regression.cost import regression_divergences
from app.core.kinds.regression.reachable_bound import _Rows, _squares, farthest_mean
from app.core.kinds.regression.wide_ball_bound import _inside, wide_ball_bounds
from tests.core.regression.exact_divergence import Setting, ball_points, divergence_of_few
from tests.core.regression.test_few_people import random_rows
from tests.deep import deep

ORDERS = (1.1, 1.25, 2.0, 5.0)
FAR = (1e9,) * len(ORDERS)
# (dimension, s, λ, R, order, people) and the numbers of `few_rows` at which the closed form is largest.
Case = tuple[int, float, float, float, float, int]
WORST: dict[Case, list[float]] = {
    (1, 31.8, 29.1, 3.61, 1.25, 2): [0, -0.6126, 1.5708, 0, 1.5708, 1.5708, 0, 0.2774, -1.5708],
    (1, 0.855, 0.356, 11.4, 1.25, 3): [0, -0.2014, 1.5708, 0, 1.5708, 1.5708, 0, 0.1587, -1.5708, 0, 0.1587, -1.5708],
}


def normal_divergences(setting: Setting, row, other, others) -> np.ndarray:  # type: ignore[no-untyped-def]
    """D_α of two normal laws, from their precisions and tilts; infinite where the powers have no integral."""
    laws = []
    for own in (row, other):
        precision, tilt = setting.prior * np.eye(setting.dimension), np.zeros(setting.dimension)
        for z, y in [own, *others]:
            precision, tilt = precision + setting.strength * np.outer(z, z), tilt + setting.strength * y * z
        laws.append((precision, tilt))
    found = []
    for order in ORDERS:
        mixed = tuple(order * one + (1 - order) * two for one, two in zip(*laws, strict=True))
        if np.linalg.eigvalsh(mixed[0])[0] <= 0:
            found.append(np.inf)
            continue
        parts = [tilt @ np.linalg.solve(m, tilt) / 2 - np.linalg.slogdet(m)[1] / 2 for m, tilt in (mixed, *laws)]
        found.append((parts[0] - order * parts[1] + (order - 1) * parts[2]) / (order - 1))
    return np.array(found)


@pytest.mark.parametrize(
    ("dimension", "models"), [(1, 6), (2, 6), (3, 3), deep(1, 300), deep(2, 300), deep(3, 150), deep(5, 40)]
)
def test_normal_laws_of_random_rows_are_within_the_closed_form(dimension: int, models: int) -> None:
    """A ball that cuts off nothing: what is left is the largest divergence of normal laws, never passed, and nearly reached."""
    rng, near = np.random.default_rng([5, dimension, models]), 0.0
    for _ in range(models):
        people = int(rng.integers(1, 7))
        strength, prior = (float(10 ** rng.uniform(-2, 2)) for _ in range(2))
        radius = 40 / np.sqrt(min(prior, 1e-2)) + 10 * farthest_mean(people * strength, prior)
        bounds = np.array(wide_ball_bounds(ORDERS, FAR, strength, people * strength, prior, radius, dimension))
        for turn in range(40):
            (z, y), *others = random_rows(rng, dimension, people)
            if turn % 2:
                z = z / np.linalg.norm(z)
            other = (-z, y) if turn % 4 == 1 else random_rows(rng, dimension, 1)[0]
            for pair in (((z, y), other), (other, (z, y))):
                found = normal_divergences(Setting(dimension, strength, prior, radius), *pair, others)
                assert (found <= bounds).all()
                near = max(near, float(np.max(found[np.isfinite(bounds)] / bounds[np.isfinite(bounds)], initial=0)))
    assert near > 0.9


def test_means_of_normal_posteriors_are_within_their_bound_and_reach_it() -> None:
    """The direction in which the rows pull is the one they narrow; a bound of each alone would be twice as large."""
    rng, near = np.random.default_rng(3), 0.0
    for turn in range(400):
        dimension, people = int(rng.integers(1, 4)), int(rng.integers(1, 9))
        strength, prior = (float(10 ** rng.uniform(-1, 1)) for _ in range(2))
        rows = random_rows(rng, dimension, people)
        if turn % 2:  # all alike
            rows = [(rows[0][0], 1.0)] * people
        z, y = np.array([z for z, _ in rows]), np.array([y for _, y in rows])
        mean = np.linalg.solve(prior * np.eye(dimension) + strength * z.T @ z, strength * z.T @ y)
        near = max(near, float(np.linalg.norm(mean)) / farthest_mean(people * strength, prior))
    assert 0.99 < near <= 1 + 1e-9


def test_mass_in_the_ball_is_at_least_what_is_charged_for() -> None:
    """Normal laws at u up to α, where rows of negative weight widen and pull them: 4,000 draws each, six sds to spare."""
    rng = np.random.default_rng(29)
    for _ in range(30):
        dimension, people = int(rng.integers(1, 4)), int(rng.integers(1, 5))
        strength, prior = float(10 ** rng.uniform(-1, 1)), float(10 ** rng.uniform(-1, 1))
        beyond = float(rng.uniform(0, 0.9)) * prior / strength
        radius = farthest_mean(people * strength, prior) + float(rng.uniform(1, 4)) / np.sqrt(prior)
        claimed = _inside(beyond, strength, people * strength, prior, radius, dimension)
        (z, y), *others = random_rows(rng, dimension, people)
        far = -z
        precision, tilt = prior * np.eye(dimension), np.zeros(dimension)
        for weight, (row, target) in [(1 + beyond, (z, y)), (-beyond, (far, y)), *((1, each) for each in others)]:
            precision += strength * weight * np.outer(row, row)
            tilt += strength * weight * target * row
        draws = rng.multivariate_normal(np.linalg.solve(precision, tilt), np.linalg.inv(precision), 4_000)
        share = float(np.mean(np.linalg.norm(draws, axis=1) <= radius))
        assert share >= claimed - 6 * np.sqrt(max(claimed * (1 - claimed), 1e-4) / 4_000)
    assert _inside(0.0, 1.0, 0.0, 4.0, 1.5, 3) == pytest.approx(chi.cdf(3.0, 3), rel=1e-5)


@pytest.mark.parametrize("case", WORST, ids=str)
def test_charges_in_balls_much_wider_than_few_peoples_posteriors_are_near_the_worst_dataset(case: Case) -> None:
    dimension, strength, prior, radius, order, rows = case
    exact = divergence_of_few(Setting(dimension, strength, prior, radius), order, np.array(WORST[case]))
    assert 1 <= regression_divergences((order,), strength, rows, 1, prior, radius, dimension)[0] / exact <= 1.1


@pytest.mark.parametrize("dimension", [2, 3])
def test_variance_of_the_change_under_the_prior_is_what_its_moments_say(dimension: int) -> None:
    """‖a‖²σ² + ¼Var wᵀAw for rows at an angle, integrated; the bound of a box around them is not below."""
    points, logs = ball_points(1.7, dimension)
    weight = np.exp(logs - 0.8 / 2 * (points**2).sum(axis=1))
    weight /= weight.sum()
    p, q, cosine = 0.9, 0.7, 0.4
    z, other = np.zeros(dimension), np.zeros(dimension)
    z[0], other[:2] = p, (-q * cosine, q * np.sqrt(1 - cosine**2))
    b = ((1 - points @ other) ** 2 - (1 - points @ z) ** 2) / 2
    exact = float(weight @ (b - weight @ b) ** 2)
    second, fourth = coordinate_moments(0.8 * 1.7**2, dimension)
    linear = (p**2 + q**2 + 2 * p * q * cosine) * second * 1.7**2
    own = (p**4 + q**4 - 2 * (p * q * cosine) ** 2) * (fourth - second**2)
    mixed = 2 * (p * q) ** 2 * (1 - cosine**2) * (second**2 - fourth / 3)
    assert linear + 1.7**4 / 4 * (own + mixed) == pytest.approx(exact, rel=1e-6)
    ends = (np.array([[p]]), np.array([[p]])), (np.array([[q]]), np.array([[q]]))
    rows = _Rows(1.0, 1.0, 0.8, 1.7, dimension, False)
    assert float(_squares(rows, *ends, np.zeros((1, 1)), np.ones((1, 1)))[2][0, 0]) >= exact
