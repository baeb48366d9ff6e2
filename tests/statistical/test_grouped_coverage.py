"""Calibrated intervals of private groups and conditions hold the truth as often as they say, whatever the groups' sizes.

On average over the declared prior: θ from its own, the number of people flat from none to all. Beside that, sizes held fixed at
0, 1, 10 and 1,000. In `make test` 24 intervals, one sd 6 %: below 70 % is seen by mistake about once in a thousand runs of other
seeds. `make test-deep` has 400 of each family, and of each size, one sd 1.5 %: within 6 %. Seeds are fixed.
"""

import numpy as np
import pytest

from app.core.kinds import parse_mechanism, parse_model
from app.core.kinds.belief import Evidence
from app.core.kinds.networks.mechanisms import NetworkGaussian, NetworkLaplace
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.one_parameter.beliefs.sum_of_rows import row_law
from app.core.kinds.one_parameter.private.model import MeasuredGroups
from app.core.kinds.private_groups import PrivateGroups
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.private.mechanism import GroupPerturbedStatistics, group_perturbation
from app.core.kinds.regression.private.model import MeasuredRegressions
from app.core.noise.discrete_gaussian import seeded_noise
from app.core.schema import parse_columns
from app.core.statistics.groups import ExactGroups, GroupColumn
from app.core.statistics.sums import ExactStatistic
from tests.core.regression.belief_coverage import (
    POINTS,
    linear_case,
    mean_case,
    normal_case,
    precision_case,
    rank_of,
)
from tests.core.regression.belief_coverage import held as interval_held
from tests.statistical.noisy_networks import held_by_many

PEOPLE = 1_200
SIZES = (0, 1, 10, 1_000)
FAMILIES = {
    "bernoulli": {"family": "bernoulli", "column": "cured"},
    "poisson": {"family": "poisson", "column": "visits", "prior": {"kind": "gamma", "shape": 3, "rate": 0.5}},
    "exponential": {"family": "exponential", "column": "days", "prior": {"kind": "gamma", "shape": 4, "rate": 4}},
}
COLUMNS = parse_columns(
    {
        "cured": {"type": "binary"},
        "visits": {"type": "integer", "lower": 0, "upper": 40},
        "days": {"type": "real", "lower": 0, "upper": 10},
        "ward": {"type": "categorical", "levels": [*"abcd"]},
    }
)


def held(family: str, releases: int, sizes: tuple[int, ...] | None) -> np.ndarray:
    """(releases, groups): whether the 90 % interval held."""
    model = parse_model(FAMILIES[family] | {"groups": {"by": ["ward"]}}, COLUMNS)
    assert isinstance(model, MeasuredGroups)
    mechanism = parse_mechanism({"kind": "gaussian", "samples": 1, "epsilon": 1.0, "delta": 1e-6}, model)
    source = np.random.Generator(np.random.PCG64([ord(letter) for letter in f"{family}{sizes}"]))
    law, request = row_law(model.inner), model.inner.statistic
    weight = np.exp(law.log_weight - law.log_weight.max())
    found = []
    for release in range(releases):
        rows = source.integers(0, PEOPLE + 1, 4) if sizes is None else np.array(sizes)
        truths = law.prior.theta(source.choice(law.phi, 4, p=weight / weight.sum()))
        parts = []
        for truth, count in zip(truths.tolist(), rows.tolist(), strict=True):
            if family == "bernoulli":
                values = (source.random(count) < truth).astype(float)
            elif family == "poisson":
                values = source.poisson(truth, count).astype(float)
            else:
                values = source.exponential(1 / truth, count)
            steps = np.floor((values.clip(request.lower, request.upper) - request.lower) / request.step + 0.5)
            parts.append(ExactStatistic(int(steps.sum()), count))
        measured = mechanism.measure(model, PEOPLE, 1, ExactGroups(tuple(parts)), seeded_noise(source))
        evidence = Evidence(np.zeros((1, 4)), measured, f"{family}{release}".encode())
        points = mechanism.belief(model, PEOPLE, 1, evidence).points
        low, high = np.quantile(points, [0.05, 0.95], axis=0)
        found.append((low <= truths) & (truths <= high))
    return np.array(found)


YES_NO = parse_columns({name: {"type": "binary"} for name in (*"abcd", "old")})
FOUR = {
    "family": "network",
    "nodes": {"a": {}, "b": {"parents": ["a"]}, "c": {"parents": ["a", "b"]}, "d": {"parents": ["c"]}},
}
CONDITIONED = parse_model(FOUR | {"groups": {"by": [], "where": "old"}}, YES_NO)


def held_by_networks(
    kind: str, epsilon: float, datasets: int, sizes: tuple[int, ...] | None, unit_rows: int = 1, part: int = 0
) -> np.ndarray:
    """(datasets,): shares of a network's parameters that 90 % intervals hold, of the rows that meet a private condition."""
    assert isinstance(CONDITIONED, NetworkModel)
    noise = NetworkGaussian(1, epsilon, 1e-6) if kind == "gaussian" else NetworkLaplace(1, epsilon)
    seed = [len(kind), round(10 * epsilon), unit_rows, part, *(1 + size for size in sizes or (-1,))]
    source = np.random.Generator(np.random.PCG64(seed))
    found = held_by_many(CONDITIONED, noise, PEOPLE, unit_rows, datasets, source, sizes)
    return np.array([each.parameters[0] for each in found])


@pytest.mark.slow
def test_intervals_of_networks_of_few_and_many_rows_that_meet_a_private_condition_hold():
    """Four datasets, 18 parameters that depend on each other: one sd about 5 %, so 0.7 is four of them; the seed is fixed."""
    assert held_by_networks("gaussian", 1.0, 4, SIZES).mean() >= 0.7


@pytest.mark.deep
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(
    ("kind", "epsilon", "unit_rows"),
    [("gaussian", 1.0, 1), ("gaussian", 4.0, 2), ("laplace", 1.0, 1), ("laplace", 0.3, 1)],
)
@pytest.mark.parametrize("size", [None, *SIZES])
def test_intervals_of_networks_of_any_number_of_rows_hold(kind: str, epsilon: float, unit_rows: int, size: int | None):
    """300 datasets: one sd about 0.5 %. On average over sizes within 2 %; given a size, which is not promised, within 4 %."""
    sizes = None if size is None else (size,)
    shares = np.concatenate([held_by_networks(kind, epsilon, 20, sizes, unit_rows, part) for part in range(15)])
    print(f"{kind} ε={epsilon} k={unit_rows} size={size}: {shares.mean():.4f} ± {shares.std() / 300**0.5:.4f}")  # noqa: T201
    assert shares.mean() == pytest.approx(0.9, abs=0.02 if size is None else 0.04)


REGRESSIONS = {
    "mean": mean_case,
    "normal": normal_case,
    "linear": lambda: linear_case("nn", "even", 0.2),
    "correlated": lambda: linear_case("nnbl", "correlated", 0.2),
    "noise unknown": lambda: linear_case("nn", "even", None),
    "matrix": lambda: precision_case(2),
}
WARDS = PrivateGroups((GroupColumn("ward", ("a", "b")),))


def held_by_regressions(
    name: str, epsilon: float, datasets: int, size: int | None, groups: PrivateGroups
) -> np.ndarray:
    """(datasets,): shares of coefficients and figures derived from them that 90 % intervals of 39 points hold."""
    case = REGRESSIONS[name]()
    model, mechanism = MeasuredRegressions(case.model, groups), GroupPerturbedStatistics(1, epsilon, 1e-6)
    own, source = (
        group_perturbation(model, PEOPLE, 1),
        np.random.default_rng([len(name), size or 0, round(9 * epsilon)]),
    )
    scale, found = mechanism.scale(own, 1), []
    for dataset in range(datasets):
        rows = int(source.integers(0, PEOPLE + 1)) if size is None else size
        truth, private, _ = case.simulate(max(rows, 1), source)
        private = private if rows else case.model.statistic.of_no_rows()
        measured = seeded_noise(source)(own.values(private), scale * own.ratios)
        points = own.believed(measured, scale, POINTS, SeededStream(b"%d" % dataset))
        found.append(interval_held(rank_of(case, truth, points), 0.9).mean())
    return np.array(found)


@pytest.mark.slow
def test_intervals_of_regressions_in_small_and_large_private_groups_hold():
    """Twelve means, twelve of mean and sd, two lines: one sd is about 5 %, so 0.72 is more than three away; seeds are fixed."""
    asked = [
        ("mean", 6, 0),
        ("mean", 6, 1_000),
        ("normal", 6, 0),
        ("normal", 6, 1_000),
        ("linear", 1, 1),
        ("linear", 1, 1_000),
        ("matrix", 1, 10),
    ]
    found = [held_by_regressions(name, 1.0, datasets, size, WARDS) for name, datasets, size in asked]
    assert np.concatenate(found).mean() >= 0.72


@pytest.mark.deep
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", REGRESSIONS)
@pytest.mark.parametrize("groups", [WARDS, PrivateGroups(())], ids=["by", "where"])
@pytest.mark.parametrize("size", [None, *SIZES])
def test_intervals_of_regressions_in_private_groups_hold_as_often_as_they_say(
    name: str, groups: PrivateGroups, size: int | None
):
    """200 datasets, one sd up to 1.7 %. On average over sizes within 4 %; given a size, which is not promised, at least 84 %."""
    shares = held_by_regressions(name, 1.0, 200, size, groups)
    print(f"{name} {'by' if groups.by else 'where'} size={size}: {shares.mean():.4f} ± {shares.std() / 200**0.5:.4f}")  # noqa: T201
    assert shares.mean() >= 0.84
    assert size is not None or shares.mean() == pytest.approx(0.9, abs=0.04)


def test_intervals_of_small_and_large_private_groups_hold():
    assert held("bernoulli", 6, SIZES).mean() >= 0.7


@pytest.mark.deep
@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_of_private_groups_hold_as_often_as_they_say(family: str):
    assert held(family, 100, None).mean() == pytest.approx(0.9, abs=0.06)


@pytest.mark.deep
@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_of_groups_of_every_size_hold_about_as_often(family: str):
    """Given the size the promise is not made; no size is far off."""
    shares = held(family, 400, SIZES).mean(axis=0)
    assert (shares >= 0.84).all(), shares
