"""Beliefs about regressions, means and precision matrices are p(θ|R): by brute force where that is possible, and by coverage."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, ncx2, norm

from app.core.kinds import parse_model
from app.core.kinds.belief import Evidence
from app.core.kinds.protocols import MeasuringMechanism, drawn_once
from app.core.kinds.regression.beliefs.ball_integral import ball_moments, log_integral
from app.core.kinds.regression.beliefs.drawn_mean_belief import believed_means
from app.core.kinds.regression.beliefs.latent_products import LatentProducts
from app.core.kinds.regression.beliefs.linear_belief import NoisyTargets, believed_weights
from app.core.kinds.regression.beliefs.precision_belief import SumBelief
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.combinations import prediction
from app.core.kinds.regression.mechanisms import PerturbedStatistics, RegressionBaps
from app.core.kinds.regression.mechanisms.perturbed_statistics import perturbation_of
from app.core.noise.discrete_gaussian import seeded_noise
from app.core.schema import parse_columns
from app.core.statistics.moments import ExactMoments, moments_of
from app.errors import CalibratedUnavailable
from tests.core.regression.belief_coverage import (
    NUMBER,
    held,
    linear_case,
    mean_case,
    normal_case,
    precision_case,
    ranks,
)
from tests.core.regression.exact_shares import LEVELS, drawn_shares, shares
from tests.core.regression.regression_cases import wage_model, wage_rows
from tests.core.regression.test_precision_coverage import default_model

PEOPLE, EPSILONS = (100, 1_000, 10_000), (0.3, 1.0, 5.0)
CASES = {
    "even": lambda: linear_case("nn", "even", 0.2),
    "correlated": lambda: linear_case("nnbl", "correlated", 0.2),
    "noise unknown": lambda: linear_case("nn", "even", None),
    "mean": mean_case,
    "normal": normal_case,
    "precision": lambda: precision_case(3),
}


@pytest.mark.slow
def test_one_weight_is_believed_as_two_sums_by_hand_have_it() -> None:
    """∫ p(A)·N(Â; A)·N(v̂; 0, A²/λ + σ²A + s²)·p(w|A, v̂) dA on a grid against 500 points; false alarm 10⁻⁵ each."""
    columns = parse_columns({"x": NUMBER, "y": NUMBER})
    spec = {"family": "linear_regression", "target": "y", "features": ["x"], "noise_sd": 0.2, "intercept": False}
    model = parse_model(spec | {"prior": {"precision": 4.0}}, columns)
    for people, seen, cross, s in ((100, 40.0, 9.0, 25.0), (100, -20.0, -30.0, 25.0), (1_000, 300.0, 120.0, 9.0)):
        targets = NoisyTargets(np.array([cross]), s * s, 0.0, 1.0, people, 0.2, 4.0)
        products = LatentProducts(model, people, 1, np.array([[seen]]), np.array([[s * s]]))
        points = believed_weights(products, targets, 500, SeededStream(b"one weight"))[:, 0]
        total = (np.arange(800) + 0.5) / 800 * people
        noise = 0.04 * total + s * s
        spread = total**2 / 4 + noise
        log_mass = -((total - seen) ** 2) / (2 * s * s) - 0.5 * np.log(spread) - cross**2 / (2 * spread)
        mass = np.exp(log_mass - log_mass.max())
        precision = 4 + total**2 / noise
        centre = total * cross / noise / precision

        def below(w: np.ndarray, c: np.ndarray = centre, p: np.ndarray = precision, m: np.ndarray = mass) -> np.ndarray:
            return norm.cdf((w[:, None] - c) * np.sqrt(p)) @ m / m.sum()

        assert kstest(points, below).pvalue > 1e-5


@pytest.mark.slow
def test_one_precision_is_believed_as_a_sum_by_hand_has_it() -> None:
    """Prior much narrower than the noise, and the other way round; Kolmogorov–Smirnov on 500 points, false alarm 10⁻⁵."""
    model, people = default_model(1), 300
    psi = model.degrees * model.scale
    for noisy, scale in ((-9.0, 25.0), (1.4, 6.0), (7.0, 0.4)):
        belief = SumBelief(model, people, np.array([noisy]), np.array([scale]))
        omega = belief.draws(500, SeededStream(b"one precision"))[:, 0, 0]
        grid = np.geomspace(1e-4, 400, 800)
        log = people / 2 * np.log(grid) - (people + model.degrees) / 2 * np.log(psi + grid)  # dA = A·d log A
        log -= (grid - noisy) ** 2 / (2 * scale**2)
        mass = np.exp(log - log.max())

        def below(w: np.ndarray, m: np.ndarray = mass, g: np.ndarray = grid) -> np.ndarray:
            from scipy.special import gammainc

            return gammainc((people + model.degrees) / 2, w[:, None] * (psi + g) / 2) @ m / m.sum()

        assert kstest(omega, below).pvalue > 1e-5


@pytest.mark.parametrize(
    ("d", "curvature", "linear"), [(1, 5, 3), (2, 5, 30), (5, 100, 40), (10, 0.01, 1), (3, 1e4, 9e3)]
)
def test_integral_over_the_ball_is_that_of_a_noncentral_chi_square(d: int, curvature: float, linear: float) -> None:
    b = np.zeros((1, d))
    b[0, -1] = linear
    known = ncx2.logcdf(curvature, d, linear**2 / curvature) + linear**2 / (2 * curvature)
    known += d / 2 * math.log(2 * math.pi / curvature)
    lambdas = np.full(d, float(curvature))
    assert log_integral(lambdas, b)[0] == pytest.approx(known, abs=1e-9 * (1 + abs(known)))
    step = np.zeros((1, d))
    step[0, -1] = 1e-4 * linear
    slope = (log_integral(lambdas, b + step) - log_integral(lambdas, b - step))[0] / (2e-4 * linear)
    moments = ball_moments(lambdas, b)
    assert moments.mean[0, -1] == pytest.approx(slope, rel=1e-5)
    assert (np.linalg.eigvalsh(moments.covariance[0]) > 0).all()


@pytest.mark.parametrize(
    ("curvature", "linear"),
    [((784.0, 1516.0), (675.0, 441.0)), ((1.0, 900.0), (500.0, 30.0)), ((0.01, 40.0), (-3.0, 60.0))],
)
def test_integral_over_a_disc_is_that_in_polar_coordinates(
    curvature: tuple[float, float], linear: tuple[float, float]
) -> None:
    """The first is where a parabola for a path would come too near to what is singular."""
    nodes, weights = np.polynomial.legendre.leggauss(300)
    radius, angle = np.meshgrid((nodes + 1) / 2, np.arange(1_000) * 2 * np.pi / 1_000)
    u, v = radius * np.cos(angle), radius * np.sin(angle)
    exponent = linear[0] * u + linear[1] * v - (curvature[0] * u**2 + curvature[1] * v**2) / 2 + np.log(radius)
    top = exponent.max()
    known = top + math.log(2 * math.pi * float((np.exp(exponent - top) @ (weights / 2)).mean()))
    assert log_integral(np.array(curvature), np.array([linear]))[0] == pytest.approx(known, rel=1e-9)


@pytest.mark.slow
def test_draws_of_a_mean_far_from_the_sphere_are_weighed_as_gaussians() -> None:
    """ū ~ N(G·S, Λ⁻¹/N) and everything conjugate: means within six errors of 2,048 points, covariances within a tenth."""
    case, people, mechanism = mean_case(), 1_000, RegressionBaps(4, 0.5)
    rng = np.random.default_rng(8)
    private = case.simulate(people, rng).private
    drawn = mechanism.draw(case.model, people, 1, private, rng.bytes)
    points = mechanism.belief(case.model, people, 1, Evidence(drawn, None, b"far")).points / case.model.norm_bound
    inverse, lam = np.linalg.inv(case.model.scaled_covariance), case.model.precision
    tempered = lam * np.eye(2) + people * 0.5 * inverse
    gain = np.linalg.solve(tempered, 0.5 * inverse)
    seen = np.linalg.inv(np.linalg.inv(tempered) / 4 + gain @ (people * case.model.scaled_covariance) @ gain.T)
    shown = people * gain
    covariance = np.linalg.inv(lam * np.eye(2) + shown.T @ seen @ shown)
    mean = covariance @ shown.T @ seen @ (drawn / case.model.norm_bound).mean(axis=0)
    errors = np.sqrt(np.diag(covariance) / len(points))
    assert (np.abs(points.mean(axis=0) - mean) < 6 * errors).all()
    assert np.abs(np.cov(points.T) / covariance - 1).max() < 0.25
    assert np.abs(np.diag(np.cov(points.T)) / np.diag(covariance) - 1).max() < 0.15


def test_draws_of_a_mean_in_a_narrow_ball_are_weighed_by_its_integral() -> None:
    """One column: Σ over the sum of the rows, on a grid, of its law, of truncated normals and of the plain posterior."""
    columns = parse_columns({"a": NUMBER})
    spec = {"family": "mvn_mean", "columns": ["a"], "covariance": [[0.04]], "prior": {"precision": 9.0}, "radius": 0.3}
    model, people, tau = parse_model(spec, columns), 50, 0.02
    drawn = np.array([[0.29], [0.2], [0.25], [0.28], [0.1], [0.295]])
    points = believed_means(model, people, tau, drawn, 500, SeededStream(b"narrow"))[:, 0]
    sums = np.linspace(-70, 70, 1_401)
    sharp = 9 + people * tau / 0.04
    centre, sd = tau * sums / 0.04 / sharp, sharp**-0.5
    inside = norm.cdf((0.3 - centre) / sd) - norm.cdf((-0.3 - centre) / sd)
    log_mass = norm.logpdf(sums, 0, math.sqrt(people**2 / 9 + people * 0.04))
    log_mass += norm.logpdf(drawn, centre, sd).sum(axis=0) - len(drawn) * np.log(inside)
    mass = np.exp(log_mass - log_mass.max())
    plain = 9 + people / 0.04

    def below(m: np.ndarray) -> np.ndarray:
        return norm.cdf((m[:, None] - sums / 0.04 / plain) * math.sqrt(plain)) @ mass / mass.sum()

    assert (points > 0.3).mean() > 0.2
    assert kstest(points, below).pvalue > 1e-5


@pytest.mark.slow
def test_a_belief_is_the_same_bytes_from_the_same_names_and_stays_in_its_ranges() -> None:
    model, mechanism = wage_model(), PerturbedStatistics(5, 1.0, 1e-6)
    assert isinstance(mechanism, MeasuringMechanism)
    kept = drawn_once(
        mechanism, model, 800, 1, moments_of(model.statistic, wage_rows(800, 3)), np.random.default_rng(1).bytes
    )
    assert kept.measured is not None
    beliefs = [
        mechanism.belief(model, 800, 1, Evidence(kept.samples, kept.measured, seed)) for seed in (b"a", b"a", b"b")
    ]
    first, again, other = (belief.points for belief in beliefs)
    assert first.tobytes() == again.tobytes() != other.tobytes()
    assert first.shape == (mechanism.belief_points, 4)
    parameters = mechanism.calibrated_parameters(model, 800, 1)
    assert beliefs[0].parameters == parameters
    for parameter, sampled, column in zip(parameters, model.parameters, first.T, strict=True):
        assert parameter.lower <= column.min() <= column.max() <= parameter.upper
        assert parameter.lower < sampled.lower < sampled.upper < parameter.upper


def test_questions_about_a_belief_have_the_ranges_of_its_wider_ball() -> None:
    model = wage_model()
    wide = model.within(PerturbedStatistics(5, 1.0, 1e-6).calibrated_parameters(model, 800, 1))
    features = {"educ": 12, "exper": 10, "female": True}
    narrow, wider = prediction(model, features), prediction(wide, features)
    assert model.within(model.parameters).radius == pytest.approx(model.radius, rel=1e-12)
    assert wider.lower < narrow.lower < narrow.upper < wider.upper


def test_what_has_no_belief_says_why() -> None:
    with pytest.raises(CalibratedUnavailable, match="products"):
        RegressionBaps(3).calibrated_parameters(wage_model(), 100, 1)
    with pytest.raises(CalibratedUnavailable, match="not kept"):
        PerturbedStatistics(1, 1.0, 1e-6).belief(wage_model(), 100, 1, Evidence(np.zeros((1, 4)), None, b""))


def check_coverage(found: np.ndarray, points: int, within: float) -> None:
    for level in (0.9, 0.5):
        inside = held(found, level, points).mean(axis=0)
        assert np.abs(inside - level).max() < within, (level, inside)


def points_of(name: str) -> int:
    """Those of a table come from strata."""
    return 399 if name == "normal" else 39


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "datasets"), [("mean", 500), ("normal", 300)])
def test_intervals_of_beliefs_hold_the_truth_as_often_as_they_say(name: str, datasets: int) -> None:
    """n = 1,000, ε = 1. A share of d datasets has an sd of at most .5/√d; 4.5 of them, false alarm 10⁻⁴ in all."""
    found = ranks(CASES[name](), 1_000, 1.0, datasets, 5, points_of(name))
    check_coverage(found, points_of(name), 2.25 / math.sqrt(datasets))


@pytest.mark.slow
def test_intervals_of_a_regression_are_held_as_likely_as_they_say() -> None:
    """n = 1,000, ε = 1. P(held | A, R) of a parameter has an sd of .05 (90 %) and .09 (50 %) among datasets, as 39 points are
    few. Means of six datasets and three parameters, were these one, have .02 and .037: within five of them."""
    found = shares(CASES["even"](), 1_000, 1.0, 6, 5)[:, :, 0, :3].mean(axis=(0, 2))
    assert abs(found[0] - 0.9) < 0.1
    assert abs(found[1] - 0.5) < 0.18


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ["mean", "normal"])
def test_every_cell_covers_within_two_and_a_half_hundredths(name: str, epsilon: float, people: int) -> None:
    case = CASES[name]()
    found = ranks(case, people, epsilon, 1_500, 7, points_of(name))
    each = np.stack([held(found, level, points_of(name)) for level in LEVELS], axis=1)
    check_pooled(each, len(case.model.parameters))


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ["even", "correlated", "noise unknown", "precision"])
def test_every_cell_is_held_as_likely_as_it_says(name: str, epsilon: float, people: int) -> None:
    case = CASES[name]()
    found = shares(case, people, epsilon, 250 if name == "precision" else 40, 6)
    check_pooled(found[:, :, 0], len(case.model.parameters))


def check_pooled(each: np.ndarray, parameters: int) -> None:
    """Parameters and derived numbers of (datasets, levels, both): within .025, or four errors where these are more, clustered by
    dataset. False alarm 6·10⁻⁵ each, 1 in 30 of the whole table where errors are that large."""
    for columns in (slice(0, parameters), slice(parameters, None)):
        for i, level in enumerate(LEVELS):
            pooled = each[:, i, columns].mean(axis=1)
            error = pooled.std(ddof=1) / math.sqrt(len(pooled))
            print(f"{'derived' if columns.start else 'parameters'} {level}: {pooled.mean():.4f} ± {error:.4f}")  # noqa: T201
            assert abs(pooled.mean() - level) < max(0.025, 4 * error), (level, pooled.mean(), error)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("temperature", [1.0, 0.1, 0.02])
@pytest.mark.parametrize("samples", [1, 3, 20, 1_000])
@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("radius", [1.0, 0.3])
def test_beliefs_from_drawn_means_cover_even_where_the_ball_binds(
    radius: float, people: int, samples: int, temperature: float
) -> None:
    """As above; at radius .3 a tenth of the prior's means lie beyond the ball."""
    check_pooled(drawn_shares(mean_case(radius), people, samples, temperature, 8, 9)[:, :, 0], 2)


@pytest.mark.slow
def test_noise_that_nobody_declared_is_found_with_any_number_of_rows() -> None:
    """4·10⁷ rows, and 400 with little noise: as narrow as with the noise declared, within a factor of two."""
    for times, epsilon in ((100_000, 1.0), (1, 100.0)):
        known, unknown = (wage_model(noise_sd=sd) for sd in (3.0, None))
        few = moments_of(known.statistic, wage_rows(400, 2))
        many = ExactMoments(few.products * times, few.cross * times, few.square * times, few.sums * times, 400 * times)
        spreads = []
        for model in (known, unknown):
            perturbation = perturbation_of(model, 400 * times, 1)
            scale = PerturbedStatistics(1, epsilon, 1e-6).scale(perturbation, 1)
            seen = seeded_noise(np.random.default_rng(3))(perturbation.values(many), scale * perturbation.ratios)
            spreads.append(perturbation.believed(seen, scale, 60, SeededStream(b"rows")).std(axis=0))
        assert (np.abs(np.log(spreads[1] / spreads[0])) < math.log(2)).all()
