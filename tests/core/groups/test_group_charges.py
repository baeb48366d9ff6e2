"""What releases by groups are charged, against every pair of neighbouring datasets of small cases.

Strata: the person who is replaced stays in theirs. Joint tables of all strata are multiplied out and compared outcome by outcome.
Private groups: a person's rows may be replaced by any others, in any groups; what noise is added to is taken from the mechanism
itself, with noise of nothing.
"""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from app.core.kinds import parse_mechanism, parse_model
from app.core.kinds.groups.model import StratifiedModel
from app.core.kinds.one_parameter.private.gaussian import GroupGaussian
from app.core.kinds.one_parameter.private.model import MeasuredGroups
from app.core.privacy import ORDERS
from app.core.schema import parse_columns
from app.core.statistics.groups import ExactGroups
from app.core.statistics.sums import ExactStatistic
from app.errors import CalibratedUnavailable, InvalidModel
from tests.core.families.drawn_tables import drawn_tables, owed
from tests.core.families.neighbouring_pairs import reachable_pairs

COLUMNS = parse_columns(
    {
        "cured": {"type": "binary"},
        "visits": {"type": "integer", "lower": 0, "upper": 2},
        "arm": {"type": "categorical", "levels": ["drug", "placebo", "none"], "public": True},
        "ward": {"type": "categorical", "levels": ["a", "b", "c"]},
        "old": {"type": "binary"},
    }
)
YES: dict[str, Any] = {"family": "bernoulli", "column": "cured"}
SIZES = (1, 3, 0)


def by_arm(model: dict[str, Any], strata: tuple[int, ...] = SIZES, *more: str) -> Any:
    return parse_model(model | {"groups": {"by": ["arm", *more], "strata": [*strata]}}, COLUMNS)


@pytest.mark.parametrize("unit_rows", [1, 2, 3])
def test_strata_are_charged_what_the_dearest_owes_and_not_the_sum(unit_rows: int):
    model = by_arm(YES)
    cost = parse_mechanism({"kind": "baps", "samples": 2}, model).cost(model, sum(SIZES), unit_rows)
    each = [
        owed(model.inner, people, unit_rows, 1.0, reachable_pairs(1, people, unit_rows))
        for people in SIZES
        if people > 0
    ]
    largest = np.max([one.curve for one in each], axis=0)
    charged = np.array(cost.per_sample.curve)
    assert (charged >= largest * (1 - 1e-12)).all()
    assert cost.per_sample.pure >= max(one.pure for one in each) * (1 - 1e-12)
    assert (charged <= largest * 1.05 + 1e-6).all()
    assert (charged < np.sum([one.curve for one in each], axis=0)).all()
    assert cost.total.curve == tuple(2 * value for value in cost.per_sample.curve)


def test_joint_outcomes_of_all_strata_tell_no_more_than_those_of_one():
    """Over every dataset of one and of two people and whoever of the three is replaced, outcome by outcome of the product."""
    model = by_arm(YES, (1, 2, 0))
    charged = np.array(parse_mechanism({"kind": "baps", "samples": 1}, model).cost(model, 3, 1).per_sample.curve)
    tables = [np.exp(drawn_tables(model.inner, n, 1.0, [(t, n) for t in range(n + 1)]).astype(float)) for n in (1, 2)]
    worst = np.zeros(len(ORDERS))
    for (t, other), (moved, moved_other) in itertools.permutations(itertools.product(range(2), range(3)), 2):
        if abs(t - moved) + abs(other - moved_other) > 1:
            continue
        p = np.outer(tables[0][t], tables[1][other]).ravel()
        q = np.outer(tables[0][moved], tables[1][moved_other]).ravel()
        worst = np.maximum(worst, [math.log((p**a * q ** (1 - a)).sum()) / (a - 1) for a in ORDERS[:12]] + [0] * 32)
    assert (charged[:12] >= worst[:12] * (1 - 1e-9)).all()
    assert charged[3] == pytest.approx(worst[3], rel=0.01)


def rows_of_a_person(cells: int, unit_rows: int, least: int) -> list[tuple[int, ...]]:
    """Everything a person can have: how many rows in each cell, none of them named by an order."""
    return [
        tuple(np.bincount(np.array(chosen, dtype=int), minlength=cells))
        for rows in range(least, unit_rows + 1)
        for chosen in itertools.combinations_with_replacement(range(cells), rows)
    ]


def measured_of(model: MeasuredGroups, mechanism: GroupGaussian, unit_rows: int, person: tuple[int, ...]) -> Any:
    """What noise would be added to if a dataset were this person and 5 others with a row each in the first group."""
    steps = model.inner.statistic.steps
    by_group = np.array(person).reshape(model.count, steps + 1)
    parts = [
        ExactStatistic(int(counts @ np.arange(steps + 1)), int(counts.sum()) + (5 if place == 0 else 0))
        for place, counts in enumerate(by_group)
    ]
    return mechanism.measure(model, 6, unit_rows, ExactGroups(tuple(parts)), lambda values, _: values)


@pytest.mark.parametrize("unit_rows", [1, 2, pytest.param(3, marks=pytest.mark.deep)])
@pytest.mark.parametrize("column", ["cured", "visits"])
def test_no_person_moves_private_groups_by_more_than_is_charged(column: str, unit_rows: int):
    """Any rows by any others, in any of three groups; the costliest, all k rows from end to end or to another group, is it."""
    family = {"cured": "bernoulli", "visits": "poisson"}[column]
    model = parse_model({"family": family, "column": column, "groups": {"by": ["ward"]}}, COLUMNS)
    assert isinstance(model, MeasuredGroups)
    mechanism = parse_mechanism({"kind": "gaussian", "samples": 1, "epsilon": 1.0, "delta": 1e-6}, model)
    charged = mechanism.cost(model, 6, unit_rows).once.gaussian_rho
    scales, _ = mechanism.scales(model, unit_rows)
    people = rows_of_a_person(3 * (model.inner.statistic.steps + 1), unit_rows, least=1)
    values = np.array([measured_of(model, mechanism, unit_rows, person) for person in people], dtype=float)
    values /= np.tile(scales, model.count)
    norms = (values**2).sum(axis=1)
    worst = float((norms[:, None] + norms[None, :] - 2 * values @ values.T).max()) / 2
    assert worst <= charged * (1 + 1e-12)
    assert worst == pytest.approx(charged, rel=1e-9)


def test_what_is_measured_of_a_group_is_whole_around_its_centre():
    """Around half a step whole noise would show whether the number of rows is odd."""
    model = parse_model({"family": "bernoulli", "column": "cured", "groups": {"by": ["ward"]}}, COLUMNS)
    mechanism = parse_mechanism({"kind": "gaussian", "samples": 1, "epsilon": 1.0, "delta": 1e-6}, model)
    _, (factor, _) = mechanism.scales(model, 1)
    parts = tuple(ExactStatistic(total, rows) for total, rows in ((2, 3), (0, 0), (4, 4)))
    measured = mechanism.measure(model, 7, 1, ExactGroups(parts), lambda values, _: values)
    assert (measured[::2] / factor).tolist() == [1, 0, 4]


def test_private_groups_inside_strata_cost_what_one_of_them_does():
    model = by_arm(YES, (4, 9, 0), "ward")
    assert isinstance(model, StratifiedModel)
    assert isinstance(model.inner, MeasuredGroups)
    spec = {"kind": "gaussian", "samples": 1, "epsilon": 0.7, "delta": 1e-6}
    alone = parse_model(YES | {"groups": {"by": ["ward"]}}, COLUMNS)
    together = parse_mechanism(spec, model).cost(model, 13, 2)
    assert together.once == parse_mechanism(spec, alone).cost(alone, 13, 2).once
    names = [parameter.name for parameter in model.parameters]
    assert names[:2] == ["theta[arm=drug,ward=a]", "theta[arm=drug,ward=b]"]
    assert len(names) == 9


def test_groups_of_a_stored_model_read_back_as_they_were():
    network = {"family": "network", "nodes": {"cured": {"parents": ["old"]}, "old": {}}}
    for described in (YES, network):
        for groups in (
            {"by": ["ward"]},
            {"by": ["arm"], "strata": [3, 4, 0]},
            {"by": ["ward", "arm"], "strata": [5, 1, 1]},
        ):
            model = parse_model(described | {"groups": groups}, COLUMNS)
            assert parse_model(model.as_json(), COLUMNS) == model
            assert model.as_json()["groups"]["by"] == groups["by"]


@pytest.mark.parametrize("unit_rows", [1, 2, pytest.param(3, marks=pytest.mark.deep)])
def test_no_person_moves_a_filtered_group_by_more_than_is_charged(unit_rows: int):
    """A person may have no row in it before, after, or both; the number of rows is measured √3 times as exactly for free."""
    model = parse_model({"family": "poisson", "column": "visits", "groups": {"by": [], "where": "old"}}, COLUMNS)
    assert isinstance(model, MeasuredGroups)
    mechanism = parse_mechanism({"kind": "gaussian", "samples": 1, "epsilon": 1.0, "delta": 1e-6}, model)
    charged = mechanism.cost(model, 6, unit_rows).once.gaussian_rho
    scales, _ = mechanism.scales(model, unit_rows)
    people = rows_of_a_person(model.inner.statistic.steps + 1, unit_rows, least=0)
    values = np.array([measured_of(model, mechanism, unit_rows, person) for person in people], dtype=float) / scales
    gaps = values[:, None, :] - values[None, :, :]
    worst = float((gaps**2).sum(axis=2).max()) / 2
    assert worst <= charged * (1 + 1e-12)
    assert worst == pytest.approx(charged, rel=1e-9)
    moved_in = int(np.flatnonzero(np.array(people).sum(axis=1) == 0)[0])
    full = [place for place, person in enumerate(people) if person[-1] == unit_rows]
    assert (gaps[moved_in, full] ** 2).sum() / 2 == pytest.approx(charged, rel=1e-9)


def test_beside_little_noise_small_groups_of_clipped_rows_are_not_believed():
    """Of a yes or no every law is known; of clipped counts only under noise that hides their shape."""
    for family, column, epsilon, known in (
        ("bernoulli", "cured", 100.0, True),
        ("poisson", "visits", 1.0, True),
        ("poisson", "visits", 100.0, False),
    ):
        model = parse_model({"family": family, "column": column, "groups": {"by": ["ward"]}}, COLUMNS)
        mechanism = parse_mechanism({"kind": "gaussian", "samples": 1, "epsilon": epsilon, "delta": 1e-6}, model)
        if known:
            assert len(mechanism.calibrated_parameters(model, 100, 1)) == 3
        else:
            with pytest.raises(CalibratedUnavailable):
                mechanism.calibrated_parameters(model, 100, 1)


@pytest.mark.parametrize(
    ("groups", "field"), [({"by": ["many"]}, "by"), ({"by": [], "where": "many"}, "where"), ({"by": ["told"]}, "by")]
)
def test_no_cut_of_the_modelled_column_comes_in_by_a_column_derived_from_it(groups: dict[str, Any], field: str):
    columns = parse_columns(
        {
            "visits": {"type": "integer", "lower": 0, "upper": 9},
            "many": {"type": "binary", "from": "visits >= 5"},
            "told": {"type": "binary", "from": "visits >= 5 and sick"},
            "sick": {"type": "binary"},
        }
    )
    with pytest.raises(InvalidModel) as refused:
        parse_model({"family": "poisson", "column": "visits", "groups": groups}, columns)
    assert refused.value.problems[0].field == field
    assert parse_model({"family": "bernoulli", "column": "sick", "groups": {"by": ["many"]}}, columns)


KNOWN = parse_columns(
    {
        "a": {"type": "binary"},
        "b": {"type": "categorical", "levels": ["x", "y"]},
        "d": {"type": "integer", "lower": 0, "upper": 2},
        "e": {"type": "categorical", "levels": ["lo", "hi"], "from": "bin(d, 1)"},
        "known": {"type": "binary", "public": True},
    }
)


@pytest.mark.parametrize(
    ("by", "where", "more"),
    [(["b"], "b == 'x'", {}), (["d"], "e == 'hi'", {}), (["d", "known", "b"], "known and d >= 1", {"strata": [2, 3]})],
)
def test_a_network_is_not_by_columns_of_its_own_condition(by: list[str], where: str, more: dict[str, Any]):
    """Stored, they are nodes, and a condition on a node is refused: it could not be read again."""
    spec = {"family": "network", "nodes": {"a": {}}, "groups": {"by": by, "where": where} | more}
    with pytest.raises(InvalidModel) as refused:
        parse_model(spec, KNOWN)
    assert refused.value.problems[0].field == "where"


def test_a_network_by_other_columns_than_its_condition_is_stored_as_it_can_be_read():
    spec = {"family": "network", "nodes": {"a": {}}, "groups": {"by": ["b"], "where": "d >= 1"}}
    model = parse_model(spec, KNOWN)
    assert parse_model(model.as_json(), KNOWN).as_json() == model.as_json()
