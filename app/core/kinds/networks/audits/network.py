"""Audits of networks: neighbours are one record replaced by another, all others alike; blocks by their tables as drawn.

Noise is added to counts or characters: the numbers that `measure` hands on are compared. Of draws, every block's whole weights at
the counts of two neighbours are: blocks are independent given the data, so divergences add. And the draw itself is fed numbers on
both sides of the jumps of every block's table at once.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.core.audits.draw_map import Feed
from app.core.audits.exact_laws import Divergences, added, exact_divergences, larger
from app.core.audits.noise_law import Spy
from app.core.audits.own_mechanism import (
    Effort,
    map_certificate,
    noise_certificate,
    people_looked_at,
    table_certificate,
)
from app.core.audits.verdict import Certificate, Findings
from app.core.kinds.networks.blocks.block_grid import BlockShape, block_grid
from app.core.kinds.networks.blocks.block_sampler import TOTAL_BITS, Sharpen, whole_weights
from app.core.kinds.networks.mechanisms import (
    NetworkBaps,
    NetworkFourier,
    NetworkGaussian,
    NetworkLaplace,
    NetworkMap,
    NetworkMechanism,
)
from app.core.kinds.networks.mechanisms.map_point import sharpener
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.shapes import largest_grid, node_shapes
from app.core.kinds.networks.splits import level_probabilities, side_totals
from app.core.kinds.networks.statistic import count_records
from app.core.kinds.networks.structure import Network
from app.core.statistics.counts import ExactCounts

Array = NDArray[np.float64]
Records = NDArray[np.int64]
Block = tuple[BlockShape, Array, Array]

RECORDS_SEEN = 64
ROWS_SEEN = 4_000
JUMPS_EACH = 128
MAP_DRAWS_MAX = 200_000


def audit_network(
    model: NetworkModel, mechanism: NetworkMechanism, people: int, unit_rows: int, effort: Effort
) -> Findings:
    if isinstance(mechanism, NetworkLaplace | NetworkGaussian | NetworkFourier):
        return _noise_findings(model, mechanism, people, unit_rows)
    if not isinstance(mechanism, NetworkBaps | NetworkMap):
        return Findings(reasons=(f"there is no audit of {mechanism.kind} on networks",))
    people = people_looked_at(
        people, lambda n: largest_grid(model, n, unit_rows, _temperature(mechanism, model, unit_rows)), effort
    )
    cost = mechanism.cost(model, people, unit_rows)
    charged = cost.per_sample if isinstance(mechanism, NetworkBaps) else cost.once
    found, left = list[tuple[str, Divergences]](), effort.points
    blocks = _Blocks(model, mechanism, people, unit_rows)
    for name, before, after in _neighbours(model, people, unit_rows):
        pair = [*blocks.moved(before, after)]
        laws = [_block_law(blocks.sharpen, *each) for each in pair]
        ways = [added([exact_divergences(*law[::way]) for law in laws]) for way in (1, -1)]
        found.append((name, larger(*ways)))
        left -= 2 * sum(block_grid(shape).size for shape, *_ in pair)
        if left <= 0:
            break
    certificates = [table_certificate(found, charged)]
    if isinstance(mechanism, NetworkBaps):
        certificates.append(_map_certificate(blocks, mechanism, unit_rows))
    return Findings(certificates=tuple(certificates), covers=True)


class _Blocks:
    """Every block of the network with its counts, as the sampler has them."""

    def __init__(self, model: NetworkModel, mechanism: NetworkBaps | NetworkMap, people: int, unit_rows: int) -> None:
        self.model, self.people, self.rows, self.unit_rows = model, people, people * unit_rows, unit_rows
        self.sharpen: Sharpen | None = None
        self.temperature = _temperature(mechanism, model, unit_rows)
        if isinstance(mechanism, NetworkMap) and mechanism.score != "log_density":
            self.sharpen = sharpener(mechanism.gain(model, people, unit_rows))

    def of(self, counts: ExactCounts) -> Iterator[Block]:
        """By node, then split: (shape, successes, failures) of all configurations."""
        network = self.model.network
        for i, node in enumerate(network.nodes):
            cells = counts.cells[network.cells(i)].astype(np.float64).reshape(-1, len(node.levels))
            successes, failures = side_totals(self.model.node_splits(i), cells)
            for at, shape in enumerate(node_shapes(self.model, i, self.rows, self.unit_rows, self.temperature)):
                yield shape, successes[:, at], failures[:, at]

    def moved(self, before: ExactCounts, after: ExactCounts) -> Iterator[tuple[BlockShape, Array, Array]]:
        """(shape, counts before, counts after) of the blocks that differ."""
        for (shape, *one), (_, *two) in zip(self.of(before), self.of(after), strict=True):
            first, second = np.stack(one, axis=1), np.stack(two, axis=1)
            differ = np.flatnonzero((first != second).any(axis=1))
            for place in differ.tolist():
                yield shape, first[place], second[place]


def _temperature(mechanism: NetworkBaps | NetworkMap, model: NetworkModel, unit_rows: int) -> float:
    return mechanism.temperature(model, unit_rows) if isinstance(mechanism, NetworkMap) else mechanism.temperature


def _block_law(sharpen: Sharpen | None, shape: BlockShape, before: Array, after: Array) -> tuple[list[int], list[int]]:
    both = np.stack([before, after])
    p, q = whole_weights(block_grid(shape), both[:, 0], both[:, 1], sharpen).tolist()
    return p, q


def _neighbours(model: NetworkModel, people: int, unit_rows: int) -> Iterator[tuple[str, ExactCounts, ExactCounts]]:
    """All rows of one person moving from one record to another, in datasets where everybody else is like the first, like the
    second, spread over all records, or nobody's is near: where blocks are emptiest, fullest, or between."""
    network = model.network
    records = _records(network)
    spread = records[np.arange(max(0, people - 1)) % len(records)]
    first, last = records[:1], records[-1:]
    for name, others in (
        ("others like one of the two", np.repeat(first, people - 1, axis=0)),
        ("others spread over all records", spread),
        ("others like neither", np.repeat(records[len(records) // 2 : len(records) // 2 + 1], people - 1, axis=0)),
    ):
        held = count_records(network, others)
        for before, after in ((first, last), (last, first)):
            own = [count_records(network, np.repeat(record, unit_rows, axis=0)) for record in (before, after)]
            sides = [ExactCounts(held.cells + each.cells, held.rows + each.rows) for each in own]
            yield f"{before[0].tolist()} and {after[0].tolist()}, {name}", sides[0], sides[1]


def _records(network: Network) -> Records:
    """Level indices: all lowest, all highest last, some between."""
    levels = np.array([len(node.levels) for node in network.nodes])
    steps = np.arange(RECORDS_SEEN)
    between = (steps[:, None] * (1 + np.arange(len(levels)))[None, :]) % levels
    found: Records = np.concatenate([np.zeros((1, len(levels)), np.int64), between[1:-1], levels[None, :] - 1])
    return found.astype(np.int64)


def _map_certificate(blocks: _Blocks, mechanism: NetworkBaps, unit_rows: int) -> Certificate:
    """Draw i is fed numbers on both sides of a jump of every block's own table; what comes out has to be the product of the
    points that these numbers stand for."""
    model, rows = blocks.model, blocks.people
    records = _records(model.network)
    counts = count_records(model.network, records[np.arange(min(rows, ROWS_SEEN)) % len(records)])
    prepared = [
        (shape, whole_weights(block_grid(shape), _within(s, shape), _rest(s, f, shape)))
        for shape, s, f in blocks.of(counts)
    ]
    total = sum(len(weights) for _, weights in prepared)
    draws = max(4, min(2 * JUMPS_EACH, MAP_DRAWS_MAX // max(1, total)))
    words, thetas = [], []
    for shape, weights in prepared:
        word, place = _jumps(weights, draws)
        words.append(word)
        thetas.append(block_grid(shape).theta[place])
    feed = Feed(b"".join(word.astype("<u8").tobytes() for word in words))
    drawn = mechanism.with_samples(draws).draw(model, blocks.people, unit_rows, counts, feed)
    return map_certificate(feed.used_up and np.array_equal(drawn, _expected(model, thetas, draws)), draws * total)


def _within(s: Array, shape: BlockShape) -> Array:
    return np.clip(s, 0, shape.rows)


def _rest(s: Array, f: Array, shape: BlockShape) -> Array:
    held = _within(s, shape)
    return np.clip(f, np.maximum(shape.least_rows - held, 0), shape.rows - held)


def _jumps(weights: NDArray[np.int64], draws: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """(words, places), a row a block: the last number of a point and the first of the next, of jumps all over the table."""
    cumulative = np.cumsum(weights, axis=1)
    chosen = np.linspace(0, weights.shape[1] - 2, draws // 2).astype(np.int64)
    at = cumulative[:, chosen]
    tops = np.concatenate([at - 1, at], axis=1)
    places = np.tile(np.concatenate([chosen, chosen + 1]), (len(weights), 1))
    missing = draws - tops.shape[1]
    tops = np.concatenate([tops, np.zeros((len(weights), missing), np.int64)], axis=1)
    places = np.concatenate([places, np.zeros((len(weights), missing), np.int64)], axis=1)
    return tops.astype(np.uint64) << np.uint64(64 - TOTAL_BITS), places


def _expected(model: NetworkModel, thetas: list[Array], draws: int) -> Array:
    network, found = model.network, np.empty((draws, model.network.cell_count))
    parts = iter(thetas)
    for i in range(len(network.nodes)):
        splits = model.node_splits(i)
        chosen = np.stack([next(parts).T for _ in splits], axis=2)
        found[:, network.cells(i)] = level_probabilities(splits, chosen).reshape(draws, -1)
    return found


def _noise_findings(
    model: NetworkModel, mechanism: NetworkLaplace | NetworkGaussian | NetworkFourier, people: int, unit_rows: int
) -> Findings:
    """One record replaced by each of up to 64 others, k rows of a person all alike; of private rows also by none."""
    network = model.network
    records = _records(network)
    held = count_records(network, np.repeat(records[:1], max(0, people - 1), axis=0))

    def spied(record: Records, rows: int) -> Spy:
        own = count_records(network, np.repeat(record[None, :], rows, axis=0))
        spy = Spy()
        mechanism.measured_with(
            model, people, unit_rows, ExactCounts(held.cells + own.cells, held.rows + own.rows), spy
        )
        return spy

    first = spied(records[0], unit_rows)
    pairs = [
        (f"{records[0].tolist()} and {record.tolist()}", first, spied(record, unit_rows)) for record in records[1:]
    ]
    if unit_rows > 1:
        pairs.append(("all rows and one", first, spied(records[-1], 1)))
    charged = mechanism.cost(model, people, unit_rows).once
    certificate, _ = noise_certificate(pairs, charged, gaussian=isinstance(mechanism, NetworkGaussian))
    return Findings(certificates=(certificate,), covers=True)
