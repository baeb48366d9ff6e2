"""What is left out of an elimination, how wide it gets, and that both are known before any work and once a shape."""

import time

import numpy as np
import pytest

from app.core.kinds.networks.evidence.compiled import compile_evidence
from app.core.kinds.networks.evidence.elimination import graph_of, sizes_of
from app.core.kinds.networks.evidence.elimination_order import (
    OPERATIONS_MAX,
    TABLE_ENTRIES_MAX,
    ancestors,
    plan_elimination,
    relevant_nodes,
)
from app.core.kinds.networks.structure import Network, Node, build_network
from app.errors import InvalidQuery
from tests.core.networks.network_cases import clinical_network, leaves
from tests.processor_seconds import allowed

BINARY = ("false", "true")


def binary(name: str, *parents: str) -> Node:
    return Node(name, BINARY, parents, (1.0, 1.0))


def grid_network(side: int) -> Network:
    """A square lattice, each node under its upper and left neighbour: no order has induced width below `side`."""
    nodes = []
    for i in range(side):
        for j in range(side):
            above = [f"n{i - 1}_{j}"] if i else []
            left = [f"n{i}_{j - 1}"] if j else []
            nodes.append(binary(f"n{i}_{j}", *above, *left))
    return build_network(nodes)


def relevant_names(network: Network, target: str, *known: str) -> set[str]:
    restriction = tuple(sorted((network.index(name), (0,)) for name in known))
    restricted = tuple(v for v, _ in restriction)
    found = relevant_nodes(graph_of(network), sizes_of(network, restriction), restricted, (network.index(target),))
    return {network.nodes[v].name for v in found}


def test_barren_and_separated_nodes_are_left_out() -> None:
    #  a → b → c → d,  b → e,  f → c
    network = build_network(
        [binary("a"), binary("b", "a"), binary("f"), binary("c", "b", "f"), binary("d", "c"), binary("e", "b")]
    )
    assert relevant_names(network, "b") == {"a", "b"}
    assert relevant_names(network, "b", "e") == {"a", "b", "e"}
    assert relevant_names(network, "d", "c") == {"d"}
    assert relevant_names(network, "a", "f") == {"a"}
    assert relevant_names(network, "a", "f", "d") == {"a", "b", "c", "d"}
    assert relevant_names(network, "f", "d", "b") == {"c", "d", "f"}
    assert ancestors(graph_of(network), [network.index("c")]) == {network.index(name) for name in "abcf"}


@pytest.mark.parametrize("side", [2, 3, 5, 8])
def test_a_lattice_is_eliminated_at_most_two_wider_than_its_side(side: int) -> None:
    network = grid_network(side)
    known: tuple[tuple[int, tuple[int, ...]], ...] = ()
    nodes = tuple(range(side * side))
    plan = plan_elimination(graph_of(network), sizes_of(network, known), nodes, 0)
    assert side <= plan.width <= side + 2
    assert plan.entries == 2 ** (plan.width + 1)


def test_a_chain_of_any_length_has_width_one() -> None:
    network = build_network([binary("n0"), *(binary(f"n{k}", f"n{k - 1}") for k in range(1, 1000))])
    plan = plan_elimination(graph_of(network), (2,) * 1000, tuple(range(1000)), 500)
    assert (plan.width, plan.entries) == (1, 4)


def test_a_hub_with_a_thousand_children_is_planned_at_once() -> None:
    """Rescoring the hub's neighbours after each child would take seconds; this takes a few hundredths."""
    graph = ((), *(((0,),) * 999))
    plan_elimination.cache_clear()
    started = time.process_time()
    plan = plan_elimination(graph, (2,) * 1000, tuple(range(1000)))
    assert time.process_time() - started < allowed(1)
    assert (plan.width, plan.entries) == (1, 4)


def test_the_large_network_has_the_size_the_benchmark_claims() -> None:
    network = clinical_network()
    known = leaves(network)
    assert (len(network.nodes), network.cell_count) == (37, 500)
    assert max(len(node.parents) for node in network.nodes) == 4
    assert len(relevant_names(network, "v0", *known)) == 37


class ManySamples:
    """A column that may be counted and not read."""

    def __len__(self) -> int:
        return 10**7

    def __getitem__(self, key: object) -> np.ndarray:
        raise AssertionError("a sample was read")


def test_too_wide_a_question_is_refused_with_its_numbers_before_there_are_samples() -> None:
    network = grid_network(25)
    with pytest.raises(InvalidQuery) as refusal:
        compile_evidence(network, event={"n0_0": True}, evidence={"n24_24": True})
    problem = refusal.value.problems[0]
    assert problem.field == "estimand.evidence"
    assert str(TABLE_ENTRIES_MAX) in problem.expected
    narrow = compile_evidence(network, event={"n0_0": True}, evidence={"n3_3": True})
    assert narrow.values(np.full((1, network.cell_count), 0.5)).tolist() == [0.5]


def test_too_much_work_for_so_many_samples_is_refused_before_one_is_read() -> None:
    network = clinical_network()
    question = compile_evidence(network, event={"v0": "l0"}, evidence=dict.fromkeys(leaves(network), "l0"))
    with pytest.raises(InvalidQuery) as refusal:
        question.values([ManySamples()] * network.cell_count)
    assert refusal.value.problems[0].field == "estimand.evidence"
    assert str(OPERATIONS_MAX) in refusal.value.problems[0].expected


def test_questions_that_differ_only_in_levels_share_one_plan() -> None:
    network = clinical_network()
    known = leaves(network)
    compile_evidence(network, event={"v0": "l0"}, evidence=dict.fromkeys(known, "l0"))
    before = plan_elimination.cache_info()
    compile_evidence(clinical_network(), event={"v0": "l1"}, evidence=dict.fromkeys(known, "l1"))
    after = plan_elimination.cache_info()
    assert (after.misses, after.hits) == (before.misses, before.hits + 1)


def test_a_compiled_question_is_equal_to_its_twin_and_hashes_alike() -> None:
    one, two = (
        compile_evidence(clinical_network(), event={"v0": "l0"}, evidence={"v5": ["l1", "l0"], "v9": "l0"})
        for _ in range(2)
    )
    other = compile_evidence(clinical_network(), event={"v0": "l0"}, evidence={"v9": "l1"})
    assert one == two
    assert hash(one) == hash(two)
    assert one != other
