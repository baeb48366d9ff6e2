"""The calibrated posterior is Σ_t p(θ|t)·p(t|R), by brute force over every sum and a fine mesh of θ."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import betabinom

from app.core.grids.bernoulli import bernoulli
from app.core.grids.integer_table import integer_weights
from app.core.kinds import parse_model
from app.core.kinds.belief import Evidence
from app.core.kinds.one_parameter.mechanisms import Baps, Gaussian, Laplace, MapPoint
from app.core.schema import parse_columns
from app.core.statistics.sums import ExactStatistic
from app.errors import CalibratedUnavailable

Array = NDArray[np.float64]

MESH = np.sin((np.arange(8_000) + 0.5) / 8_000 * np.pi / 2) ** 2


def by_hand(log_likelihood: Callable[[int], float], people: int, alpha: float, beta: float) -> Array:
    """The distribution function of θ on the mesh: conjugate posteriors of every sum."""
    density = np.zeros(len(MESH))
    logs = [betabinom.logpmf(t, people, alpha, beta) + log_likelihood(t) for t in range(people + 1)]
    weights = np.exp(np.array(logs) - max(logs))
    for t in np.flatnonzero(weights > 1e-14 * weights.max()):
        log_w = (alpha + t - 0.5) * np.log(MESH) + (beta + people - t - 0.5) * np.log1p(-MESH)
        posterior = np.exp(log_w - log_w.max())
        density += weights[t] * posterior / posterior.sum()
    return np.asarray(np.cumsum(density) / density.sum())


def check(points: Array, expected: Array) -> None:
    """Every quantile of the points within two strata, and a thousandth, of the one by hand."""
    points = np.sort(points[:, 0])
    reached = np.interp(points, MESH, expected)
    assert np.abs(reached - (np.arange(len(points)) + 0.5) / len(points)).max() < 2e-3


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("people", "samples", "temperature", "prior"),
    [(60, 1, 1.0, (1, 1)), (60, 40, 0.05, (0.5, 0.5)), (300, 5, 1.0, (2, 2)), (9, 3, 0.3, (0.5, 3))],
)
def test_belief_is_the_posterior_given_what_was_drawn(
    people: int, samples: int, temperature: float, prior: tuple[float, float]
) -> None:
    """With the sampler's own integers."""
    source = np.random.Generator(np.random.PCG64(5))
    model, mechanism = bernoulli("x", *prior, 0.05), Baps(samples, temperature)
    grid = model.grid(people, temperature)
    constants = model.constants(grid)
    for t in (0, people // 3, people):
        drawn = mechanism.draw(model, people, 1, ExactStatistic(t, people), source.bytes)
        places = [int(np.flatnonzero(grid.theta == value)[0]) for value in drawn[:, 0]]

        def log_likelihood(t: int, places: list[int] = places) -> float:
            table = integer_weights(constants, ExactStatistic(t, people))
            return float(np.log([table[place] / sum(table) for place in places]).sum())

        belief = mechanism.belief(model, people, 1, Evidence(drawn, None, b"a name"))
        check(belief.points, by_hand(log_likelihood, people, *prior))
        assert belief.parameters == mechanism.calibrated_parameters(model, people, 1)


@pytest.mark.cases(2)
@pytest.mark.slow
@pytest.mark.parametrize("score", ["log_density", "probability"])
@pytest.mark.parametrize("epsilon", [0.4, 6.0])
def test_belief_is_the_posterior_given_a_point(score: str, epsilon: float) -> None:
    """By the tables a point is drawn from; also for a point at the end of the range."""
    people, model = 80, bernoulli("x")
    mechanism = MapPoint(epsilon, "log_density" if score == "log_density" else "probability")
    tables = [mechanism.table(model, people, 1, ExactStatistic(t, people)) for t in range(people + 1)]
    for place in (0, len(tables[0][0]) // 4):

        def log_likelihood(t: int, place: int = place) -> float:
            below = [0, *tables[t][1].cumulative]
            return float(np.log((below[place + 1] - below[place]) / below[-1]))

        evidence = Evidence(tables[0][0][[place], None], None, b"a point")
        check(mechanism.belief(model, people, 1, evidence).points, by_hand(log_likelihood, people, 1, 1))


@pytest.mark.parametrize("noisy", [-40, 3, 37, 190])
def test_belief_is_the_posterior_given_a_noisy_sum(noisy: int) -> None:
    """Also of sums that noise has taken below zero or above the number of people."""
    people, model = 120, bernoulli("x", 1, 3)
    laplace, gaussian = Laplace(1, 0.3), Gaussian(1, 0.8, 1e-5)
    (scale,) = laplace.scales(model, 1)
    evidence = Evidence(np.zeros((1, 1)), np.array([noisy]), b"noise")
    check(laplace.belief(model, people, 1, evidence).points, by_hand(lambda t: -abs(noisy - t) / scale, people, 1, 3))
    (wide,), (factor,) = gaussian.scales(model, 1)
    evidence = Evidence(np.zeros((1, 1)), np.array([noisy * factor]), b"noise")
    expected = by_hand(lambda t: -(((noisy - t) * factor / wide) ** 2) / 2, people, 1, 3)
    check(gaussian.belief(model, people, 1, evidence).points, expected)


@pytest.mark.slow
def test_with_several_rows_their_number_is_weighed_too() -> None:
    """Up to two rows a person: every number of rows from n to 2n, equally likely before, and every sum of each."""
    people, model, mechanism = 12, bernoulli("x"), Gaussian(1, 3.0, 1e-4)
    (scale, rows_scale), (factor, rows_factor) = mechanism.scales(model, 2)
    measured = np.array([-3 * factor, 19 * rows_factor])
    density = np.zeros(len(MESH))
    for m in range(people, 2 * people + 1):
        for t in range(m + 1):
            away = ((-3 - (2 * t - m)) * factor / scale) ** 2 + ((19 - m) * rows_factor / rows_scale) ** 2
            log_w = (t + 0.5) * np.log(MESH) + (m - t + 0.5) * np.log1p(-MESH)
            posterior = np.exp(log_w - log_w.max())
            density += np.exp(-away / 2) * betabinom.pmf(t, m, 1, 1) * posterior / posterior.sum()
    belief = mechanism.belief(model, people, 2, Evidence(np.zeros((1, 1)), measured, b"rows"))
    check(belief.points, np.cumsum(density) / density.sum())


def test_one_stray_of_the_uniform_share_hardly_moves_the_belief() -> None:
    """Four draws at 0.3 and one at 0.9: the closed form without γ would answer .44."""
    model = bernoulli("x")
    theta = model.grid(1_000, 1.0).theta
    values = theta[[int(np.abs(theta - value).argmin()) for value in (0.29, 0.3, 0.3, 0.31, 0.9)]]
    belief = Baps(5).belief(model, 1_000, 1, Evidence(values[:, None], None, b"stray"))
    assert abs(belief.points.mean() - 0.3) < 0.003


def test_a_belief_is_the_same_bytes_from_the_same_names_and_leaves_the_trimmed_range() -> None:
    model, mechanism = bernoulli("x"), Baps(20, 0.2)
    drawn = mechanism.draw(model, 929, 1, ExactStatistic(27, 929), np.random.Generator(np.random.PCG64(3)).bytes)
    first, again, other = (
        mechanism.belief(model, 929, 1, Evidence(drawn, None, seed)).points for seed in (b"a", b"a", b"b")
    )
    assert first.tobytes() == again.tobytes() != other.tobytes()
    assert first.min() > 0
    assert np.median(first) < 0.05
    assert mechanism.calibrated_parameters(model, 929, 1)[0].lower < 1e-9


def test_noise_that_was_not_kept_has_no_belief() -> None:
    with pytest.raises(CalibratedUnavailable, match="not kept"):
        Laplace(1, 1.0).belief(bernoulli("x"), 100, 1, Evidence(np.full((1, 1), 0.5), None, b""))


@pytest.mark.slow
@pytest.mark.parametrize("people", [10_000, 1_000_000])
def test_one_draw_is_believed_as_narrowly_as_it_tells_among_however_many_people(people: int) -> None:
    """θ given one draw of N(m, v) with m itself N(θ, v) of it is N(draw, 2v): the prior is wide, and so is what the sampler's
    uniform share leaves standing, in a range of up to 17,500 sds."""
    column = {"x": {"type": "real", "lower": -15, "upper": 15}}
    spec = {"family": "normal_mean", "column": "x", "sd": 2, "prior": {"kind": "normal", "mean": 0.5, "sd": 2.5}}
    model = parse_model(spec | {"trim": {"lower": -5, "upper": 5}}, parse_columns(column))
    grid = model.grid(people, 1.0)
    drawn = grid.theta[grid.size * 2 // 3]
    points = Baps(1).belief(model, people, 1, Evidence(np.array([[drawn]]), None, b"one")).points[:, 0]
    sd = np.sqrt(2 * 4 / people)
    assert points.mean() == pytest.approx(drawn, abs=0.03 * sd)
    assert points.std() == pytest.approx(sd, rel=0.01)
