"""Bins are public and cover the lattice; wider families have the variance they say, and the model's own law at ratio 1."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.fit.bins import BINS_MAX, histogram_of
from app.core.kinds.one_parameter.fit.wider_law import model_shares, wider_shares
from app.core.statistics.histograms import HistogramRequest
from app.errors import CheckNotOffered
from tests.core.families.family_cases import CASES, build

CHECKED = [name for name in CASES if name != "bernoulli"]


def middle(model: Model) -> NDArray[np.float64]:
    ends = [model.spacing.forward(end) for end in (model.parameter.lower, model.parameter.upper)]
    return model.spacing.inverse(np.array([sum(ends) / 2]))


@pytest.mark.parametrize("name", CHECKED)
def test_bins_cover_the_lattice_and_shares_of_the_model_add_up(name: str) -> None:
    model = build(name)
    request = histogram_of(model)
    assert 2 <= request.bins <= BINS_MAX
    assert request.of == model.statistic
    theta = np.linspace(model.parameter.lower, model.parameter.upper, 7)
    shares = model_shares(model, request, theta)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert (shares >= 0).all()


def test_a_yes_or_no_has_no_check() -> None:
    with pytest.raises(CheckNotOffered) as refused:
        histogram_of(build("bernoulli"))
    assert refused.value.code == "check_not_offered"


@pytest.mark.parametrize("name", CHECKED)
def test_at_ratio_one_the_wider_family_is_the_model(name: str) -> None:
    model = build(name)
    request, theta = histogram_of(model), middle(model)
    wider = wider_shares(model, request, model.sums.mean(theta, 1), np.ones(1))
    assert wider == pytest.approx(model_shares(model, request, theta), abs=2e-5)


@pytest.mark.parametrize("ratio", [0.5, 1.5, 3.0])
@pytest.mark.parametrize("name", ["poisson", "binomial", "negative_binomial", "normal_mean", "gamma"])
def test_a_wider_family_varies_as_much_more_as_its_ratio_says(name: str, ratio: float) -> None:
    """On a lattice far finer and wider than any column's, so that nothing is clipped or rounded away."""
    model = build(name)
    theta = middle(model)
    mean, variance = (float(each[0]) for each in (model.sums.mean(theta, 1), model.sums.sd(theta, 1) ** 2))
    if model.sums.discrete:
        steps = int(model.sums.size) if name == "binomial" else int(mean + 60 * np.sqrt(ratio * variance)) + 5
        fine = replace(model, statistic=replace(model.statistic, lower=0.0, upper=float(steps), steps=steps))
    else:
        reach = 40 * np.sqrt(ratio * variance)
        low = mean - reach if name == "normal_mean" else 0.0
        fine = replace(model, statistic=replace(model.statistic, lower=low, upper=mean + reach, steps=20_000))
    statistic = fine.statistic
    request = HistogramRequest(statistic, tuple(range(statistic.steps + 1)))
    shares = wider_shares(fine, request, np.array([mean]), np.array([ratio]))[0]
    values = statistic.lower + statistic.step * np.arange(statistic.steps + 1)
    found = shares @ values
    assert found == pytest.approx(mean, rel=0.02)
    few_trials = name == "binomial" and ratio < 1  # not a whole number of them
    assert shares @ (values - found) ** 2 == pytest.approx(ratio * variance, rel=0.2 if few_trials else 0.06)


def test_overdispersed_counts_are_negative_binomial_by_an_independent_library() -> None:
    model = build("poisson")
    request = histogram_of(model)
    mean, ratio = 6.0, 2.5
    size = mean / (ratio - 1)
    expected = stats.nbinom(size, size / (size + mean)).cdf(request.of.lower + np.array(request.firsts[1:]) - 1)
    assert np.cumsum(wider_shares(model, request, np.array([mean]), np.array([ratio]))[0])[:-1] == pytest.approx(
        expected
    )
