"""The law of clipped and rounded sums, against exact convolutions of one row's law and against plain simulation."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from app.core.kinds import parse_model
from app.core.kinds.belief import Evidence
from app.core.kinds.one_parameter.beliefs.clipped_row import clipped_share
from app.core.kinds.one_parameter.beliefs.sum_of_rows import RowLaw, row_law
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps
from app.core.schema import parse_columns
from app.errors import CalibratedUnavailable
from tests.statistical.believed_releases import lattice_total
from tests.statistical.noisy_sums import ROWS

Array = NDArray[np.float64]


def model_of(family: str, upper: float, kind: str = "integer", **known: Any) -> Model:
    spec = {"family": family, "column": "x", **known}
    return parse_model(spec, parse_columns({"x": {"type": kind, "lower": 0, "upper": upper}}))  # type: ignore[return-value]


def row_masses(model: Model, theta: float) -> Array:
    """One row on its lattice, by scipy's distributions."""
    steps = model.statistic.steps
    law = {
        "poisson": lambda: stats.poisson(theta),
        "geometric": lambda: stats.nbinom(1, theta),
        "exponential": lambda: stats.expon(scale=1 / theta),
    }[model.family]()
    half = 0.0 if model.sums.discrete else 0.5
    below = law.cdf(np.arange(steps) + half)
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


@pytest.mark.parametrize(
    ("model", "theta"),
    [
        (model_of("poisson", 6), 0.5),
        (model_of("poisson", 6), 3.0),
        (model_of("poisson", 6), 7.0),
        (model_of("geometric", 20), 0.08),
        (model_of("exponential", 12), 0.05),
        (model_of("exponential", 12), 0.6),
    ],
    ids=lambda value: getattr(value, "family", str(value)),
)
@pytest.mark.parametrize("rows", [30, 200])
def test_three_moments_are_near_the_exact_law_of_the_sum(model: Model, theta: float, rows: int) -> None:
    """Total variation from the n-fold convolution: under 2 % with 30 rows and 0.5 % with 200."""
    law: RowLaw = row_law(model)
    length = rows * model.statistic.steps + 1
    size = 1 << length.bit_length()
    exact = np.fft.irfft(np.fft.rfft(row_masses(model, theta), size) ** rows, size)[:length]
    phi = np.array([model.spacing.forward(theta)])
    found = np.exp(law.log_sum(np.arange(length, dtype=np.float64), phi, rows)[0])
    assert np.abs(found - exact).sum() / 2 < (0.02 if rows == 30 else 0.005)


@pytest.mark.parametrize("family", ["poisson", "negative_binomial", "exponential", "gamma", "normal_mean", "weibull"])
def test_moments_of_a_row_are_those_of_simulated_rows(family: str) -> None:
    """40,000 rows where a tenth or more is clipped: mean and variance of the row within five standard errors."""
    model = ROWS[family].model(family)
    law = row_law(model)
    phi = np.linspace(law.prior.first, law.prior.last, 400)[1:-1]
    theta = law.prior.theta(phi)
    share = clipped_share(model, theta)
    place = int(np.abs(share - 0.15).argmin())
    assert share[place] > 0.05
    source = np.random.Generator(np.random.PCG64(17))
    totals = np.array([lattice_total(source, model, theta[place], 100) for _ in range(400)]) / 100
    mean, variance, _ = (float(each[0]) for each in law.row.at(phi[[place]], theta[[place]]))
    assert abs(totals.mean() - mean) < 5 * np.sqrt(variance / 40_000)
    assert totals.var() * 100 == pytest.approx(variance, rel=5 * np.sqrt(2 / 400))


def test_few_rows_that_may_be_clipped_have_no_belief_and_probabilities_always_do() -> None:
    with pytest.raises(CalibratedUnavailable, match="fewer than 30"):
        Baps(1).calibrated_parameters(model_of("exponential", 12), 20, 1)
    evidence = Evidence(np.array([[0.5]]), None, b"")
    with pytest.raises(CalibratedUnavailable, match="fewer than 30"):
        Baps(1).belief(model_of("exponential", 12), 20, 1, evidence)
    binomial = model_of("binomial", 4, trials=4)
    assert Baps(1).calibrated_parameters(binomial, 2, 1)[0].upper == pytest.approx(1)


@pytest.mark.parametrize(
    ("prior", "ends"),
    [
        ({"kind": "gamma", "shape": 2.0, "rate": 3.0}, (4.7e-7, 10.5)),
        ({"kind": "log_uniform"}, (0.3, 6.0)),
        ({"kind": "uniform"}, (0.3, 6.0)),
    ],
)
def test_a_prior_that_needs_a_range_keeps_it_and_others_leave_it(
    prior: dict[str, Any], ends: tuple[float, float]
) -> None:
    model = model_of("poisson", 12, prior=prior, trim={"lower": 0.3, "upper": 6.0})
    (parameter,) = Baps(1).calibrated_parameters(model, 100, 1)
    assert (parameter.lower, parameter.upper) == pytest.approx(ends, rel=0.05)
