"""Reading networks, the order of their cells, and splits against the Dirichlet distribution they stand for."""

import json
from typing import Any

import numpy as np
import pytest

from app.core.kinds import parse_model
from app.core.kinds.networks.splits import deepest, level_probabilities, level_splits, path, side_totals
from app.core.kinds.networks.statistic import clamped_counts, count_records
from app.core.schema import parse_columns
from app.core.statistics.counts import ExactCounts
from app.errors import InvalidModel

COLUMNS = parse_columns(
    {
        "smoker": {"type": "binary"},
        "city": {"type": "categorical", "levels": ["a", "b", "c"]},
        "visits": {"type": "integer", "lower": -1, "upper": 3},
        "many": {"type": "integer", "lower": 0, "upper": 64},
        "height": {"type": "real", "lower": 0, "upper": 1},
    }
)
NETWORK: dict[str, Any] = {
    "family": "network",
    "nodes": {
        "visits": {"parents": ["smoker", "city"]},
        "smoker": {"prior": {"concentration": [2, 5]}},
        "city": {"parents": ["smoker"], "prior": {"strength": 0.5}},
    },
    "prior": {"strength": 3},
}


def test_network_is_read_with_parents_first_and_its_defaults() -> None:
    model = parse_model(NETWORK, COLUMNS)
    assert [node.name for node in model.network.nodes] == ["smoker", "city", "visits"]
    assert [node.concentration for node in model.network.nodes] == [(2, 5), (0.5,) * 3, (3,) * 5]
    assert model.network.nodes[0].levels == ("false", "true")
    assert model.network.nodes[2].levels == ("-1", "0", "1", "2", "3")
    assert (model.trim, model.splits) == (0.05, "tree")


def test_order_of_fields_never_decides_where_a_probability_goes() -> None:
    model = parse_model(NETWORK, COLUMNS)
    turned = {**NETWORK, "nodes": dict(reversed(NETWORK["nodes"].items()))}
    assert parse_model(turned, COLUMNS) == model
    assert hash(parse_model(turned, COLUMNS)) == hash(model)


@pytest.mark.parametrize("splits", ["tree", "chain"])
def test_models_survive_their_own_json(splits: str) -> None:
    network = parse_model(NETWORK | {"splits": splits, "trim": 0.1}, COLUMNS)
    assert parse_model(json.loads(json.dumps(network.as_json(), sort_keys=True)), COLUMNS) == network
    spec = {"family": "naive_bayes", "class": "smoker", "features": ["visits", "city"], "splits": splits}
    naive = parse_model(spec, COLUMNS)
    assert parse_model(json.loads(json.dumps(naive.as_json(), sort_keys=True)), COLUMNS) == naive
    assert [node.parents for node in naive.network.nodes] == [(), ("smoker",), ("smoker",)]


def test_parameters_are_the_cells_with_ranges_of_products_of_trimmed_splits() -> None:
    model = parse_model(NETWORK, COLUMNS)
    names = [parameter.name for parameter in model.parameters]
    assert names == list(model.network.cell_names())
    bounds = {parameter.name: (parameter.lower, parameter.upper) for parameter in model.parameters}
    assert bounds["smoker=true"] == (0.05, 0.95)
    assert bounds["city=a|smoker=true"] == pytest.approx((0.05**2, 0.95**2))
    assert model.statistic.columns == ("smoker", "city", "visits")
    assert model.statistic.nodes[2].shape == (2, 3, 5)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"nodes": {}}, "model.nodes"),
        ({"nodes": []}, "model.nodes"),
        ({"nodes": {"height": {}}}, "model.nodes.height"),
        ({"nodes": {"many": {}}}, "model.nodes.many"),
        ({"nodes": {"nobody": {}}}, "model.nodes.nobody"),
        ({"nodes": {"city": {"parents": ["city"]}}}, "model.nodes"),
        ({"nodes": {"city": {"parents": ["smoker"]}}}, "model.nodes.city.parents"),
        ({"nodes": {"city": {"parents": "smoker"}}}, "model.nodes.city.parents"),
        ({"nodes": {"city": {"levels": 3}}}, "model.nodes.city.levels"),
        ({"nodes": {"city": {"prior": {"concentration": [1, 1]}}}}, "model.nodes.city.prior.concentration"),
        ({"nodes": {"city": {"prior": {"concentration": [1, 1, True]}}}}, "model.nodes.city.prior.concentration"),
        ({"nodes": {"city": {"prior": {"strength": 0}}}}, "model.nodes.city.prior.strength"),
        ({"nodes": {"city": {"prior": {"strength": 1e9}}}}, "model.nodes.city.prior.strength"),
        ({"nodes": {"city": {"prior": {"strength": 9e4}}}}, "model.nodes.city.prior"),
        ({"prior": {"concentration": [1, 1]}}, "model.prior.strength"),
        ({"prior": {"strength": float("nan")}}, "model.prior.strength"),
        ({"trim": 0.5}, "model.trim"),
        ({"splits": "bush"}, "model.splits"),
        ({"colour": 1}, "model.colour"),
    ],
)
def test_refusals_name_the_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidModel) as refused:
        parse_model(NETWORK | change, COLUMNS)
    assert refused.value.problems[0].field == field


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"class": 3}, "model.class"),
        ({"class": "height"}, "model.class"),
        ({"features": []}, "model.features"),
        ({"features": ["city", "city"]}, "model.features"),
        ({"features": ["smoker"]}, "model.features"),
        ({"features": ["height"]}, "model.features"),
        ({"priors": {"visits": {"strength": 1}}}, "model.priors.visits"),
    ],
)
def test_naive_bayes_refusals_name_the_field(change: dict[str, Any], field: str) -> None:
    spec = {"family": "naive_bayes", "class": "smoker", "features": ["city"]}
    with pytest.raises(InvalidModel) as refused:
        parse_model(spec | change, COLUMNS)
    assert refused.value.problems[0].field == field


@pytest.mark.parametrize("kind", ["tree", "chain"])
@pytest.mark.parametrize("levels", [2, 3, 4, 5, 9])
def test_products_of_betas_along_paths_have_dirichlet_moments(kind: Any, levels: int) -> None:
    """Exactly: E of a product of independent betas, first and second moments of every level and pair of levels."""
    splits = level_splits(levels, kind)
    assert len(splits) == levels - 1
    assert deepest(splits) == (levels - 1 if kind == "chain" else int(np.ceil(np.log2(levels))))
    weights = np.random.default_rng(levels).uniform(0.3, 4, levels)
    yes, no = side_totals(splits, weights)
    total = weights.sum()

    def moment(first: int, second: int | None) -> float:
        powers = np.zeros((len(splits), 2))
        for level in (first, second):
            for split, side in path(splits, level) if level is not None else []:
                powers[split, side] += 1
        value = 1.0
        for (up, down), a, b in zip(powers, yes, no, strict=True):
            rises = [a + i for i in range(int(up))] + [b + i for i in range(int(down))]
            value *= np.prod(rises) / np.prod([a + b + i for i in range(int(up + down))])
        return value

    for i in range(levels):
        assert moment(i, None) == pytest.approx(weights[i] / total)
        for j in range(levels):
            assert moment(i, j) == pytest.approx(weights[i] * (weights[j] + (i == j)) / (total * (total + 1)))


def test_level_probabilities_multiply_along_paths_and_sum_to_one() -> None:
    for kind in ("tree", "chain"):
        splits = level_splits(6, kind)
        success = np.random.default_rng(0).uniform(0.05, 0.95, (10, 5))
        found = level_probabilities(splits, success)
        for level in range(6):
            wanted = np.prod(
                [success[:, i] if side == 0 else 1 - success[:, i] for i, side in path(splits, level)], axis=0
            )
            assert np.allclose(found[:, level], wanted)
        assert np.allclose(found.sum(axis=1), 1)


def test_counts_follow_cell_names_and_never_print() -> None:
    model = parse_model(NETWORK, COLUMNS)
    rng = np.random.default_rng(3)
    records = np.column_stack([rng.integers(0, k, 50) for k in (2, 3, 5)])
    counts = count_records(model.network, records)
    names = list(model.network.cell_names())
    levels = [node.levels for node in model.network.nodes]
    for name, count in zip(names, counts.cells, strict=True):
        own, _, given = name.partition("|")
        wanted = dict(part.split("=") for part in [own, *filter(None, given.split(","))])
        places = {"smoker": 0, "city": 1, "visits": 2}
        hits = [all(levels[places[k]][row[places[k]]] == v for k, v in wanted.items()) for row in records]
        assert sum(hits) == count
    assert str(counts.cells[0]) not in repr(counts)
    wild = ExactCounts(np.full(model.network.cell_count, 10**9), 50)
    assert clamped_counts(model.network, wild, 50).max() == 50
