"""The most probable explanation against the largest entry of the joint law, and its rule for ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.kinds.networks.evidence.explanation import compile_explanation
from app.core.kinds.networks.structure import Node, build_network
from app.errors import InvalidQuery
from tests.core.networks.network_cases import agreeing, draw_samples, every_configuration, joint_law, random_network

BINARY = ("false", "true")


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1))
def test_every_explanation_is_the_likeliest_configuration_of_its_sample(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, nodes=int(rng.integers(3, 8)), fan_in=3)
    cells = draw_samples(network, 6, rng)
    last = network.nodes[-1]
    evidence = {last.name: list(last.levels[: len(last.levels) - 1]), network.nodes[0].name: ["l1"]}
    asked = compile_explanation(network, evidence=evidence)
    possible = agreeing(network, evidence)
    joint = np.where(possible[:, None], joint_law(network, cells), -1.0)
    best = every_configuration(network)[joint.argmax(axis=0)]
    assert asked.levels(cells).tolist() == best.tolist()
    columns = tuple(cells[:, k].copy() for k in range(network.cell_count))
    assert asked.levels(columns).tolist() == best.tolist()
    mean = np.where(possible, joint_law(network, cells.mean(axis=0, keepdims=True))[:, 0], -1.0)
    assert asked.of_mean(columns).tolist() == every_configuration(network)[mean.argmax()].tolist()


def test_of_equal_explanations_the_first_levels_win() -> None:
    three = ("low", "mid", "high")
    network = build_network([Node("a", three, (), (1.0,) * 3), Node("b", three, ("a",), (1.0,) * 3)])
    uniform = np.full((2, network.cell_count), 1 / 3)
    assert compile_explanation(network).levels(uniform).tolist() == [[0, 0], [0, 0]]
    asked = compile_explanation(network, evidence={"a": ["mid", "high"]})
    assert asked.named(asked.of_mean(uniform)) == {"a": "mid", "b": "low"}


def test_a_sample_that_rules_the_evidence_out_explains_it_by_the_first_levels_allowed() -> None:
    network = build_network([Node("a", BINARY, (), (1.0, 1.0)), Node("b", BINARY, ("a",), (1.0, 1.0))])
    never = np.array([[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]])
    assert compile_explanation(network, evidence={"b": True}).levels(never).tolist() == [[0, 1]]


def test_a_long_chain_is_explained_without_underflow() -> None:
    """Each step nearly always leaves the level before; staying 998 times has probability near 10⁻³³⁰⁰."""
    nodes = [Node("n0", BINARY, (), (1.0, 1.0))]
    nodes += [Node(f"n{k}", BINARY, (f"n{k - 1}",), (1.0, 1.0)) for k in range(1, 1000)]
    network = build_network(nodes)
    rare = 1e-3
    row = np.array([0.5, 0.5, *[rare / 2, 1 - rare / 2, 1 - rare / 2, rare / 2] * 999])[None, :]
    asked = compile_explanation(network, evidence={f"n{k}": False for k in range(0, 1000, 2)})
    assert asked.levels(row)[0].tolist() == [k % 2 for k in range(1000)]
    stuck = compile_explanation(network, evidence={f"n{k}": False for k in range(999)})
    assert stuck.levels(row)[0].tolist() == [*[0] * 999, 1]


def test_evidence_on_every_variable_leaves_nothing_to_explain() -> None:
    network = build_network([Node("a", BINARY, (), (1.0, 1.0))])
    with pytest.raises(InvalidQuery) as refusal:
        compile_explanation(network, evidence={"a": True})
    assert refusal.value.problems[0].field == "estimand.evidence"
