"""Networks, rows, and noisy or drawn tables from the prior, and whether intervals hold what they were drawn from."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.beliefs.block_posterior import block_posterior
from app.core.kinds.networks.beliefs.count_chain import CountChains
from app.core.kinds.networks.beliefs.count_pace import count_pace
from app.core.kinds.networks.beliefs.drawn_posterior import drawn_points
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.posterior import EDGE, held, posterior_samples
from app.core.kinds.networks.mechanisms import NetworkBaps, NetworkFourier, NetworkGaussian, NetworkLaplace, NetworkMap
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.statistic import count_records

Array = NDArray[np.float64]
Noisy = NetworkLaplace | NetworkGaussian | NetworkFourier
Drawn = NetworkBaps | NetworkMap

POINTS, CHAINS = 1_024, 32
LEVELS = (0.05, 0.25, 0.75, 0.95)
TRUTHS = 256
"""Tables that the same rows might as well have come from: see `alike`."""


@dataclass(frozen=True)
class Held:
    """Shares of parameters, and of derived figures, that 90 % and 50 % intervals hold in one dataset, given its rows (`alike`);
    and what noisy counts taken for counts, or draws as they are, hold at 90 %."""

    parameters: tuple[float, float]
    derived: tuple[float, float]
    naive: float


def prior_draw(model: NetworkModel, source: np.random.Generator) -> Array:
    tables = []
    for i, node in enumerate(model.network.nodes):
        tables.append(source.dirichlet(node.concentration, model.network.configurations(i)).ravel())
    return np.concatenate(tables)


def alike(model: NetworkModel, counts: Array, source: np.random.Generator) -> Array:
    """(`TRUTHS`, cells) from p(θ | rows): each as good a truth as the one that the rows were made from.

    What is released depends on the truth through the rows alone, so P(held | rows, R) has the coverage for its mean, as the share
    of truths held has, without the luck of one draw: a third of its variance at n = 1,000 and ε = 1.
    """
    prior = [np.tile(node.concentration, model.network.configurations(i)) for i, node in enumerate(model.network.nodes)]
    drawn = source.standard_gamma(np.concatenate(prior) + counts, (TRUTHS, len(counts)))
    found = np.empty_like(drawn)
    for i, node in enumerate(model.network.nodes):
        own = drawn[:, model.network.cells(i)].reshape(TRUTHS, -1, len(node.levels))
        found[:, model.network.cells(i)] = (own / own.sum(axis=-1, keepdims=True)).reshape(TRUTHS, -1)
    return found


def rows_of(model: NetworkModel, tables: Array, rows: int, source: np.random.Generator) -> NDArray[np.int64]:
    """One row at a time, level by level: no code under test."""
    network = model.network
    drawn = np.empty((rows, len(network.nodes)), dtype=np.int64)
    for i, node in enumerate(network.nodes):
        table = tables[network.cells(i)].reshape(network.shape(i))
        chances = table[tuple(drawn[:, p] for p in network.parents(i))]
        chances = np.broadcast_to(chances, (rows, len(node.levels)))
        drawn[:, i] = (source.random((rows, 1)) > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)
    return drawn


def derived(model: NetworkModel, tables: Array) -> Array:
    """Of binary networks: P(last), P(first | last) and P(two in the middle), from all 2^nodes records. (…, cells) → (…, 3)."""
    network, nodes = model.network, len(model.network.nodes)
    masses = []
    records = np.array(list(itertools.product((0, 1), repeat=nodes)))
    for record in records:
        mass = np.ones(tables.shape[:-1])
        for i in range(nodes):
            own = (*(record[p] for p in network.parents(i)), record[i])
            mass = mass * tables[..., network.cells(i).start + np.ravel_multi_index(own, network.shape(i))]
        masses.append(mass)
    joint = np.stack(masses, axis=-1)
    last, first = records[:, -1] == 1, records[:, 0] == 1
    both = (records[:, nodes // 2] == 1) & (records[:, nodes // 2 - 1] == 1)
    yes = joint[..., last].sum(axis=-1)
    return np.stack([yes, joint[..., first & last].sum(axis=-1) / yes, joint[..., both].sum(axis=-1)], axis=-1)


def held_by_many(
    model: NetworkModel,
    mechanism: Noisy,
    people: int,
    unit_rows: int,
    datasets: int,
    source: np.random.Generator,
    sizes: tuple[int, ...] | None = None,
) -> list[Held]:
    """Of several datasets whose chains run side by side: a fifth of the time they take one by one, and half as many points.

    `sizes` are how many rows there are, in turn; any number that there may be unless they are given.
    """
    simulated = [
        _simulated(model, mechanism, people, unit_rows, source, None if sizes is None else sizes[each % len(sizes)])
        for each in range(datasets)
    ]
    releases = [tables for _, _, tables in simulated]
    first = releases[0]
    pace = count_pace(model.network, first.rows, first.scale, first.moved, POINTS)
    if pace is None:
        points = np.array([posterior_samples(model, tables, POINTS, source) for tables in releases])
    else:
        pace = replace(pace, chains=CHAINS)
        start = [block_posterior(model.network, tables, CHAINS, source)[0] for tables in releases]
        points = CountChains(model.network, releases, pace, source).samples(np.concatenate(start), POINTS)
    return [
        _held(model, truths, rows, tables, held(model, own, EDGE), source)
        for (truths, rows, tables), own in zip(simulated, points, strict=True)
    ]


def held_by_draws(
    model: NetworkModel, mechanism: Drawn, people: int, unit_rows: int, samples: int, source: np.random.Generator
) -> Held:
    """Of intervals from draws of tables: calibrated, and from the draws as they are."""
    truth = prior_draw(model, source)
    rows = int(source.integers(people, people * unit_rows + 1))
    counts = count_records(model.network, rows_of(model, truth, rows, source))
    drawn = mechanism.draw(model, people, unit_rows, counts, source.bytes)
    tables = mechanism.drawn_tables(model, people, unit_rows)
    points = held(model, drawn_points(model, tables, drawn, samples, source), EDGE)
    return _compared(model, points, drawn, alike(model, counts.cells, source))


def _simulated(
    model: NetworkModel,
    mechanism: Noisy,
    people: int,
    unit_rows: int,
    source: np.random.Generator,
    size: int | None,
) -> tuple[Array, int, NoisyTables]:
    """(truths, number of rows, what is measured of them)."""
    truth, least = prior_draw(model, source), people if model.within is None else 0
    rows = int(source.integers(least, people * unit_rows + 1)) if size is None else size
    counts = count_records(model.network, rows_of(model, truth, rows, source))
    measured = mechanism.simulated(model, people, unit_rows, counts, source)
    return alike(model, counts.cells, source), rows, mechanism.noisy_tables_of(model, people, unit_rows, measured)


def _held(
    model: NetworkModel, truths: Array, rows: int, tables: NoisyTables, points: Array, source: np.random.Generator
) -> Held:
    ignored = _taken_for_counts(model, np.clip(tables.near, 0, rows), len(points), source)
    return _compared(model, points, ignored, truths)


def _compared(model: NetworkModel, points: Array, naive: Array, truths: Array) -> Held:
    own = _shares(derived(model, points), derived(model, truths))
    return Held(_shares(points, truths), own, _shares(naive, truths)[0])


def _taken_for_counts(model: NetworkModel, cells: Array, samples: int, source: np.random.Generator) -> Array:
    prior = [np.tile(node.concentration, model.network.configurations(i)) for i, node in enumerate(model.network.nodes)]
    drawn = source.standard_gamma(np.concatenate(prior) + cells, (samples, len(cells)))
    starts = np.arange(0, len(cells), 2)
    return np.asarray(drawn / np.repeat(np.add.reduceat(drawn, starts, axis=1), 2, axis=1))


def _shares(points: Array, truths: Array) -> tuple[float, float]:
    low, lower, upper, high = np.quantile(points, LEVELS, axis=0)
    return float(((low <= truths) & (truths <= high)).mean()), float(((lower <= truths) & (truths <= upper)).mean())
