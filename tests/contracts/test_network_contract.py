"""Every line of NETWORK_MECHANISMS through its interface: settings, costs, draws, refusals."""

import json
import os
from typing import Any

import numpy as np
import pytest

from app.core.kinds import parse_model
from app.core.kinds.networks import NETWORKS
from app.core.kinds.networks.accuracy import expected_accuracy
from app.core.kinds.networks.mechanisms import NETWORK_MECHANISMS
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import count_records
from app.core.privacy import ORDERS
from app.core.schema import parse_columns
from app.errors import InvalidInput
from tests.deep import deep

COLUMNS = parse_columns({name: {"type": "binary"} for name in "abcd"})
SPECS: dict[str, dict[str, Any]] = {
    "baps": {"samples": 7, "temperature": 0.5},
    "laplace": {"samples": 7, "epsilon": 1.5},
    "gaussian": {"samples": 7, "epsilon": 1.5, "delta": 1e-6},
    "fourier": {"samples": 7, "epsilon": 1.5, "t": 0.5, "truncate": True},
    "map": {"epsilon": 1.5, "score": "probability"},
}
MODELS = {
    "network": parse_model(
        {"family": "network", "nodes": {"a": {}, "b": {"parents": ["a"]}, "c": {"parents": ["a", "b"]}, "d": {}}},
        COLUMNS,
    ),
    "naive_bayes": parse_model({"family": "naive_bayes", "class": "d", "features": ["a", "b", "c"]}, COLUMNS),
}

every_mechanism = pytest.mark.parametrize("kind", sorted(NETWORK_MECHANISMS))
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))


def test_every_mechanism_has_settings_here() -> None:
    assert set(SPECS) == set(NETWORK_MECHANISMS)


@pytest.mark.cases(5)
@every_mechanism
@every_model
@pytest.mark.parametrize("unit_rows", [1, deep(3)])
def test_cost_is_finite_and_charged_by_prefix_and_samples_are_probability_tables(
    kind: str, model: NetworkModel, unit_rows: int
) -> None:
    mechanism = NETWORKS.parse_mechanism({"kind": kind, **SPECS[kind]})
    cost = mechanism.cost(model, 40, unit_rows)
    assert 0 < cost.total.pure <= np.inf
    assert (cost.total.pure < np.inf) == (kind != "gaussian")
    assert 0 < cost.total.epsilon(1e-6) <= cost.total.pure
    assert len(cost.total.curve) == len(ORDERS)
    assert all(a <= b * (1 + 1e-9) for a, b in zip(cost.total.curve, cost.total.curve[1:], strict=False))
    assert cost.total.curve[-1] <= cost.total.pure * (1 + 1e-9)
    assert cost.prefix(0).pure == 0 < cost.prefix(1).pure
    assert cost.kl_sup >= 0
    rng = np.random.default_rng(2)
    counts = count_records(model.network, rng.integers(0, 2, (40, 4)))
    samples = mechanism.draw(model, 40, unit_rows, counts, os.urandom)
    assert samples.shape == (mechanism.samples, len(model.parameters))
    assert samples.dtype == np.float64
    for i in range(4):
        tables = samples[:, model.network.cells(i)].reshape(mechanism.samples, -1, 2)
        assert np.allclose(tables.sum(axis=2), 1)
    bounds = np.array([(parameter.lower, parameter.upper) for parameter in model.parameters])
    assert (samples >= bounds[:, 0] - 1e-12).all()
    assert (samples <= bounds[:, 1] + 1e-12).all()


@every_mechanism
def test_settings_survive_json_and_unknown_fields_are_refused(kind: str) -> None:
    spec = {"kind": kind, **SPECS[kind]}
    mechanism = NETWORKS.parse_mechanism(spec)
    assert mechanism.as_json() == spec
    assert NETWORKS.parse_mechanism(json.loads(json.dumps(mechanism.as_json()))) == mechanism
    assert mechanism.with_samples(3).samples == (1 if kind == "map" else 3)
    assert hash(mechanism) == hash(NETWORKS.parse_mechanism(spec))
    with pytest.raises(InvalidInput):
        NETWORKS.parse_mechanism(spec | {"colour": 1})


@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "nobody"},
        {"kind": "baps", "samples": 0},
        {"kind": "baps", "samples": 1, "temperature": 1.5},
        {"kind": "baps", "samples": 1, "temperature": float("nan")},
        {"kind": "laplace", "samples": 1, "epsilon": 0},
        {"kind": "laplace", "samples": 1, "epsilon": float("nan")},
        {"kind": "gaussian", "samples": 1, "epsilon": 1},
        {"kind": "gaussian", "samples": 1, "epsilon": 1, "delta": 0},
        {"kind": "fourier", "samples": 1, "epsilon": 1, "t": -1},
        {"kind": "fourier", "samples": 1, "epsilon": 1, "t": float("nan")},
        {"kind": "fourier", "samples": 1, "epsilon": 1, "truncate": 1},
        {"kind": "map", "epsilon": 1, "score": "fame"},
        {"kind": "map", "epsilon": -1},
    ],
)
def test_bad_settings_are_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        NETWORKS.parse_mechanism(spec)


@every_mechanism
@every_model
def test_expected_error_is_the_same_each_time_it_is_asked_for(kind: str, model: NetworkModel) -> None:
    mechanism = NETWORKS.parse_mechanism({"kind": kind, **SPECS[kind]})
    first, second = (expected_accuracy.__wrapped__(model, mechanism, 60, 1) for _ in range(2))
    assert first == second
    assert 0 <= first.kl < np.inf
    assert 0 <= first.rmse <= 1
