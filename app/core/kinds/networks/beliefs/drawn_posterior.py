"""What may be believed about a network's tables given draws of them, by `baps` or `map`: points of p(θ | R).

Chains begin as if configurations had as many records as their parents' draws alone say, which is nearly the posterior by itself:
90 % intervals of 500 probabilities of 37 nodes held 89.1 % of them at the beginning, 89.2 % after eight seconds, and those of
the posterior given all records 89.4 % (ten datasets of 1,000 people, twenty draws). Several short chains are therefore worth more
than a long one. How many there are and when they end follows from public numbers and from what they do, and from no clock.
"""

import hashlib
from dataclasses import dataclass

import numpy as np

from app.core.kinds.belief import POINTS, Belief
from app.core.kinds.networks.beliefs.column_chain import ColumnChains
from app.core.kinds.networks.beliefs.drawn_chains import DrawnChains, Size
from app.core.kinds.networks.beliefs.drawn_law import Array, DrawnSplit, Whole, places_of
from app.core.kinds.networks.beliefs.posterior import EDGE, calibrated_range, held
from app.core.kinds.networks.beliefs.split_draws import OpenNode, OpenSplit, Priors
from app.core.kinds.networks.beliefs.table_chain import TableChains, smaller_than_records
from app.core.kinds.networks.blocks.block_grid import block_grid
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.shapes import node_shapes
from app.core.kinds.networks.splits import side_totals
from app.core.kinds.networks.structure import Network

CHAINS_LEAST, CHAINS_LUMPED, CHAINS_MOST = 16, 32, 64
VARIABLES_MOST = 6_000_000
"""Records times nodes times chains: what is kept in memory, at two bytes each."""
SETTLING_S, CHAIN_S = 2.0, 5.0
"""On the machine of reference, for the largest networks; small ones are done sooner."""
SETTLING_LEAST, SETTLING, TURNS_EACH = 3, 12, 4
STRAYS_EVERY = 4

DRAWN_MEASURED = (
    "points are of short chains over made-up records, and 90 % intervals held 87.4 to 90.9 % in simulations of six yes/no nodes "
    "and up to 1,000 people (19 to 60 datasets a setting)"
)


@dataclass(frozen=True, slots=True)
class DrawnTables:
    """Public settings of the draws. `gain`: of points chosen by their probability."""

    people: int
    unit_rows: int
    temperature: float
    gain: float | None = None


def drawn_belief(model: NetworkModel, settings: DrawnTables, samples: Array, seed: bytes) -> Belief:
    """`samples` are those the reader has a right to: nothing else of the release is looked at."""
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(seed).digest(), "little")))
    points = held(model, drawn_points(model, settings, samples, POINTS, generator), EDGE)
    return Belief(calibrated_range(model), points)


def drawn_points(
    model: NetworkModel,
    settings: DrawnTables,
    samples: Array,
    points: int,
    generator: np.random.Generator,
    size: Size | None = None,
) -> Array:
    """(points, cells), not trimmed, in no order. `size` unless it is to follow from how large the network is."""
    network = model.network
    size = size or chain_size(network, settings.people, settings.unit_rows)
    nodes = [_open_node(model, i, settings, samples, size.chains) for i in range(len(network.nodes))]
    chains = (TableChains if size.by_tables else ColumnChains)(network, nodes, size, generator)
    for turn in range(SETTLING):
        chains.settle()
        if turn % STRAYS_EVERY == 0:
            chains.look_for_strays()
        if chains.work_s > SETTLING_S or (chains.renewed and turn >= SETTLING_LEAST):
            break
    counts = _states(chains, -(-points // size.chains))
    chosen = np.resize(generator.permutation(len(counts)), points)
    return _tables(network, counts[chosen], generator)


def chain_size(network: Network, people: int, unit_rows: int) -> Size:
    nodes, rows = len(network.nodes), (people, people * unit_rows)
    if smaller_than_records(network, rows[1]):
        return Size(rows, CHAINS_MOST, by_tables=True)
    chains = min(VARIABLES_MOST // (nodes * rows[1]), CHAINS_MOST)
    if chains >= CHAINS_LEAST:
        return Size(rows, chains)
    records = max(1, VARIABLES_MOST // (2 * nodes * CHAINS_LUMPED))
    return Size(rows, CHAINS_LUMPED, max(1, min(-(-rows[1] // records), rows[0])))


def _states(chains: DrawnChains, wanted: int) -> Whole:
    """Counts after `wanted` turns, evenly from up to TURNS_EACH times as many unless each renews all; fewer where time is up."""
    found: list[Whole] = []
    turn, every = 0, 1
    while turn < TURNS_EACH * wanted:
        chains.turn()
        if turn % every == 0:
            found.append(chains.counts.astype(np.int32))
        if turn % STRAYS_EVERY == 0:
            chains.look_for_strays()
        if len(found) == 2 * wanted:
            found, every = found[::2], 2 * every
        turn += 1
        if chains.work_s > CHAIN_S or (chains.renewed and turn >= wanted):
            break
    return np.concatenate(found)


def _tables(network: Network, counts: Whole, generator: np.random.Generator) -> Array:
    """One draw of all tables given each row of counts."""
    drawn = np.empty(counts.shape)
    for i, node in enumerate(network.nodes):
        part = network.cells(i)
        alpha = np.tile(node.concentration, network.configurations(i))
        weights = (generator.standard_gamma(alpha + counts[:, part]) + 1e-290).reshape(
            len(counts), -1, len(node.levels)
        )
        drawn[:, part] = (weights / weights.sum(axis=-1, keepdims=True)).reshape(len(counts), -1)
    return drawn


def _open_node(model: NetworkModel, i: int, settings: DrawnTables, samples: Array, chains: int) -> OpenNode:
    network, splits, rows = model.network, model.node_splits(i), settings.people * settings.unit_rows
    levels = samples[:, network.cells(i)].reshape(len(samples), -1, len(network.nodes[i].levels))
    yes, no = side_totals(splits, levels)
    found = []
    for at, shape in enumerate(node_shapes(model, i, rows, settings.unit_rows, settings.temperature)):
        places = places_of(block_grid(shape), yes[..., at] / (yes[..., at] + no[..., at]))
        law = DrawnSplit(shape, places, chains, settings.gain)
        found.append(OpenSplit(splits[at], law, Priors.of(shape.alpha, shape.beta, rows)))
    return OpenNode(tuple(found))
