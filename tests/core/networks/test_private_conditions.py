"""A network of the rows that meet a private condition: what nobody may know about who does, and what is believed nevertheless."""

import itertools
from typing import Any

import numpy as np
import pytest

from app.core.kinds import kind_of, parse_mechanism, parse_model
from app.core.kinds.accuracy_goal import AccuracyQuestion
from app.core.kinds.groups.model import StratifiedModel
from app.core.kinds.networks.beliefs.block_posterior import block_posterior
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.pace import Pace, pace
from app.core.kinds.networks.beliefs.posterior import posterior_samples
from app.core.kinds.networks.beliefs.record_chain import RecordChain
from app.core.kinds.networks.mechanisms import NetworkGaussian, NetworkLaplace
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import count_records
from app.core.kinds.plan_figures import Choice, PlanQuestion
from app.core.privacy import ORDERS
from app.core.privacy.targets import Target
from app.core.schema import parse_columns
from app.core.statistics.groups import ExactGroups, GroupedRequest
from app.errors import InvalidInput, InvalidMechanism, InvalidModel
from tests.core.networks.enumerated_tables import cells_of, enumerated
from tests.core.networks.noise_oracle import exact_noise_cost
from tests.deep import deep

COLUMNS = parse_columns(
    {
        "cured": {"type": "binary"},
        "sick": {"type": "binary"},
        "stage": {"type": "categorical", "levels": ["I", "II", "III"], "missing": "group"},
        "old": {"type": "binary"},
        "ward": {"type": "categorical", "levels": ["a", "b"]},
        "arm": {"type": "categorical", "levels": ["drug", "placebo"], "public": True},
    }
)
ARROW: dict[str, Any] = {"family": "network", "nodes": {"sick": {}, "cured": {"parents": ["sick"]}}}
ALONE: dict[str, Any] = {"family": "network", "nodes": {"sick": {}}}
NAIVE: dict[str, Any] = {"family": "naive_bayes", "class": "cured", "features": ["sick"]}
OLD = {"by": [], "where": "old"}
NOISE: dict[str, dict[str, Any]] = {
    "gaussian": {"kind": "gaussian", "samples": 5, "epsilon": 1.0, "delta": 1e-6},
    "laplace": {"kind": "laplace", "samples": 5, "epsilon": 1.0},
}
CHECKED = (0, 3, 8, 16, 30)


def conditioned(described: dict[str, Any], **groups: Any) -> Any:
    return parse_model(described | {"groups": OLD | groups}, COLUMNS)


def measured_of_everyone(model: NetworkModel, mechanism: Any, unit_rows: int) -> np.ndarray:
    """What noise would be added to, of every person there can be: at most so many rows, each inside or outside."""
    values = [range(len(node.levels)) for node in model.network.nodes]
    records = [*itertools.product(*values), None]
    found = []
    for rows in range(1, unit_rows + 1):
        for person in itertools.combinations_with_replacement(range(len(records)), rows):
            inside = [records[place] for place in person if records[place] is not None]
            counts = count_records(model.network, np.array(inside, dtype=np.int64).reshape(len(inside), len(values)))
            found.append(mechanism.measured_with(model, 6, unit_rows, counts, lambda values, _: values))
    return np.unique(np.array(found), axis=0)


@pytest.mark.parametrize("described", [ALONE, ARROW], ids=["alone", "arrow"])
@pytest.mark.parametrize("unit_rows", [1, 2, deep(3)])
def test_no_person_moves_what_is_measured_by_more_than_is_charged(described: dict[str, Any], unit_rows: int):
    """Any rows by any others, inside or outside before and after. The costliest, inside before and after, is what is charged."""
    model = conditioned(described)
    gaussian = parse_mechanism(NOISE["gaussian"], model)
    scale, factor = gaussian.scale(model, unit_rows)
    values = measured_of_everyone(model, gaussian, unit_rows) / (scale * factor)
    worst = float(((values[:, None] - values[None]) ** 2).sum(axis=2).max()) / 2
    charged = gaussian.cost(model, 6, unit_rows).once.gaussian_rho
    assert charged is not None
    assert worst <= charged * (1 + 1e-12)
    assert worst == pytest.approx(charged, rel=1e-6)

    laplace = parse_mechanism(NOISE["laplace"], model)
    values = measured_of_everyone(model, laplace, unit_rows)
    moves = np.unique(np.sort(np.abs(values[:, None] - values[None]).reshape(-1, values.shape[1]), axis=1), axis=0)
    moved = {tuple(int(m) for m in move if m) for move in moves}
    exact = exact_noise_cost(moved, laplace.scale(model, unit_rows), [ORDERS[at] for at in CHECKED])
    once = laplace.cost(model, 6, unit_rows).once
    charges = np.array([*(once.curve[at] for at in CHECKED), once.pure])
    assert (exact <= charges * (1 + 1e-9)).all()
    assert (charges <= exact * 1.02 + 2e-9).all()


@pytest.mark.slow
def test_only_the_rows_inside_are_counted_and_their_number_is_asked_of_nobody():
    model = conditioned(ARROW)
    assert isinstance(model.statistic, GroupedRequest)
    assert model.statistic.size == 1
    counts = count_records(model.network, np.array([[0, 1], [1, 1]]))
    statistic = ExactGroups((counts,))
    for kind, spec in NOISE.items():
        mechanism = parse_mechanism(spec, model)
        measured = mechanism.measure(model, 50, 1, statistic)
        tables = mechanism.noisy_tables_of(model, 50, 1, measured)
        assert tables.rows == (0, 50), kind
        assert len(measured) == model.network.cell_count
        assert mechanism.draw(model, 50, 1, statistic, np.random.default_rng(1).bytes).shape == (5, 6)


def test_rows_without_a_value_are_outside_and_groups_become_nodes():
    staged = {"family": "network", "nodes": {"stage": {}, "cured": {"parents": ["stage"]}}}
    gaps = parse_model(staged, COLUMNS)
    assert (gaps.statistic.present, gaps.statistic.where) == (("stage",), None)
    assert kind_of(gaps).name == "network by a private condition"
    both = conditioned(ARROW, by=["ward"])
    assert both.network.nodes[0].name == "ward"
    assert both.statistic.where.text == "old"
    strata = conditioned(ARROW, by=["arm"], strata=[4, 0])
    assert isinstance(strata, StratifiedModel)
    mechanism = parse_mechanism(NOISE["laplace"], strata)
    alone = conditioned(ARROW)
    assert mechanism.cost(strata, 4, 1).once == parse_mechanism(NOISE["laplace"], alone).cost(alone, 4, 1).once
    for model in (gaps, both, strata, conditioned(NAIVE)):
        assert parse_model(model.as_json(), COLUMNS) == model


def test_what_a_private_condition_cannot_have_is_refused():
    model = conditioned(ARROW)
    for kind in (
        {"kind": "baps", "samples": 2},
        {"kind": "map", "epsilon": 1.0},
        {"kind": "fourier", "samples": 2, "epsilon": 1.0},
    ):
        with pytest.raises(InvalidMechanism) as refused:
            parse_mechanism(kind, model)
        assert "laplace" in str(refused.value)
    with pytest.raises(InvalidModel, match="not of itself"):
        conditioned(ARROW, where="sick and old")
    with pytest.raises(InvalidModel, match="public columns, for naive_bayes"):
        conditioned(NAIVE, by=["ward"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gaussian", "records", "empty"),
    [(True, False, True), deep(True, True, True), deep(False, False, False), deep(False, True, False)],
)
def test_beliefs_are_the_sum_over_every_table_of_any_number_of_rows(gaussian: bool, records: bool, empty: bool):
    """None to six rows, equally probable. 4,096 points, neighbours alike: sds under 0.02, so 0.07 is 3.5 for 6 figures."""
    seen = cells_of((0, 0, 0, 0) if empty else (2, 1, 0, 2)) + np.array([1.0, -2, -1, 2, -2, 0])
    measured = NoisyTables(seen, 1.5, gaussian, (0, 6), 4.0, seen, np.full(6, 1.5))
    means, below = enumerated(range(7), lambda cells: measured.log_law(seen - cells), 0.4)
    model, generator = conditioned(ARROW), np.random.default_rng(4)
    if records:
        start = block_posterior(model.network, measured, 1, generator)[1]
        steps = pace(model.network, measured.rows, measured.scale, measured.moved, 4_096)
        points = RecordChain(model.network, measured, steps, generator).samples(start, 4_096)
    else:
        points = posterior_samples(model, measured, 4_096, generator)
    assert np.abs(points[:, ::2].mean(axis=0) - means).max() < 0.04
    assert np.abs((points[:, ::2] < 0.4).mean(axis=0) - below).max() < 0.07


def test_a_chain_of_records_may_begin_with_none_of_them():
    seen = np.full(6, -3.0)
    measured = NoisyTables(seen, 1.0, True, (0, 3), 4.0, seen, np.ones(6))
    network, steps = conditioned(ARROW).network, Pace(chain=True, block=1, window=3, turns=20, turn_s=0.0)
    points = RecordChain(network, measured, steps, np.random.default_rng(1)).samples(np.full(6, 0.5), 20)
    assert np.isfinite(points).all()


def test_noise_of_a_condition_is_that_of_the_network():
    model, plain = conditioned(ARROW), parse_model(ARROW, COLUMNS)
    for mechanism in (NetworkGaussian(5, 1.0, 1e-6), NetworkLaplace(5, 1.0)):
        assert mechanism.cost(model, 9, 2) == mechanism.cost(plain, 9, 2)
        assert mechanism.cost(model, 9, 2) == mechanism.cost(model, 10_000, 2)


@pytest.mark.slow
def test_plans_of_a_condition_choose_noise_and_say_what_they_take_for_granted():
    model = conditioned(ARROW)
    planner = kind_of(model).planner
    chosen = planner.choose(Choice(model, 300, 1, Target(1.0, 1e-6), 50, 1_000))
    assert chosen.kind in NOISE
    assert Target(1.0, 1e-6).fits(chosen.cost(model, 300, 1))
    read = kind_of(model).parse_mechanism
    question = PlanQuestion(model, NOISE["gaussian"], read, 300, 1, 1e-6, None, None, 10.0, 1_000)
    found = planner.figures(question)
    assert "as if all rows met the condition" in found.accuracy["method"]
    assert {other["mechanism"]["kind"] for other in found.alternatives} <= {"laplace"}
    with pytest.raises(InvalidInput, match="private condition"):
        planner.accuracy(AccuracyQuestion(model, 300, 1, 1e-6, None, 1_000))
