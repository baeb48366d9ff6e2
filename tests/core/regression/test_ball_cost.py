"""The certified curve against the Rényi divergence of truncated posteriors, integrated over many neighbouring datasets."""

import itertools
import math

import numpy as np
import pytest

from app.core.kinds import parse_model, refuse_wide_budget
from app.core.kinds.regression.ball.ball_mean import MeanBall
from app.core.kinds.regression.ball.ball_regression import RegressionBall
from app.core.kinds.regression.cost import curvature_bound, tilted_bound
from app.core.kinds.regression.mechanisms.baps import RegressionBaps
from app.core.kinds.regression.mechanisms.perturbed_statistics import PerturbedStatistics
from app.core.kinds.regression.needle_bound import divergence_bounds
from app.core.privacy import ORDERS
from app.core.privacy.cost import inexact_kl
from app.core.schema import parse_columns
from app.errors import InvalidMechanism, InvalidModel
from tests.core.regression.regression_cases import plain_model, wage_model

Base = tuple[np.ndarray, np.ndarray]
CHECKED = (1.25, 2, 4, 8, 16, 32, 128)


def renyi(log_p: np.ndarray, log_q: np.ndarray, order: float) -> np.ndarray:
    """Of masses on one grid, each row a dataset, up to constants."""
    log_p = log_p - _log_sum(log_p)[:, None]
    log_q = log_q - _log_sum(log_q)[:, None]
    return _log_sum(order * log_p + (1 - order) * log_q) / (order - 1)


def _log_sum(values: np.ndarray) -> np.ndarray:
    top = values.max(axis=1)
    return np.asarray(top + np.log(np.exp(values - top[:, None]).sum(axis=1)))


def charged(ball: RegressionBall | MeanBall) -> dict[float, float]:
    return dict(zip(ORDERS, ball.draw_cost().curve, strict=True))


def log_posteriors(points: np.ndarray, base: list[Base], strength: float, prior: float) -> np.ndarray:
    quadratic = np.einsum("gi,kij,gj->kg", points, np.stack([a for a, _ in base]), points)
    linear = np.stack([b for _, b in base]) @ points.T
    return strength * (linear - quadratic / 2) - prior * (points**2).sum(axis=1) / 2


def worst_ratio(
    dimension: int, radius: float, precision: float, sd: float, points: np.ndarray, others: list[Base]
) -> float:
    """Largest brute-force divergence over the charge, over bases × pairs of records, both directions."""
    model = plain_model(dimension, intercept=False, norm_bound=math.sqrt(dimension), radius=radius, noise_sd=sd,
                        prior={"precision": precision})  # fmt: skip
    curve = charged(RegressionBall(model, 40, 1, 1.0))
    angles = (0.0, math.pi) if dimension == 1 else np.linspace(0, math.pi, 5)
    units = [np.array([math.cos(a), math.sin(a)])[:dimension] for a in angles]
    records = [(length * u, y) for u in units for length in (0.5, 1.0) for y in (-1.0, 0.0, 1.0)]
    pairs = list(itertools.permutations(range(len(records)), 2))
    worst = 0.0
    for a, b in others:
        logs = log_posteriors(points, [(a + np.outer(z, z), b + z * y) for z, y in records], 1 / sd**2, precision)
        left, right = (logs[[pair[side] for pair in pairs]] for side in (0, 1))
        for order in CHECKED:
            worst = max(worst, float(renyi(left, right, order).max()) / curve[order])
    return worst


@pytest.mark.slow
@pytest.mark.parametrize(("radius", "precision", "sd"), [(1.0, 1.0, 1.0), (2.0, 5.0, 0.7), (0.5, 40.0, 0.4)])
def test_certified_curve_covers_every_neighbouring_pair_in_one_dimension(
    radius: float, precision: float, sd: float
) -> None:
    points = np.linspace(-radius, radius, 1201)[:, None]
    squares = [0.0, 0.2, 1.0, 5.0, 39.0]
    others = [
        (np.array([[a]]), np.array([b * math.sqrt(39 * a)])) for a in squares for b in (-1.0, -0.4, 0.0, 0.4, 1.0)
    ]
    worst = worst_ratio(1, radius, precision, sd, points, others)
    assert 0.02 < worst <= 1


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize(("radius", "precision", "sd"), [(1.0, 1.0, 1.0), (1.5, 20.0, 0.6)])
def test_certified_curve_covers_neighbouring_pairs_in_two_dimensions(
    radius: float, precision: float, sd: float
) -> None:
    axis = np.linspace(-radius, radius, 37)
    points = np.array([(x, y) for x in axis for y in axis if x * x + y * y <= radius**2])
    others = []
    for a, c in itertools.product((0.0, 4.0), repeat=2):
        others += [(np.diag([a, c]), np.array([s * a, -s * c])) for s in (0.0, 0.9)]
    worst = worst_ratio(2, radius, precision, sd, points, others)
    assert 0.05 < worst <= 1


def test_integrated_bound_is_below_the_bound_at_the_worst_point_and_above_its_start() -> None:
    for order in (1.25, 2.0, 5.0, 9.0):
        integrated = curvature_bound(order, 3.0, 2.0, 0.2)
        assert 9 / 2 * order / 2 <= integrated <= order / 2 * 9 / (2 - (order - 1) * 0.2)
    assert curvature_bound(11.0, 3.0, 2.0, 0.2) == pytest.approx(9 / 2 * (0.5 + 10))
    assert curvature_bound(11.1, 3.0, 2.0, 0.2) == math.inf


def test_integrated_bound_equals_the_integral() -> None:
    """∫₀¹ (α−1)u/λ + ∫₁^α (α−u)/(λ − (u−1)c), by midpoints."""
    order, lowest, taken = 6.0, 2.0, 0.3
    u = (np.arange(2_000_000) + 0.5) / 2_000_000 * order
    weight = np.where(u <= 1, (order - 1) * u, order - u) / (lowest - np.maximum(u - 1, 0) * taken)
    integral = weight.mean() * order / (order - 1)
    assert curvature_bound(order, 1.0, lowest, taken) == pytest.approx(integral, rel=1e-6)


@pytest.mark.parametrize("slope", [0.1, 3.0, 20.0])
@pytest.mark.parametrize("curvature", [1e-3, 2.0, 500.0])
def test_tilted_bound_covers_every_tilt_and_is_near_the_worst(slope: float, curvature: float) -> None:
    """Truncated Gaussians on [−½, ½] apart by a slope, integrated with 600 nodes at 81 tilts."""
    t, weight = np.polynomial.legendre.leggauss(600)
    t, weight = t / 2, weight / 2
    for order in (1.25, 2.0, 16.0, 512.0):
        tilts = np.linspace(-order - 2, 4, 81)[:, None] * slope
        logs = np.log(weight) - curvature * t**2 / 2 + tilts * t
        exact = float(renyi(logs + slope * t, logs, order).max())
        assert exact <= tilted_bound(order, slope, curvature, 0.5) <= 1.1 * exact


def mean_ball(people: int, radius: float, precision: float) -> MeanBall:
    columns = parse_columns({"x": {"type": "real", "lower": -1, "upper": 1}})
    spec = {"family": "mvn_mean", "columns": ["x"], "covariance": [[0.5]], "radius": radius,
            "prior": {"precision": precision}}  # fmt: skip
    return MeanBall(parse_model(spec, columns), people, 1.0)


@pytest.mark.parametrize("people", [1, 10, 300])
def test_cost_of_a_mean_covers_every_neighbouring_pair_and_falls_with_people(people: int) -> None:
    """Gauss–Legendre: the charge of one person is exact, and sums over a grid are not near enough to it."""
    ball = mean_ball(people, 1.0, 2.0)
    curve, (points, weight) = charged(ball), np.polynomial.legendre.leggauss(400)
    worst = 0.0
    for total in np.linspace(-people + 1, people - 1, 15):
        base = np.log(weight) - (2.0 + people / 0.5) * points**2 / 2
        logs = np.stack([base + (total + z) * points / 0.5 for z in (-1, 0, 1)])
        for i, j in itertools.permutations(range(3), 2):
            for order in CHECKED:
                worst = max(worst, float(renyi(logs[[i]], logs[[j]], order)[0]) / curve[order])
    assert 0.3 < worst <= 1
    assert charged(mean_ball(10 * people, 1.0, 2.0))[8] < curve[8]


def test_a_draw_in_doubles_has_no_pure_cost_and_declares_its_slack() -> None:
    cost = RegressionBaps(10).cost(wage_model(radius=1.0), 1000, 1)
    assert math.isinf(cost.per_sample.pure)
    assert 2.0**-40 <= cost.per_sample.slack_delta < 2.0**-39
    assert cost.total.slack_delta == pytest.approx(10 * cost.per_sample.slack_delta)
    assert math.isfinite(cost.total.epsilon(1e-6))


def test_more_rows_a_person_and_more_heat_cost_more() -> None:
    model = wage_model(radius=1.0)
    one, three = (RegressionBaps(1).cost(model, 1000, k).per_sample.curve for k in (1, 3))
    cool = RegressionBaps(1, 0.1).cost(model, 1000, 1).per_sample.curve
    assert all(a <= b for a, b in zip(one, three, strict=True))
    assert all(a <= b for a, b in zip(cool, one, strict=True))


def test_what_cannot_be_sampled_exactly_is_refused() -> None:
    with pytest.raises(InvalidModel, match=r"model\.noise_sd"):
        RegressionBaps(1).cost(wage_model(noise_sd=None), 100, 1)
    with pytest.raises(InvalidModel, match=r"model\.radius"):
        RegressionBaps(1).cost(wage_model(noise_sd=0.01, radius=900), 2**28, 1)
    with pytest.raises(InvalidMechanism):
        RegressionBaps(0)


def test_allowance_for_doubles_grows_with_how_steep_the_posterior_may_be() -> None:
    """Public numbers only, small beside a draw's own cost, and part of every order."""
    model = wage_model(radius=1.0)
    small, large = (RegressionBall(model, rows, 1, 1.0) for rows in (1000, 10**6))
    assert 0 < small.bounds.log_ratio < large.bounds.log_ratio < 1e-3
    ideal = divergence_bounds((2.0,), 1 / small._sd**2, 1.0, 1.0, 4)[0]
    assert charged(small)[2] >= ideal * 0.97 + 6 * small.bounds.log_ratio


def test_draws_of_the_first_law_are_costed_with_the_lattice_of_then() -> None:
    """Coarser where posteriors pile up, so with a smaller allowance; the law is no part of a request or of its record."""
    model, now = wage_model(radius=1.0), RegressionBaps(1)
    then = RegressionBaps(1, law=1)
    assert all(
        a < b
        for a, b in zip(then.cost(model, 10**5, 1).total.curve, now.cost(model, 10**5, 1).total.curve, strict=True)
    )
    assert then.as_json() == now.as_json()
    assert then.with_samples(5).law == 1


def test_divergence_of_rounded_laws_is_within_what_the_card_says() -> None:
    """KL of laws moved by e^{±s}, against the bound, where P's larger probabilities grow and Q's shrink; a few are far apart."""
    rng = np.random.default_rng(9)
    for _ in range(500):
        p, q = rng.dirichlet(np.full(6, 0.4)) + 1e-9, rng.dirichlet(np.full(6, 0.4)) + 1e-9
        p, q = p / p.sum(), q / q.sum()
        kl = float((p * np.log(p / q)).sum())
        for s in (1e-6, 0.01, 0.4):
            moved_p = p * np.exp(s / 2 * np.sign(np.log(p / q) - np.median(np.log(p / q))))
            moved_q = q * np.exp(-s / 2 * np.sign(p - np.median(p)))
            moved_p, moved_q = moved_p / moved_p.sum(), moved_q / moved_q.sum()
            assert float((moved_p * np.log(moved_p / moved_q)).sum()) <= inexact_kl(kl, s) * (1 + 1e-12)
    assert math.isinf(inexact_kl(0.1, 1.5))


def test_robustness_counts_the_samplers_allowance() -> None:
    ball = RegressionBall(wage_model(), 1000, 1, 1.0)
    assert ball.kl_sup() >= ball._divergences()[0] + 3 * ball.bounds.log_ratio


def test_budgets_above_what_the_slack_covers_are_refused() -> None:
    """(1 + e^ε)·2⁻¹⁰⁰ is charged for ε = 40; at ε = 50 the tails would weigh e¹⁰ times as much."""
    draws = RegressionBaps(3)
    slack = draws.cost(wage_model(), 1000, 1).per_sample.slack_delta
    assert slack >= 2.0**-40 + (1 + math.exp(draws.budget_epsilon_max)) * 2.0**-100
    refuse_wide_budget(draws, 40.0)
    for epsilon in (40.000001, math.inf, math.nan):
        with pytest.raises(InvalidMechanism) as refused:
            refuse_wide_budget(draws, epsilon)
        assert [each.field for each in refused.value.problems] == ["mechanism.kind"]
    refuse_wide_budget(PerturbedStatistics(1, 1.0, 1e-6), 1e4)
