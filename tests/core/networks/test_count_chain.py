"""Chains over tables of counts: the tables are those of records, and the chains of the posterior, by summing over every table."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import beta

from app.core.kinds.networks.beliefs.chordal import CELLS_MAX, ROOT, chordal
from app.core.kinds.networks.beliefs.count_pace import CHAIN_S, CountPace, count_pace
from app.core.kinds.networks.beliefs.made_up_tables import MadeUpTables
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.posterior import posterior_samples
from app.core.kinds.networks.structure import Network
from tests.core.networks.network_cases import clinical_network, draw_samples, random_network
from tests.core.networks.test_record_costs import model_of
from tests.deep import deep

Array = NDArray[np.float64]

COLLIDER = model_of((2, 3, 2), ((), (), (1, 0)), 1.5, "tree", 0.05)
EDGE = 0.4


def family_counts(network: Network, records: NDArray[np.int64]) -> NDArray[np.int64]:
    """One record at a time."""
    found = np.zeros(network.cell_count, dtype=np.int64)
    for record in records:
        for i in range(len(network.nodes)):
            own = (*(record[p] for p in network.parents(i)), record[i])
            found[network.cells(i).start + np.ravel_multi_index(own, network.shape(i))] += 1
    return found


def every_table(rows: int, kinds: int) -> NDArray[np.int64]:
    """(tables, kinds): how many of `rows` are of each kind."""
    bars = np.array(list(itertools.combinations(range(rows + kinds - 1), kinds - 1)))
    edges = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), rows + kinds - 1)], axis=1)
    return np.diff(edges, axis=1) - 1


def summed_over_tables(rows: range, measured: NoisyTables) -> tuple[Array, Array]:
    """Means of all cells of COLLIDER, and probabilities of being below EDGE."""
    network = COLLIDER.network
    records = np.array(list(itertools.product(*(range(len(node.levels)) for node in network.nodes))))
    cells_of_one = np.array([family_counts(network, record[None]) for record in records])
    tables = np.concatenate([every_table(each, len(records)) for each in rows])
    cells = tables @ cells_of_one
    shape = cells + 1.5
    total = np.empty_like(shape)
    log_weight = gammaln(tables.sum(axis=1) + 1) - gammaln(tables + 1).sum(axis=1) + gammaln(shape).sum(axis=1)
    for i, node in enumerate(network.nodes):
        part, levels = network.cells(i), len(node.levels)
        sums = shape[:, part].reshape(len(tables), -1, levels).sum(axis=2)
        log_weight -= gammaln(sums).sum(axis=1)
        total[:, part] = np.repeat(sums, levels, axis=1)
    log_weight += np.array([measured.log_law(measured.observed - each) for each in cells])
    weight = np.exp(log_weight - log_weight.max())
    weight /= math.fsum(weight)
    return weight @ (shape / total), weight @ beta.cdf(EDGE, shape, total - shape)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gaussian", "unit_rows"), [(True, 1), deep(False, 1), (False, 2), deep(True, 2)], ids=lambda value: str(value)
)
def test_chains_are_of_the_sum_over_every_table(gaussian: bool, unit_rows: int) -> None:
    """Three people. 4,096 points worth a thousand independent ones: sds under 0.016, so 0.06 is 3.7 of them for 34 figures."""
    near = np.array([4.0, 0.0, 3.0, -1.0, 2.0, 2.0, 1.0, -2.0, 0.0, 1.0, 3.0, 0.0, 0.0, 1.0, -1.0, 2.0, 0.0])
    measured = NoisyTables(near, 2.0, gaussian, (3, 3 * unit_rows), 6.0, near, np.full(17, 2.0))
    means, below = summed_over_tables(range(3, 3 * unit_rows + 1), measured)
    points = posterior_samples(COLLIDER, measured, 4_096, np.random.default_rng([1, unit_rows]))
    assert np.abs(points.mean(axis=0) - means).max() < 0.03
    assert np.abs((points < EDGE).mean(axis=0) - below).max() < 0.06


@pytest.mark.parametrize("seed", range(3))
def test_tables_count_the_same_records_after_any_moves(seed: int) -> None:
    network = random_network(np.random.default_rng(seed), 7, 2)
    generator = np.random.default_rng(seed)
    near = generator.normal(20, 30, network.cell_count)
    measured = NoisyTables(near, 10.0, True, (60, 90), 14.0, near, np.full(len(near), 10.0))
    state = MadeUpTables(network, [measured], draw_samples(network, 5, generator), generator)
    for turn in range(30):
        at = int(generator.integers(0, len(state.places)))
        gone = generator.binomial(state.tables[at], 0.2)
        state.take(state.carried(at, gone, state.levels(at, gone.sum(axis=1))))
        by = generator.integers(0, 4, 5)
        possible = state.rows + by <= 90
        taken = state.take(state.exchanged(np.zeros_like(by), by * possible)) & possible
        state.rows = state.rows + by * taken
        assert turn < 29 or taken.any() or (state.rows > 60).any()
    for at, place in enumerate(state.places):
        table = state.tables[at]
        assert table.min() >= 0
        assert (table.sum(axis=(0, 1)) == state.rows).all()
        if place.link != ROOT:
            link = state.places[place.link]
            shared = place.scope_counts(state.tables[place.link], (*link.shape, link.levels))
            assert np.array_equal(shared, table.sum(axis=1))
        assert np.array_equal(place.family_counts(table), state.counts[place.cells])
    assert np.allclose(state.residual, near[:, None] - state.counts)


@pytest.mark.parametrize("network", [clinical_network(), random_network(np.random.default_rng(3), 12, 3)])
def test_a_table_holds_its_family_and_its_scope_is_within_that_of_its_link(network: Network) -> None:
    places = chordal(network)
    assert sorted(place.node for place in places) == list(range(len(network.nodes)))
    for at, place in enumerate(places):
        assert place.size * place.levels % math.prod(network.shape(place.node)) == 0
        assert len(np.unique(place.given)) == network.configurations(place.node)
        assert place.link < at
        assert place.below[0] == at
        assert set(place.below[1:]) == {j for k in range(len(places)) if places[k].link == at for j in places[k].below}


def test_chains_are_affordable_or_left_to_records() -> None:
    wide = random_network(np.random.default_rng(1), 80, 4)
    assert chordal(wide) == ()
    assert sum(place.size * place.levels for place in chordal(clinical_network())) <= CELLS_MAX
    for network in (wide, clinical_network()):
        assert count_pace(network, (1_000, 1_000), 20.0, 74.0, 2_048) is None
    small = random_network(np.random.default_rng(1), 8, 2)
    found = count_pace(small, (1_000, 3_000), 20.0, 16.0, 2_048)
    assert isinstance(found, CountPace)
    assert found.seconds < CHAIN_S
    many = count_pace(small, (1_000, 3_000), 20.0, 16.0, 100_000)
    assert many is not None
    assert CHAIN_S / 2 < many.seconds <= CHAIN_S
    assert found == count_pace(small, (10**6, 3 * 10**6), 20.0, 16.0, 2_048)
    assert count_pace(small, (10**9, 10**9), 20.0, 16.0, 2_048) is None
    assert count_pace(small, (1_000, 1_000), 0.1, 16.0, 2_048) is None
