"""Checks of fit find data of the model doubtful no more often than they say, and others as often as they say.

θ from the prior, rows from numpy's samplers, clipped and rounded as in a release, noise from its own law; seeds are fixed. With
a false-alarm rate of 5 % one sd over 1,000 datasets is 0.7 %, so that three of them are passed once in 700 settings.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.kinds.fit_check import FitCheck
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.fit.bins import histogram_of
from app.core.kinds.one_parameter.fit.ratio import noticed_ratio
from app.core.kinds.one_parameter.fit.shape_test import LEVEL, Histograms, null_of, places, seeded
from app.core.kinds.one_parameter.fit.verdict import verdict
from tests.deep import deep
from tests.statistical.noisy_sums import ROWS, lattice_steps, prior_draws

FAMILIES = sorted(set(ROWS) - {"bernoulli"})
SETTINGS = [(200, 0.3, None), (2_000, 0.1, None), (2_000, 1.0, 1e-6), (20_000, 0.1, None), (1_000, 3.0, None)]


def counted(model: Model, family: str, rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """(datasets, bins), by `numpy.histogram` of the lattice points of (rows, datasets)."""
    edges = np.array([*histogram_of(model).firsts, model.statistic.steps + 1]) - 0.5
    steps = lattice_steps(model, ROWS[family].column, rows)
    return np.array([np.histogram(column, edges)[0] for column in steps.T])


def doubtful(model: Model, people: int, check: FitCheck, noisy: NDArray[np.float64]) -> bool:
    of = Histograms(model, histogram_of(model), check, 1, people)
    around = places(of, noisy)
    found = around.discrepancies(noisy[None, :])
    return bool(null_of(around, seeded(noisy.tobytes())).tail(found)[0] <= LEVEL)


@pytest.mark.parametrize(
    ("family", "setting", "datasets"),
    [
        ("poisson", SETTINGS[0], 40),
        ("gamma", SETTINGS[4], 20),
        *(deep(family, setting, 1_000) for family in FAMILIES for setting in SETTINGS),
    ],
)
def test_data_of_the_model_are_found_doubtful_no_more_often_than_said(
    family: str, setting: tuple[int, float, float | None], datasets: int
) -> None:
    people, epsilon, delta = setting
    source = np.random.Generator(np.random.PCG64([23, people, FAMILIES.index(family)]))
    model, check = ROWS[family].model(family), FitCheck(epsilon, delta)
    alarms = 0
    for _ in range(datasets // 20):
        truth = prior_draws(source, model, 20)
        counts = counted(model, family, ROWS[family].draw(source, truth, (people, 20)))
        alarms += sum(doubtful(model, people, check, check.simulated(source, 1, each)) for each in counts)
    assert alarms <= datasets * LEVEL + 3 * np.sqrt(datasets * LEVEL * (1 - LEVEL))


def test_the_ratio_said_to_be_noticed_four_times_out_of_five_is() -> None:
    """Poisson counts that are negative binomial by numpy: 80 % of 30, within three sds."""
    people, mean, check = 1_500, 2.5, FitCheck(0.2)
    model = ROWS["poisson"].model("poisson")
    of = Histograms(model, histogram_of(model), check, 1, people)
    source = np.random.Generator(np.random.PCG64(29))
    own = counted(model, "poisson", source.poisson(mean, (people, 1)).astype(np.float64))[0]
    around, generator = places(of, own.astype(np.float64)), seeded(b"test")
    ratio = noticed_ratio(around, null_of(around, generator), generator)
    assert ratio is not None
    size = mean / (ratio - 1)
    rows = source.negative_binomial(size, size / (size + mean), (people, 30)).astype(np.float64)
    found = [
        doubtful(model, people, check, check.simulated(source, 1, each)) for each in counted(model, "poisson", rows)
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.22)


def test_ratios_of_variances_are_found_and_their_intervals_hold_them() -> None:
    """Of 8 intervals of 90 %, at least 5: fewer, where 90 % are held, once in 200 times."""
    people, mean, ratio, check = 3_000, 2.5, 2.8, FitCheck(0.2)
    model = ROWS["poisson"].model("poisson")
    source = np.random.Generator(np.random.PCG64(31))
    size = mean / (ratio - 1)
    rows = source.negative_binomial(size, size / (size + mean), (people, 8)).astype(np.float64)
    found = []
    for each in counted(model, "poisson", rows):
        noisy = check.simulated(source, 1, each).astype(np.int64)
        found.append(verdict(model, people, 1, check, noisy, b"seed"))
    assert all(each.outcome == "doubtful" and "counts vary" in each.text for each in found)
    assert np.mean([each.ratio for each in found]) == pytest.approx(ratio, rel=0.1)
    assert sum(each.ratio_interval[0] <= ratio <= each.ratio_interval[1] for each in found) >= 5


def test_a_shape_that_varies_as_much_is_still_found_out() -> None:
    """Counts of 0 or 5 only, mean 2.5 and a variance a little above: half of all are 0 where the model has 8 %."""
    people, check = 2_000, FitCheck(0.1)
    model = ROWS["poisson"].model("poisson")
    source = np.random.Generator(np.random.PCG64(37))
    rows = np.where(source.random((people, 1)) < 0.5, 1.0, 4.0)
    noisy = check.simulated(source, 1, counted(model, "poisson", rows)[0]).astype(np.int64)
    found = verdict(model, people, 1, check, noisy, b"seed")
    assert found.outcome == "doubtful"
    assert verdict(model, people, 1, check, noisy, b"seed") == found


def test_a_check_too_noisy_to_see_anything_says_so() -> None:
    model, check = ROWS["poisson"].model("poisson"), FitCheck(0.001)
    noisy = check.simulated(np.random.default_rng(1), 1, np.full(histogram_of(model).bins, 10, dtype=np.int64))
    found = verdict(model, 100, 1, check, noisy.astype(np.int64), b"seed")
    assert found.noticed_ratio is None
    if found.outcome == "no_objection":
        assert "it says little" in found.text
