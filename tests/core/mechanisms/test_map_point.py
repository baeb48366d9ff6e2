"""`map` on the grid: for every pair of neighbours, the tables actually drawn from differ by no more than was charged."""

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.grids.integer_table import integer_weights
from app.core.kinds.mechanism_fields import SCORES
from app.core.kinds.one_parameter import ONE_PARAMETER, map_simulation
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.map_simulation import WINDOW
from app.core.kinds.one_parameter.mechanisms import MapPoint
from app.core.kinds.one_parameter.mechanisms.map_point import score_errors, score_sensitivity
from app.core.privacy import ORDERS
from app.core.statistics.sums import ExactStatistic
from app.errors import InvalidMechanism
from tests.core.brute_force import renyi_divergences
from tests.core.families.family_cases import build, priors_of, with_steps
from tests.core.families.neighbouring_pairs import reachable_pairs
from tests.deep import deep, deep_unless

SMALL = [
    ("bernoulli", 6, 1), ("bernoulli", 3, 2), ("poisson", 3, 1), ("geometric", 2, 2), ("exponential", 3, 1),
    ("normal_mean", 3, 1),
]  # fmt: skip


def small(family: str, unit_rows: int) -> Model:
    model = build(family, priors_of(family)[0])
    return model if family == "bernoulli" else with_steps(model, 2 if unit_rows > 1 else 3)


UNIT = 2**120


def log_shares(weights: list[int]) -> NDArray[np.object_]:
    """Logarithms at 40 digits, as whole numbers in units of 2⁻¹²⁰, which arrays subtract quickly."""
    with mpmath.workdps(40):
        total = mpmath.mpf(sum(weights))
        return np.array([int(mpmath.log(weight / total) * UNIT) for weight in weights], dtype=object)


def tables(
    mechanism: MapPoint, model: Model, people: int, unit_rows: int, statistics: set[Any]
) -> dict[Any, list[int]]:
    found = {}
    for statistic in statistics:
        theta, table = mechanism.table(model, people, unit_rows, ExactStatistic(*statistic))
        cumulative = [0, *table.cumulative[: len(theta)]]
        found[statistic] = [after - before for before, after in itertools.pairwise(cumulative)]
    return found


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("setting", "score"),
    deep_unless(lambda setting, score: SMALL.index(setting) % len(SCORES) == SCORES.index(score), SMALL, SCORES),
)
@pytest.mark.usefixtures("shared_constants")
def test_no_pair_of_neighbours_differs_by_more_than_the_charge(setting: tuple[str, int, int], score: Any) -> None:
    """Pure ε from the integer weights themselves, at 40 digits; and the Rényi curve from its definition."""
    family, people, unit_rows = setting
    model = small(family, unit_rows)
    pairs = reachable_pairs(model.statistic.steps, people, unit_rows)
    for epsilon in (1e-4, 0.5, 20.0, 9_000.0):
        mechanism = MapPoint(epsilon, score)
        cost = mechanism.cost(model, people, unit_rows).total
        drawn = tables(mechanism, model, people, unit_rows, {side for pair in pairs for side in pair})
        logs = {statistic: log_shares(weights) for statistic, weights in drawn.items()}
        worst = max(np.abs(logs[p] - logs[q]).max() for p, q in pairs if p < q)  # the same both ways
        assert worst <= int(cost.pure * UNIT)  # a power of two: both sides exact
        doubles = {statistic: (row / UNIT).astype(np.float64) for statistic, row in logs.items()}
        first, second = (np.array([doubles[pair[side]] for pair in pairs]) for side in (0, 1))
        for order, charged in zip(ORDERS[::9], cost.curve[::9], strict=True):
            assert renyi_divergences(first, second, order).max() * (1 - 1e-9) <= charged


@pytest.mark.parametrize(("family", "people", "unit_rows"), SMALL)
def test_sensitivity_covers_every_change_of_a_points_probability(family: str, people: int, unit_rows: int) -> None:
    model = small(family, unit_rows)
    constants = model.constants(model.grid(people * unit_rows, 1.0))
    pairs = reachable_pairs(model.statistic.steps, people, unit_rows)
    shares = {}
    for statistic in {side for pair in pairs for side in pair}:
        weights = integer_weights(constants, ExactStatistic(*statistic))
        shares[statistic] = np.array(weights, dtype=object) / sum(weights)
    largest = max(float(np.abs(shares[p] - shares[q]).max()) for p, q in pairs)
    assert largest <= score_sensitivity(model, people, unit_rows)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.usefixtures("shared_constants")
def test_a_large_budget_finds_the_peak_and_a_tiny_one_finds_nothing(score: Any) -> None:
    model = build("bernoulli")
    source = np.random.Generator(np.random.PCG64(4))
    sharp = [
        float(MapPoint(5_000.0, score).draw(model, 200, 1, ExactStatistic(60, 200), source.bytes)[0, 0])
        for _ in range(10)
    ]
    assert max(abs(value - 0.3) for value in sharp) < 0.05
    blunt = [
        float(MapPoint(1e-5, score).draw(model, 200, 1, ExactStatistic(60, 200), source.bytes)[0, 0]) for _ in range(25)
    ]
    assert np.ptp(blunt) > 0.5


@pytest.mark.slow
def test_the_charge_is_for_one_point_once() -> None:
    mechanism = ONE_PARAMETER.parse_mechanism({"kind": "map", "epsilon": 0.7})
    cost = mechanism.cost(build("bernoulli"), 50, 1)
    assert mechanism.with_samples(40).samples == 1
    assert cost.per_sample.pure == 0
    assert cost.total == cost.prefix(1) == cost.once
    assert cost.total.pure <= 0.7
    by_probability = MapPoint(0.7, "probability")
    assert 0.7 - 1e-9 <= by_probability.cost(build("bernoulli"), 10**6, 1).total.pure <= 0.7
    assert by_probability.cost(build("bernoulli"), 400, 1).total.pure <= 0.7 * 0.7  # every sum is visited


@pytest.mark.slow
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("family", ["bernoulli", deep("poisson"), deep("normal_mean")])
@pytest.mark.usefixtures("shared_constants")
def test_simulated_errors_are_those_of_the_tables_drawn_from(family: str, score: Any) -> None:
    """400 datasets from the model, θ from the prior, each table summed exactly: the sd of such a figure is 4 %, 16 % allowed."""
    model, people, source = build(family, typical=True), 300, np.random.Generator(np.random.PCG64(5))
    grid = model.grid(1, 1.0)
    prior = np.exp(grid.log_prior - grid.log_prior.max())
    mechanism, squares = MapPoint(6.0, score), []
    for theta in source.choice(grid.theta, 400, p=prior / prior.sum()):
        mean, sd = (
            float(each[0]) for each in (model.sums.mean(theta[None], people), model.sums.sd(theta[None], people))
        )
        steps = round((source.normal(mean, sd) - people * model.statistic.lower) / model.statistic.step)
        statistic = ExactStatistic(min(max(steps, 0), people * model.statistic.steps), people)
        points, table = mechanism.table(model, people, 1, statistic)
        weights = np.diff([0, *table.cumulative[: len(points)]]).astype(float)
        squares.append(float((weights * (points - theta) ** 2).sum() / weights.sum()))
    found = score_errors(model, 6.0, people, 1)[score].total_sd
    assert found == pytest.approx(math.sqrt(np.mean(squares)), rel=0.16)


@pytest.mark.slow
def test_a_window_of_a_large_grid_leaves_out_nothing_that_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    model, people = build("bernoulli"), 10**6
    assert model.grid(people, 1.0).size > 4 * WINDOW
    near = {epsilon: score_errors(model, epsilon, people, 1) for epsilon in (0.3, 3.0)}
    monkeypatch.setattr("app.core.kinds.one_parameter.map_simulation.WINDOW", 10**6)
    map_simulation._posterior.cache_clear()
    for epsilon, errors in near.items():
        for score, whole in score_errors(model, epsilon, people, 1).items():
            assert errors[score].total_sd == pytest.approx(whole.total_sd, rel=1e-6)
    map_simulation._posterior.cache_clear()


@pytest.mark.slow
def test_the_better_score_depends_on_people_and_epsilon_and_auto_takes_it() -> None:
    """Few people or a small ε leave points' probabilities lost among the rest; many people and ε find the peak exactly."""
    model = build("bernoulli")
    chosen = {}
    for people, epsilon in ((100, 1.0), (10**5, 0.1), (10**5, 10.0), (10**7, 1.0)):
        settled = MapPoint(epsilon, "auto").settled(model, people, 1)
        errors = {score: error.total_sd for score, error in score_errors(model, epsilon, people, 1).items()}
        assert errors[settled.score] == min(errors.values())
        chosen[people, epsilon] = settled.score
    assert list(chosen.values()) == ["log_density", "log_density", "probability", "probability"]


def test_a_point_with_its_score_left_open_is_the_point_with_the_better_score() -> None:
    model, statistic = build("bernoulli"), ExactStatistic(60, 200)
    left_open = ONE_PARAMETER.parse_mechanism({"kind": "map", "epsilon": 2.0})
    assert left_open == ONE_PARAMETER.parse_mechanism({"kind": "map", "epsilon": 2.0, "score": "auto"})
    settled = MapPoint(2.0, "auto").settled(model, 200, 1)
    drawn = [
        each.draw(model, 200, 1, statistic, np.random.Generator(np.random.PCG64(3)).bytes)
        for each in (left_open, settled)
    ]
    assert (drawn[0] == drawn[1]).all()
    assert settled.score in SCORES
    assert left_open.cost(model, 200, 1) == settled.cost(model, 200, 1)


@pytest.mark.parametrize(
    "spec", [{}, {"epsilon": math.nan}, {"epsilon": 0}, {"epsilon": -1}, {"epsilon": math.inf}, {"epsilon": True},
             {"epsilon": "1"}, {"epsilon": 1, "score": "density"}, {"epsilon": 1, "score": []}, {"epsilon": 1, "samples": 3},
             {"epsilon": 10**400}]
)  # fmt: skip
def test_a_bad_map_is_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidMechanism, match="mechanism"):
        ONE_PARAMETER.parse_mechanism({"kind": "map", **spec})
