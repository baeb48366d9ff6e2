"""Every neighbouring pair of datasets on small networks, drawn as they are drawn, against what is charged."""

import itertools

import numpy as np
import pytest

from app.core.kinds.networks.blocks.block_grid import block_grid
from app.core.kinds.networks.cost import record_cost
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.shapes import block_shapes
from app.core.kinds.networks.splits import Splits
from app.core.kinds.networks.structure import Node, build_network
from app.core.privacy import ORDERS
from tests.core.networks.brute_records import PlainNetwork, halves, one_by_one
from tests.core.networks.drawn_oracle import exact_suprema, neighbours, posterior_table

TIGHTNESS = 1.25

Graph = tuple[tuple[int, ...], ...]


def all_graphs(nodes: int) -> list[Graph]:
    """Every directed acyclic graph on nodes in topological order: parents of i among 0 … i − 1."""
    choices = [[c for r in range(i + 1) for c in itertools.combinations(range(i), r)] for i in range(nodes)]
    return list(itertools.product(*choices))


def model_of(levels: tuple[int, ...], graph: Graph, strength: float, splits: Splits, trim: float) -> NetworkModel:
    nodes = [
        Node(f"n{i}", tuple(map(str, range(k))), tuple(f"n{p}" for p in graph[i]), (strength,) * k)
        for i, k in enumerate(levels)
    ]
    return NetworkModel("network", build_network(nodes), trim, splits)


def plain_network(levels: tuple[int, ...], graph: Graph, splits: Splits) -> PlainNetwork:
    nest = halves if splits == "tree" else one_by_one
    return PlainNetwork(levels, graph, tuple(nest(range(k)) for k in levels))


def ratios(
    levels: tuple[int, ...], graph: Graph, people: int, splits: Splits, strength: float, trim: float, temperature: float
) -> np.ndarray:
    model = model_of(levels, graph, strength, splits, trim)
    points = {(s.alpha, s.beta): block_grid(s).theta for s in block_shapes(model, people, 1, temperature)}
    pairs = neighbours(plain_network(levels, graph, splits), people)
    exact = exact_suprema(pairs, strength, points, ORDERS, lambda *at: posterior_table(*at, temperature))
    charged = record_cost(model, people, 1, temperature)
    return np.array([charged.kl_sup, *charged.cost.curve, charged.cost.pure]) / exact


def line(what: str, found: np.ndarray) -> str:
    return f"{what}: least {found.min():.6f}, largest on the curve {found[:-1].max():.3f}, pure {found[-1]:.3f}"


@pytest.mark.cases(4)
@pytest.mark.parametrize("nodes", [1, 2, 3])
@pytest.mark.parametrize("people", [1, 2, 3])
def test_charged_cost_covers_all_neighbours_of_every_small_network_and_is_close(nodes: int, people: int) -> None:
    worst = []
    for graph in all_graphs(nodes):
        for strength, trim, temperature in ((1.0, 0.05, 1.0), (0.3, 0.1, 0.4)):
            found = ratios((2,) * nodes, graph, people, "tree", strength, trim, temperature)
            assert found.min() >= 1, (graph, strength)
            worst.append(found.max())
            print(line(f"n={people} {graph} a={strength}", found))  # noqa: T201
    assert max(worst) <= TIGHTNESS


@pytest.mark.cases(5)
@pytest.mark.parametrize("splits", ["tree", "chain"])
@pytest.mark.parametrize("levels", [4, 5])
@pytest.mark.parametrize("people", [1, 2, 3])
def test_charged_cost_covers_all_neighbours_of_a_node_with_many_levels(
    splits: Splits, levels: int, people: int
) -> None:
    found = ratios((2, levels), ((), (0,)), people, splits, 1.0, 0.05, 1.0)
    print(line(f"n={people} {levels} levels as {splits}", found))  # noqa: T201
    assert found.min() >= 1
    assert found.max() <= TIGHTNESS
