"""The calibrated posterior of drawn samples is Σ_t p(θ|t)·p(t|R), by brute force over every sum and a fine mesh of θ."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import betabinom

from app.core.grids.bernoulli import bernoulli
from app.core.grids.integer_table import integer_weights
from app.core.kinds.belief import Evidence
from app.core.kinds.one_parameter.mechanisms import Baps
from app.core.statistics.sums import ExactStatistic

Array = NDArray[np.float64]

MESH = np.sin((np.arange(20_000) + 0.5) / 20_000 * np.pi / 2) ** 2


def by_hand(samples: Array, people: int, temperature: float, alpha: float, beta: float, trim: float) -> Array:
    """The distribution function of θ on the mesh: the sampler's own integers, conjugate posteriors, every sum."""
    model = bernoulli("x", alpha, beta, trim)
    grid = model.grid(people, temperature)
    constants = model.constants(grid)
    drawn = [int(np.flatnonzero(grid.theta == value)[0]) for value in samples]
    density = np.zeros(len(MESH))
    logs = []
    for t in range(people + 1):
        table = integer_weights(constants, ExactStatistic(t, people))
        total = sum(table)
        logs.append(betabinom.logpmf(t, people, alpha, beta) + float(np.sum([np.log(table[i] / total) for i in drawn])))
    weights = np.exp(np.array(logs) - max(logs))
    for t in np.flatnonzero(weights > 1e-14 * weights.max()):
        log_w = (alpha + t - 0.5) * np.log(MESH) + (beta + people - t - 0.5) * np.log1p(-MESH)
        posterior = np.exp(log_w - log_w.max())
        density += weights[t] * posterior / posterior.sum()
    return np.asarray(np.cumsum(density) / density.sum())


@pytest.mark.parametrize(
    ("people", "samples", "temperature", "prior"),
    [(60, 1, 1.0, (1, 1)), (60, 40, 0.05, (0.5, 0.5)), (300, 5, 1.0, (2, 2)), (9, 3, 0.3, (0.5, 3))],
)
def test_belief_is_the_posterior_given_what_was_drawn(
    people: int, samples: int, temperature: float, prior: tuple[float, float]
) -> None:
    """Every quantile of the points within two strata, and a thousandth, of the one by hand."""
    source = np.random.Generator(np.random.PCG64(5))
    model, mechanism = bernoulli("x", *prior, 0.05), Baps(samples, temperature)
    for t in (0, people // 3, people):
        drawn = mechanism.draw(model, people, 1, ExactStatistic(t, people), source.bytes)
        belief = mechanism.belief(model, people, 1, Evidence(drawn, None, b"a name"))
        expected = by_hand(drawn[:, 0], people, temperature, *prior, 0.05)
        points = np.sort(belief.points[:, 0])
        reached = np.interp(points, MESH, expected)
        assert np.abs(reached - (np.arange(len(points)) + 0.5) / len(points)).max() < 2e-3
        assert belief.parameters == mechanism.calibrated_parameters(model, people, 1)


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
