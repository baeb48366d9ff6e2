"""The shape of a network: order, columns, and refusals that name the field."""

import pytest

from app.core.kinds.networks.structure import Node, build_network
from app.errors import InvalidModel

BINARY = ("no", "yes")


def node(name: str, *parents: str, levels: tuple[str, ...] = BINARY) -> Node:
    return Node(name, levels, parents, (1.0,) * len(levels))


def test_parents_come_first_and_otherwise_the_order_given_stays() -> None:
    network = build_network([node("c", "a", "b"), node("b"), node("a"), node("d")])
    assert [each.name for each in network.nodes] == ["b", "a", "c", "d"]


def test_a_cell_name_says_node_level_and_configuration_in_column_order() -> None:
    network = build_network([node("a"), node("b", "a", levels=("x", "y", "z"))])
    names = list(network.cell_names())
    assert names[:2] == ["a=no", "a=yes"]
    assert names[2:5] == ["b=x|a=no", "b=y|a=no", "b=z|a=no"]
    assert network.cells(1) == slice(2, 8)
    assert network.shape(1) == (2, 3)
    assert len(names) == network.cell_count == 8


@pytest.mark.parametrize(
    ("nodes", "field", "words"),
    [
        ([node("a", "b"), node("b", "a")], "model.nodes", "cycle"),
        ([node("a", "a")], "model.nodes", "cycle"),
        ([node("a", "z")], "model.nodes.a.parents", "'z' is none"),
        ([node("a"), node("a")], "model.nodes", "once"),
        ([node("a"), node("b", "a", "a")], "model.nodes.b.parents", "once"),
        ([Node("a", ("x",), (), (1.0,))], "model.nodes.a", "two or more"),
        ([Node("a", BINARY, (), (1.0, 0.0))], "model.nodes.a.prior", "positive"),
        ([Node("a", BINARY, (), (1.0, float("nan")))], "model.nodes.a.prior", "positive"),
        (
            [*(node(f"p{i}") for i in range(12)), node("z", *(f"p{i}" for i in range(12)))],
            "model.nodes.z.parents",
            "8192",
        ),
        ([], "model.nodes", "1 to"),
    ],
)
def test_what_is_no_network_is_refused_by_field(nodes: list[Node], field: str, words: str) -> None:
    with pytest.raises(InvalidModel) as refusal:
        build_network(nodes)
    assert refusal.value.problems[0].field == field
    assert words in refusal.value.problems[0].expected
