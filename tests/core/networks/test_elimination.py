"""Conditional probabilities by elimination against the joint law listed configuration by configuration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.kinds.networks.evidence.compiled import compile_evidence, compile_expectation, compile_law
from app.core.kinds.networks.structure import Network, Node, build_network
from tests.core.networks.network_cases import Array, agreeing, draw_samples, joint_law, random_network

SEEDS = st.integers(0, 2**32 - 1)


def random_wanted(network: Network, rng: np.random.Generator, names: list[str]) -> dict[str, list[str]]:
    """For each name a set of levels that is neither empty nor everything."""
    wanted = {}
    for name in names:
        levels = network.nodes[network.index(name)].levels
        count = int(rng.integers(1, len(levels)))
        wanted[name] = [levels[k] for k in sorted(rng.choice(len(levels), size=count, replace=False))]
    return wanted


def enumerated(network: Network, cells: Array, event: dict[str, list[str]], evidence: dict[str, list[str]]) -> Array:
    joint = joint_law(network, cells)
    below = agreeing(network, evidence)
    total: Array = joint[below & agreeing(network, event)].sum(axis=0) / joint[below].sum(axis=0)
    return total


def random_case(seed: int, samples: int = 5) -> tuple[np.random.Generator, Network, Array, list[str]]:
    rng = np.random.default_rng(seed)
    network = random_network(rng, nodes=int(rng.integers(2, 9)), fan_in=3, levels=(2, 2, 3, 4))
    names = [str(name) for name in rng.permutation([node.name for node in network.nodes])]
    return rng, network, draw_samples(network, samples, rng), names


@pytest.mark.slow
@given(seed=SEEDS)
def test_every_conditional_probability_is_the_enumerated_one(seed: int) -> None:
    rng, network, cells, names = random_case(seed)
    targets = int(rng.integers(1, min(4, len(names))))
    known = int(rng.integers(0, len(names) - targets + 1))
    event = random_wanted(network, rng, names[:targets])
    evidence = random_wanted(network, rng, names[targets : targets + known])
    ours = compile_evidence(network, event=event, evidence=evidence).values(cells)
    np.testing.assert_allclose(ours, enumerated(network, cells, event, evidence), rtol=0, atol=1e-12)


@pytest.mark.slow
@given(seed=SEEDS)
def test_an_event_about_a_variable_that_the_evidence_narrows_is_the_enumerated_one(seed: int) -> None:
    rng, network, cells, names = random_case(seed)
    wide = [node for node in network.nodes if len(node.levels) > 2]
    if not wide:
        return
    narrowed = wide[0]
    others = [name for name in names if name != narrowed.name][:2]
    evidence = {narrowed.name: list(narrowed.levels[1:]), **random_wanted(network, rng, others[:1])}
    event = {narrowed.name: list(narrowed.levels[:2]), **random_wanted(network, rng, others[1:])}
    ours = compile_evidence(network, event=event, evidence=evidence).values(cells)
    np.testing.assert_allclose(ours, enumerated(network, cells, event, evidence), rtol=0, atol=1e-12)


@pytest.mark.slow
@given(seed=SEEDS)
def test_a_law_lies_on_the_simplex_and_an_expectation_is_its_mean_score(seed: int) -> None:
    rng, network, cells, names = random_case(seed)
    evidence = random_wanted(network, rng, names[1:3])
    law = compile_law(network, variable=names[0], evidence=evidence)
    shares = law.probabilities(cells)
    scores = dict(zip(law.levels, rng.normal(size=len(law.levels)).tolist(), strict=True))
    asked = compile_expectation(network, variable=names[0], evidence=evidence, scores=scores)
    joint = joint_law(network, cells)[agreeing(network, evidence)]
    of_level = [agreeing(network, {names[0]: [level]})[agreeing(network, evidence)] for level in law.levels]
    expected = sum(
        joint[rows].sum(axis=0) * score for rows, score in zip(of_level, scores.values(), strict=True)
    ) / joint.sum(axis=0)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(asked.values(cells), expected, rtol=0, atol=1e-12)
    assert asked.lower == min(scores.values())
    assert asked.upper == max(scores.values())


@given(seed=SEEDS)
def test_evidence_added_one_at_a_time_follows_bayes_rule(seed: int) -> None:
    """P(A, B | E) = P(A | B, E) · P(B | E)."""
    rng, network, cells, names = random_case(seed)
    if len(names) < 3:
        return
    a, b, e = (random_wanted(network, rng, [name]) for name in names[:3])
    together = compile_evidence(network, event=a | b, evidence=e).values(cells)
    first = compile_evidence(network, event=a, evidence=b | e).values(cells)
    second = compile_evidence(network, event=b, evidence=e).values(cells)
    np.testing.assert_allclose(together, first * second, rtol=0, atol=1e-13)


@given(seed=SEEDS, samples=st.integers(1, 40))
def test_a_sample_answers_in_the_same_bytes_whoever_stands_beside_it_and_however_it_is_kept(
    seed: int, samples: int
) -> None:
    rng, network, cells, names = random_case(seed, samples=40)
    event = random_wanted(network, rng, names[:1])
    question = compile_evidence(network, event=event, evidence=random_wanted(network, rng, names[1:3]))
    columns = tuple(cells[:, k].copy() for k in range(network.cell_count))
    whole = question.values(cells)
    assert question.values(columns).tobytes() == whole.tobytes()
    assert question.values(cells[:samples]).tobytes() == whole[:samples].tobytes()
    assert question.values(tuple(c[samples - 1 :] for c in columns)).tobytes() == whole[samples - 1 :].tobytes()


def naive_bayes(features: int) -> tuple[Network, Array]:
    levels = ("no", "yes")
    nodes = [Node("class", levels, (), (1.0, 1.0))]
    nodes += [Node(f"f{k}", levels, ("class",), (1.0, 1.0)) for k in range(features)]
    network = build_network(nodes)
    return network, draw_samples(network, 50, np.random.default_rng(7))


def test_a_thousand_known_features_do_not_underflow() -> None:
    """The evidence has probability near 10⁻⁴⁰⁰; logarithms give the same law."""
    network, cells = naive_bayes(999)
    evidence = {f"f{k}": "yes" for k in range(999)}
    ours = compile_evidence(network, event={"class": "yes"}, evidence=evidence).values(cells)
    log = np.log(cells)
    no, yes = (log[:, k] + log[:, 3 + 2 * k :: 4].sum(axis=1) for k in (0, 1))
    assert (np.logaddexp(no, yes) < -800).all()
    np.testing.assert_allclose(ours, 1 / (1 + np.exp(np.clip(no - yes, -700, 700))), rtol=1e-10, atol=1e-300)


def test_a_conjunction_of_many_events_given_many_does_not_underflow() -> None:
    network, cells = naive_bayes(999)
    evidence = {f"f{k}": "yes" for k in range(990)}
    event = {"class": "yes", "f995": "no"}
    ours = compile_evidence(network, event=event, evidence=evidence).values(cells)
    of_class = compile_evidence(network, event={"class": "yes"}, evidence=evidence).values(cells)
    no_given_yes = cells[:, network.cells(network.index("f995")).start + 2]
    np.testing.assert_allclose(ours, of_class * no_given_yes, rtol=1e-12, atol=0)


def zeros_in_one_sample() -> tuple[Network, Array]:
    """The second of three samples says that a is never 1 and that b, which copies it, never is."""
    three = ("0", "1", "2")
    network = build_network([Node("a", three, (), (1.0,) * 3), Node("b", three, ("a",), (1.0,) * 3)])
    cells = draw_samples(network, 3, np.random.default_rng(3))
    cells[1] = [0.5, 0.0, 0.5, 1, 0, 0, 0, 1, 0, 0, 0, 1]
    return network, cells


def test_a_sample_that_rules_the_evidence_out_answers_uniformly_over_what_the_evidence_allows() -> None:
    network, cells = zeros_in_one_sample()
    assert compile_evidence(network, event={"a": "0"}, evidence={"b": "1"}).values(cells)[1] == 1 / 3
    assert compile_evidence(network, event={"a": "1"}, evidence={"a": [1, 2], "b": "1"}).values(cells)[1] == 0.5
    both = compile_evidence(network, event={"a": [0, 1], "b": "1"}, evidence={"a": [0, 1], "b": [0, 1]})
    assert both.values(cells)[1] == 0.0
    joint = compile_evidence(network, event={"a": "1", "b": "1"}, evidence={"a": ["1", "2"], "b": ["0", "1"]})
    assert joint.values(cells)[1] == 0.25
    assert compile_expectation(network, variable="a", evidence={"b": "1"}).values(cells)[1] == pytest.approx(1.0)
    law = compile_law(network, variable="a", evidence={"a": ["0", "1"], "b": "1"}).probabilities(cells)
    assert law[:, 1].tolist() == [0.5, 0.5, 0.0]


def test_samples_beside_one_that_rules_the_evidence_out_are_not_changed() -> None:
    network, cells = zeros_in_one_sample()
    event, evidence = {"a": ["0"]}, {"b": ["1"]}
    ours = compile_evidence(network, event=event, evidence=evidence).values(cells)
    rest = [0, 2]
    np.testing.assert_allclose(ours[rest], enumerated(network, cells[rest], event, evidence), rtol=0, atol=1e-14)
