"""What a single sample lets one believe, enumerated: every sum, everything that can be released, Bernoulli with a uniform prior.

sd(θ|R) averaged over R, with p(θ|R) = Σ_t p(θ|t)·p(t|R), p(t) = 1/(n+1), θ|t ~ Beta(t+1, n−t+1): no formula of a plan in it.
Noise and tables are written here a second time, in doubles.
"""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.grids.bernoulli import bernoulli
from app.core.kinds.one_parameter.comparison import Comparison, alternatives
from app.core.kinds.one_parameter.mechanisms import Baps, Gaussian, Laplace, MapPoint, Mechanism
from app.core.kinds.one_parameter.mechanisms.map_point import likelihood_power, score_gain, score_sensitivity
from app.core.privacy.targets import Target
from tests.deep import deep, deep_unless

Array = NDArray[np.float64]
MODEL = bernoulli("x")
KEPT = [((10, 0.1, 1e-6), None), ((100, 0.1, 1e-3), 1)]
"""By the formula that `auto` once compared by, a single sample came first in both."""
MORE = itertools.product((10, 50, 100, 300, 929), (0.003, 0.03, 0.3, 1.0, 3.0, 10.0, 30.0), (0.0, 1e-9, 1e-6, 1e-3))


def laws(mechanism: Mechanism, people: int) -> Array:
    """p(R|t), a line for every sum."""
    totals = np.arange(people + 1.0)
    if isinstance(mechanism, Laplace | Gaussian):
        return noise(mechanism, totals)
    if isinstance(mechanism, Baps):
        return tables(people, mechanism.temperature)
    if mechanism.score == "log_density":
        return tables(people, likelihood_power(MODEL, mechanism.epsilon, people, 1))
    gain = score_gain(mechanism.epsilon, score_sensitivity(MODEL, people, 1))
    return shares(gain * tables(people, 1.0))


def noise(mechanism: Laplace | Gaussian, totals: Array) -> Array:
    """Of whole numbers where it is narrow; where it is wide some of them stand for all."""
    if isinstance(mechanism, Gaussian):
        scales, factors = mechanism.scales(MODEL, 1)
        sd = scales[0] / factors[0]
        return shares(-(((np.linspace(-8 * sd, totals[-1] + 8 * sd, 2_001) - totals[:, None]) / sd) ** 2) / 2)
    scale = mechanism.scales(MODEL, 1)[0]
    reach, step = math.ceil(30 * scale), max(1, int(scale / 20))
    return shares(-np.abs(np.arange(-reach, totals[-1] + reach + 1, step) - totals[:, None]) / scale)


def tables(people: int, power: float) -> Array:
    theta = MODEL.grid(people, power).theta
    totals = np.arange(people + 1.0)[:, None]
    log_prior = MODEL.grid(people, power).log_prior
    return shares(log_prior + power * (totals * np.log(theta) + (people - totals) * np.log1p(-theta)))


def shares(logs: Array) -> Array:
    weights: Array = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def mean_sd(mechanism: Mechanism, people: int) -> float:
    law, totals = laws(mechanism, people), np.arange(people + 1.0)
    mean = (totals + 1) / (people + 2)
    square = mean**2 + mean * (1 - mean) / (people + 3)
    released = law.mean(axis=0)
    given = law / (people + 1) / np.maximum(released, 1e-300)
    return float(released @ np.sqrt(np.maximum(square @ given - (mean @ given) ** 2, 0.0)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "samples"),
    deep_unless(lambda *case: case in KEPT, [*(setting for setting, _ in KEPT), *MORE], (None, 1)),
)
def test_auto_takes_no_single_sample_and_none_would_have_told_more(
    setting: tuple[int, float, float], samples: int | None
) -> None:
    people, epsilon, delta = setting
    best, *others = alternatives(Comparison(MODEL, people, 1, Target(epsilon, delta), samples))
    chosen = best.mechanism
    assert chosen.kind in ("laplace", "gaussian") or chosen.samples > 1
    singles = [each.mechanism for each in others if isinstance(each.mechanism, Baps | MapPoint)]
    told = [mean_sd(each, people) for each in singles if each.samples == 1]
    noisy = [each.mechanism for each in (best, *others) if isinstance(each.mechanism, Laplace | Gaussian)]
    assert told
    assert min(told) >= min(mean_sd(each, people) for each in noisy) * (1 - 1e-6), "at ε = 30 all tell the sum itself"


@pytest.mark.parametrize("people", [100, deep(10), deep(929)])
def test_what_a_plan_expects_of_one_draw_is_what_it_tells(people: int) -> None:
    """Down to temperatures at which a draw tells nothing, not even on which side of the trim the truth lies."""
    asked = Comparison(MODEL, people, 1, Target(1.0, 1e-6))
    for temperature in (1.0, 0.1, 0.01, 0.001):
        expected = asked.rated(Baps(1, temperature)).accuracy.calibrated_sd
        assert expected == pytest.approx(mean_sd(Baps(1, temperature), people), rel=0.025)
