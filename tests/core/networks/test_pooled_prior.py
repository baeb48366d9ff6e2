"""A prior that configurations share is learnt as sums by hand have it; models without one stay as they were."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import kstest

from app.core.kinds import parse_model
from app.core.kinds.networks.accuracy import expected_accuracy
from app.core.kinds.networks.beliefs.block_posterior import block_posterior
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.pace import pace
from app.core.kinds.networks.beliefs.pooled_prior import PooledPriors
from app.core.kinds.networks.beliefs.posterior import posterior_samples
from app.core.kinds.networks.beliefs.record_chain import RecordChain
from app.core.kinds.networks.comparison import network_alternatives
from app.core.kinds.networks.mechanisms import NetworkBaps, NetworkGaussian, NetworkLaplace, NetworkMap
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.nobody import NobodysTables
from app.core.kinds.networks.structure import Node
from app.core.privacy.targets import Target
from app.core.schema import parse_columns
from app.errors import InvalidMechanism, InvalidModel
from tests.core.networks.test_record_costs import model_of
from tests.deep import deep

Array = NDArray[np.float64]

COLUMNS = parse_columns(
    {"a": {"type": "binary"}, "b": {"type": "binary"}, "c": {"type": "categorical", "levels": list("xyz")}}
)
STRENGTHS = np.exp(np.linspace(math.log(1e-3), math.log(1e7), 400))
SHARES = (np.arange(200) + 0.5) / 200


def pooled(model: NetworkModel) -> NetworkModel:
    nodes = tuple(replace(node, pooled=True) for node in model.network.nodes)
    return replace(model, network=replace(model.network, nodes=nodes))


def parsed(prior: dict[str, object]) -> NetworkModel:
    nodes = {"a": {}, "b": {"parents": ["a"], "prior": prior}}
    model = parse_model({"family": "network", "nodes": nodes}, COLUMNS)
    assert isinstance(model, NetworkModel)
    return model


ARROW = pooled(model_of((2, 2), ((), (0,)), 1.0, "tree", 0.05))


def shared_weights(yes: Array, no: Array, alpha: float, beta: float) -> Array:
    """(strengths, shares): what counts of every configuration, and the prior, say of κ and of m."""
    strength, share = STRENGTHS[:, None], SHARES[None, :]
    log = np.log(strength) - 2 * np.log(strength + alpha + beta)  # d log κ
    log = log + (alpha - 1) * np.log(share) + (beta - 1) * np.log1p(-share)
    for s, f in zip(yes, no, strict=True):
        log = log + gammaln(strength * share + s) - gammaln(strength * share)
        log = log + gammaln(strength * (1 - share) + f) - gammaln(strength * (1 - share))
        log = log + gammaln(strength) - gammaln(strength + s + f)
    return np.asarray(log)


def test_the_shared_law_is_learnt_as_a_grid_has_it() -> None:
    """Eight configurations, 64 chains of 60 turns: some 1,500 independent draws, so that a tenth of an sd is four errors."""
    yes, no = np.array([3, 0, 11, 1, 0, 40, 2, 0]), np.array([9, 1, 30, 2, 0, 77, 12, 0])
    node = parsed({"concentration": [1.5, 0.7], "pooled": True}).network.nodes[1]
    priors = PooledPriors.of_node(node, np.arange(8)[None], 64, np.random.default_rng(4))
    counts = np.repeat(np.stack([yes, no], axis=1).reshape(-1, 1), 64, axis=1)
    found = []
    for turn in range(110):
        priors.turn(counts, settling=turn < 50)
        found.append(priors.concentration[:2].copy())
    drawn = np.concatenate(found[50:], axis=1)
    log = shared_weights(yes, no, 1.5, 0.7)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    for values, ours in (
        (np.log(STRENGTHS)[:, None], np.log(drawn.sum(axis=0))),
        (SHARES[None, :], drawn[0] / drawn.sum(axis=0)),
    ):
        mean = float((weight * values).sum())
        sd = math.sqrt(float((weight * (values - mean) ** 2).sum()))
        assert abs(ours.mean() - mean) < 0.1 * sd
        assert ours.std() == pytest.approx(sd, rel=0.1)


def test_turns_leave_laws_of_laws_as_they_are() -> None:
    """Chains, each with the counts of a draw of the prior and begun there, stay draws of it, as others that did not move: three
    groups of four configurations with three levels. Kolmogorov–Smirnov on four figures, false alarm 10⁻⁴ in all."""
    chains, source = 2_400, np.random.default_rng(8)
    node = Node("x", ("a", "b", "c"), ("p", "q"), (1.5, 0.7, 2.0), True, ("p",))
    declared, groups = np.array(node.concentration), np.arange(12).reshape(4, 3).T.copy()
    odds = source.random((chains, 2, 1))
    strengths = declared.sum() * odds / (1 - odds)
    top = source.dirichlet(declared, chains)
    means = np.stack([dirichlet(source, strengths[:, 0] * top) for _ in groups], axis=1)
    possible = (means.min(axis=(1, 2)) >= 1e-12) & (top.min(axis=1) >= 1e-12)
    strengths, top, means = strengths[possible], top[possible], means[possible]
    still, moved = slice(0, len(top) // 2), slice(len(top) // 2, None)
    tables = dirichlet(source, (strengths[moved, 1][:, None] * means[moved])[:, :, None].repeat(4, axis=2))
    counts = np.empty((12, 3, len(tables)), dtype=np.int64)
    counts[groups.ravel()] = source.multinomial(9, tables.reshape(-1, 12, 3)).transpose(1, 2, 0)
    priors = PooledPriors.of_node(node, groups, len(tables), source)
    law, above = priors._nodes[0].law, priors._nodes[0].above
    assert above is not None
    above.share, above.log_strength = top[moved].T[:, None].copy(), np.log(strengths[moved, 0, 0])
    law.share, law.log_strength = means[moved].transpose(2, 1, 0).copy(), np.log(strengths[moved, 1, 0])
    for _ in range(40):
        priors.turn(counts.reshape(-1, len(tables)))
    pairs = [
        (np.exp(above.log_strength), strengths[:, 0, 0]),
        (np.exp(law.log_strength), strengths[:, 1, 0]),
        (above.share[0, 0], top[:, 0]),
        (law.share[1, 2], means[:, 2, 1]),
    ]
    for after, before in pairs:
        assert kstest(after, before[still]).pvalue > 2e-5
        assert (after != before[moved]).mean() > 0.9
    shown = priors.concentration.reshape(12, 3, -1)
    assert shown[groups[1]] == pytest.approx(np.repeat(law.concentration[None, :, 1], 4, axis=0))


def dirichlet(source: np.random.Generator, concentration: Array) -> Array:
    drawn = source.standard_gamma(concentration) + 1e-290
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def arrow_means(people: int, measured: NoisyTables) -> Array:
    """Of the six cells of ARROW, by summing over every table of its four kinds of records."""
    weights, means = [], []
    kinds = [(a, b, c, people - a - b - c) for a, b, c in itertools.product(range(people + 1), repeat=3)]
    for a, b, c, d in (kind for kind in kinds if kind[3] >= 0):
        cells = np.array([a + b, c + d, a, b, c, d], dtype=float)
        log = shared_weights(np.array([a, c]), np.array([b, d]), 1.0, 1.0)
        log = log + gammaln(a + b + 1) + gammaln(c + d + 1) - gammaln(people + 2)
        log = log + gammaln(people + 1) - gammaln(np.array([a, b, c, d]) + 1).sum()
        weight = np.exp(log + measured.log_law(measured.observed - cells))
        strength, share = STRENGTHS[:, None], SHARES[None, :]
        first = [(weight * (strength * share + s) / (strength + s + f)).sum() for s, f in ((a, b), (c, d))]
        weights.append(weight.sum())
        means.append([(a + b + 1) / (people + 2) * weights[-1], *first])
    root, one, other = np.sum(means, axis=0) / sum(weights)
    return np.array([root, 1 - root, one, 1 - one, other, 1 - other])


@pytest.mark.slow
@pytest.mark.parametrize(("gaussian", "records"), [(True, False), deep(False, False), deep(False, True)])
def test_chains_are_of_the_sum_over_every_table_and_law(gaussian: bool, records: bool) -> None:
    """Five people, of whom hardly any have the second level: sds of means under 0.012, and 0.04 is 3.3 of them for three."""
    near = np.array([6.0, 0.0, 5.0, -1.0, 1.0, 0.0])
    measured = NoisyTables(near, 1.5, gaussian, (5, 5), 4.0, near, np.full(6, 1.5))
    generator = np.random.default_rng(11)
    if records:
        steps = pace(ARROW.network, measured.rows, measured.scale, measured.moved, 4_096)
        start = block_posterior(ARROW.network, measured, 1, generator)[1]
        points = RecordChain(ARROW.network, measured, steps, generator).samples(start, 4_096)
    else:
        points = posterior_samples(ARROW, measured, 4_096, generator)
    known = arrow_means(5, measured)
    assert np.abs(points.mean(axis=0) - known).max() < 0.04
    alone = posterior_samples(model_of((2, 2), ((), (0,)), 1.0, "tree", 0.05), measured, 1_024, generator)
    assert known[4] > alone.mean(axis=0)[4] + 0.05


@pytest.mark.slow
def test_tables_taken_one_by_one_learn_from_each_other_too() -> None:
    """Thirty configurations of 200 rows near .2, one of none, and hardly any noise: that one is believed to be near .2."""
    wide = pooled(model_of((31, 2), ((), (0,)), 1.0, "tree", 0.05))
    rows = np.append(np.full(30, 200.0), 0.0)
    near = np.concatenate([rows, np.stack([0.2 * rows, 0.8 * rows], axis=1).ravel()])
    measured = NoisyTables(near, 0.5, True, (6_000, 6_000), 4.0, near, np.full(len(near), 0.5))
    drawn, mean = block_posterior(wide.network, measured, 400, np.random.default_rng(2))
    assert mean[-2] == pytest.approx(0.2, abs=0.02)
    assert np.quantile(drawn[:, -2], [0.05, 0.95]) == pytest.approx([0.2, 0.2], abs=0.1)


def test_a_pooled_prior_is_declared_and_stored_and_no_other_model_changes() -> None:
    shared = parsed({"strength": 2, "pooled": True})
    assert shared.as_json()["nodes"]["b"]["prior"] == {"concentration": [2.0, 2.0], "pooled": True}
    assert parse_model(shared.as_json(), COLUMNS) == shared
    assert parsed({"strength": 2}).as_json()["nodes"]["b"]["prior"] == {"concentration": [2.0, 2.0]}
    everywhere = parse_model(
        {"family": "network", "nodes": {"a": {}}, "prior": {"strength": 1, "pooled": True}}, COLUMNS
    )
    assert isinstance(everywhere, NetworkModel)
    assert everywhere.network.nodes[0].pooled
    assert not everywhere.pooled  # a single configuration has none to learn from
    bayes = {"family": "naive_bayes", "class": "a", "features": ["c"], "priors": {"c": {"strength": 1, "pooled": True}}}
    model = parse_model(bayes, COLUMNS)
    assert isinstance(model, NetworkModel)
    assert model.pooled
    assert parse_model(model.as_json(), COLUMNS) == model


@pytest.mark.parametrize(
    ("prior", "field"),
    [
        ({"strength": 1, "pooled_by": ["a"]}, "pooled_by"),
        ({"strength": 1, "pooled": True, "pooled_by": ["a"]}, "pooled_by"),
        ({"strength": 1, "pooled": True, "pooled_by": ["c"]}, "pooled_by"),
        ({"strength": 1, "pooled": "yes"}, "pooled"),
    ],
)
def test_what_is_no_pooled_prior_is_refused_by_its_field(prior: dict[str, object], field: str) -> None:
    """By something while not pooled, by all parents, by no parent, and a text."""
    with pytest.raises(InvalidModel, match=f"model.nodes.b.prior.{field}: "):
        parsed(prior)


def test_a_prior_is_pooled_by_parents_and_stored_so() -> None:
    own = {"strength": 1, "pooled": True, "pooled_by": ["b"]}
    nodes = {"a": {}, "b": {}, "c": {"parents": ["a", "b"], "prior": own}}
    model = parse_model({"family": "network", "nodes": nodes}, COLUMNS)
    assert isinstance(model, NetworkModel)
    assert model.network.pooled_groups(2).tolist() == [[0, 2], [1, 3]]
    assert model.as_json()["nodes"]["c"]["prior"]["pooled_by"] == ["b"]
    assert parse_model(model.as_json(), COLUMNS) == model


@pytest.mark.parametrize("mechanism", [NetworkBaps(2), NetworkMap(1.0, "log_density"), NetworkMap(1.0, "probability")])
def test_draws_of_blocks_refuse_a_prior_that_blocks_share(mechanism: NetworkBaps | NetworkMap) -> None:
    with pytest.raises(InvalidMechanism, match="pooled"):
        mechanism.cost(ARROW, 50, 1)


def test_plans_of_a_pooled_network_compare_noise_alone() -> None:
    kinds = {each.mechanism.kind for each in network_alternatives(ARROW, 200, 1, Target(1.0, 1e-6))}
    assert kinds == {"laplace", "gaussian", "fourier"}
    assert 0 < expected_accuracy(ARROW, NetworkLaplace(100, 1.0), 200, 1).rmse < 0.5
    plain = model_of((2, 2), ((), (0,)), 1.0, "tree", 0.05)
    for mechanism in (NetworkLaplace(5, 1.0), NetworkGaussian(5, 1.0, 1e-6)):
        assert mechanism.cost(ARROW, 50, 1) == mechanism.cost(plain, 50, 1)


def test_a_stratum_of_nobody_is_believed_by_the_shared_law() -> None:
    """Tables of one draw are alike: of 2,048 independent ones a correlation of a quarter would be eleven sds."""
    points = NobodysTables().belief(ARROW, b"nobody").points
    assert points.mean(axis=0) == pytest.approx(np.full(6, 0.5), abs=0.03)
    assert np.corrcoef(points[:, 2], points[:, 4])[0, 1] > 0.25
    stored = NobodysTables().samples(ARROW, 5, np.random.default_rng(1).bytes)
    assert stored.shape == (5, 6)
    assert stored.min() >= 0.05
