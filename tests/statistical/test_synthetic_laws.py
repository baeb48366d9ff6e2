"""Synthetic rows against brute force over the points they come from. Seeds are fixed; each bound is five standard errors, so a
right program fails one of these comparisons with probability below 6·10⁻⁷ over seeds."""

import hashlib
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from app.core.kinds import kind_of, parse_mechanism, parse_model
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.kinds.one_parameter.predictive import RecordLaw
from app.core.kinds.synthetic import Known, MadeRows, chosen, make_rows, uniforms
from app.core.schema import parse_columns
from app.errors import NumericalFailure, SyntheticUnavailable
from app.services.reading.synthetic_rows import decoded

ROWS, POINTS = 40_000, 60
SDS = 5.0
COLUMNS: dict[str, Any] = {
    "arm": {"type": "categorical", "levels": ["drug", "placebo", "none"], "public": True},
    "old": {"type": "binary"},
    "cured": {"type": "binary"},
    "visits": {"type": "integer", "lower": 3, "upper": 5},
    "count": {"type": "integer", "lower": 0, "upper": 12},
    "days": {"type": "real", "lower": 1.0, "upper": 30.0},
}
NETWORK = {
    "family": "network",
    "nodes": {"old": {}, "cured": {"parents": ["old"]}, "visits": {"parents": ["cured", "old"]}},
}
BERNOULLI = {"family": "bernoulli", "column": "cured"}
GAUSSIAN = {"kind": "gaussian", "samples": 5, "epsilon": 1.0, "delta": 1e-7}
NOTHING = Known(None, 400, 1, None)


def model_of(spec: dict[str, Any]) -> Any:
    return parse_model(spec, parse_columns(COLUMNS))


def made_from(model: Any, values: Any, known: Known = NOTHING, rows: int = ROWS, seed: bytes = b"1") -> MadeRows:
    law = kind_of(model).rows
    assert law is not None
    return make_rows(law, model, [each.group for each in model.parameters], values, known, rows, seed)


def believed_tables(model: Any) -> Any:
    """(cells, points): a Dirichlet draw for every configuration of every node."""
    network, chance = model.network, np.random.default_rng(3)
    blocks = [
        chance.dirichlet([1.0] * len(node.levels), POINTS).T
        for i, node in enumerate(network.nodes)
        for _ in range(network.configurations(i))
    ]
    return np.concatenate(blocks)


def test_rows_of_a_network_have_the_joint_law_averaged_over_the_points():
    model = model_of(NETWORK)
    network, values = model.network, believed_tables(model)
    made = made_from(model, values)
    codes = [np.asarray(column) for column in made.columns]
    for levels in product(*(range(len(node.levels)) for node in network.nodes)):
        at = dict(zip((node.name for node in network.nodes), levels, strict=True))
        law = np.ones(POINTS)
        for i, node in enumerate(network.nodes):
            own = values[network.cells(i)].reshape(*network.shape(i), POINTS)
            law = law * own[tuple(at[name] for name in (*node.parents, node.name))]
        expected = law.mean()
        seen = np.mean(np.all([column == level for column, level in zip(codes, levels, strict=True)], axis=0))
        assert abs(seen - expected) < SDS * np.sqrt(expected * (1 - expected) / ROWS), levels
    visits = dict(zip(made.names, decoded(made, parse_columns(COLUMNS)).columns, strict=True))["visits"].values
    assert set(visits.tolist()) == {3, 4, 5}


FAMILY_SETTINGS: dict[str, dict[str, Any]] = {
    "bernoulli": {"column": "cured"}, "binomial": {"column": "count", "trials": 12},
    "geometric": {"column": "count"}, "negative_binomial": {"column": "count", "successes": 3},
    "poisson": {"column": "count"}, "exponential": {}, "gamma": {"shape": 2.0}, "weibull": {"shape": 2.0},
    "pareto": {"scale": 1.0}, "laplace": {"location": 9.0}, "normal_precision": {"mean": 9.0}, "normal_mean": {"sd": 4.0},
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_values_of_every_family_follow_its_law_and_keep_to_the_columns_bounds(family: str):
    model = model_of({"family": family, "column": "days"} | FAMILY_SETTINGS[family])
    range_ = model.parameters[0]
    theta = np.linspace(range_.lower, range_.upper, POINTS)
    made = made_from(model, theta[None], rows=8_000)
    (column,) = decoded(made, parse_columns(COLUMNS)).columns
    lower, upper = {"cured": (0, 1), "count": (0, 12)}.get(column.name, (1.0, 30.0))
    assert lower <= column.values.min() <= column.values.max() <= upper
    assert column.values.dtype.kind == {"cured": "b", "count": "i"}.get(column.name, "f")
    for cut in np.quantile(column.values.astype(float), [0.1, 0.5, 0.9]):
        if cut >= upper:
            continue
        expected = float(RecordLaw(model).at_most(theta, float(cut)).mean())
        seen = float(np.mean(column.values <= cut))
        assert abs(seen - expected) < SDS * np.sqrt(max(expected * (1 - expected), 1e-4) / 8_000), cut


def stratified(strata: tuple[int, ...], by: list[str], **more: Any) -> Any:
    return model_of(BERNOULLI | {"groups": {"by": by, "strata": list(strata)} | more})


def test_strata_have_their_public_shares_of_rows_and_an_empty_one_none():
    model = stratified((300, 100, 0), ["arm"])
    values = np.array([[0.9, 0.8], [0.2, 0.1], [0.5, 0.5]])
    known = Known(parse_mechanism({"kind": "baps", "samples": 2}, model), 400, 1, None)
    table = decoded(made_from(model, values, known), parse_columns(COLUMNS))
    arm, cured = (column.values for column in table.columns)
    assert table.names == ["arm", "cured"]
    for level, (share, mean) in enumerate([(0.75, 0.85), (0.25, 0.15)]):
        seen = np.mean(arm == level)
        assert abs(seen - share) < SDS * np.sqrt(share * (1 - share) / ROWS)
        assert abs(cured[arm == level].mean() - mean) < SDS * np.sqrt(mean * (1 - mean) / (share * ROWS))
    assert not np.any(arm == 2)


def measured_of(model: Any, mechanism: Any, rows: list[float]) -> Any:
    """Noisy numbers of rows that came out like this; the sums do not matter here."""
    _, factors = mechanism.scales(model, 1)
    return np.array([number for each in rows for number in (0, round(each * factors[1]))], dtype=np.int64)


def test_private_groups_have_the_rows_that_their_noisy_numbers_imply():
    model = model_of(BERNOULLI | {"groups": {"by": ["old"]}})
    mechanism: Any = parse_mechanism(GAUSSIAN, model)
    law = kind_of(model).rows
    assert law is not None
    for rows in ([300.0, 95.0], [-30.0, 60.0], [2.0, 900.0]):
        known = Known(mechanism, 400, 1, measured_of(model, mechanism, rows))
        for found, (noisy, sd) in zip(
            law.weights(model, known), mechanism.noisy_rows(model, 1, known.measured), strict=True
        ):
            ends = -noisy / sd, (400 - noisy) / sd
            assert found == pytest.approx(stats.truncnorm.mean(*ends, loc=noisy, scale=sd), rel=2e-3)
    with pytest.raises(SyntheticUnavailable):
        law.weights(model, Known(mechanism, 400, 1, None))


def test_private_groups_share_out_a_stratum_unless_some_rows_are_in_none_of_them():
    model = stratified((300, 100, 0), ["arm", "old"])
    mechanism: Any = parse_mechanism(GAUSSIAN, model)
    law = kind_of(model).rows
    assert law is not None
    measured = np.concatenate(
        [measured_of(model.inner, mechanism.inner, rows) for rows in ([200.0, 90.0], [50.0, 50.0])]
    )
    weights = np.array(law.weights(model, Known(mechanism, 400, 1, measured))).reshape(3, 2)
    assert weights.sum(axis=1) == pytest.approx([300, 100, 0])
    assert weights[1, 0] == weights[1, 1]
    assert weights[0, 0] / weights[0, 1] == pytest.approx(200 / 90, rel=0.05)
    left = stratified((300, 100, 0), ["arm"], where="old and arm != 'none'")
    mechanism = parse_mechanism(GAUSSIAN, left)
    measured = np.concatenate([measured_of(left.inner, mechanism.inner, [rows]) for rows in (100.0, 20.0)])
    kept = law.weights(left, Known(mechanism, 400, 1, measured))
    assert kept[0] == pytest.approx(100, abs=25)
    assert kept[2] == 0


def test_the_first_of_many_rows_are_the_few_and_another_seed_makes_others():
    """Pinned: the same release and seed make the same rows on any worker, for ever."""
    model = model_of(NETWORK)
    values = believed_tables(model)
    few, many, others = (made_from(model, values, rows=n, seed=s) for n, s in ((50, b"1"), (500, b"1"), (50, b"2")))
    for one, other, third in zip(few.columns, many.columns, others.columns, strict=True):
        assert np.array_equal(one, other[:50])
        assert not np.array_equal(one, third)
    stream = uniforms(b"seed", "name", 4)
    assert hashlib.sha256(stream.tobytes()).hexdigest()[:16] == "4aba3872b547911b"
    assert 0 < stream.min() <= stream.max() < 1


def test_ends_of_a_stream_choose_places_that_hold_something():
    ends = np.array([2.0**-53, 1 - 2.0**-53])
    assert chosen(np.cumsum([0.0, 2.0, 1.0, 0.0]), ends).tolist() == [1, 2]


def test_an_undefined_value_is_never_shown():
    made = made_from(model_of({"family": "exponential", "column": "days"}), np.array([[np.nan]]), rows=3)
    with pytest.raises(NumericalFailure):
        decoded(made, parse_columns(COLUMNS))
    with pytest.raises(NumericalFailure):
        made_from(model_of(BERNOULLI), np.array([[0.5], [0.5]]))
