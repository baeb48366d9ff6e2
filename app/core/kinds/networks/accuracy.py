"""The error to expect of a release, from public numbers only: simulated from the prior with a fixed seed, no data.

Tables are drawn from the prior, rows from the tables, and the mechanism applied to their counts. The mean of the released
samples is compared with the tables the rows came from:

    kl     Σ_i Σ_j P(configuration j)·KL(θ_ij ‖ mean of the samples): the divergence of the two joint distributions, in nats
    rmse   the root mean square error of a conditional probability, weighted by how often its configuration occurs

Noisy counts are taken table by table here (`beliefs/block_posterior.py`), which takes milliseconds; releases take them all
together and err a little less.

Configurations are counted from at most `ROWS_MAX` simulated rows; their levels from as many rows as the dataset has.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.beliefs.block_posterior import block_posterior
from app.core.kinds.networks.beliefs.pooled_prior import dirichlet_of, prior_concentration
from app.core.kinds.networks.beliefs.posterior import within_range
from app.core.kinds.networks.blocks.block_grid import block_grid
from app.core.kinds.networks.mechanisms import NetworkMechanism
from app.core.kinds.networks.mechanisms.noisy_tables import MeasuresTables
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.shapes import node_shapes
from app.core.kinds.networks.splits import level_probabilities
from app.core.statistics.counts import ExactCounts

Array = NDArray[np.float64]

SEED = 20_160
REPEATS = 4
ROWS_MAX = 4_000
SAMPLES_MAX = 200
"""Means over more samples differ from means over these by less than repeats do; fewer are simulated as they are."""


@dataclass(frozen=True, slots=True)
class NetworkAccuracy:
    kl: float
    rmse: float


@lru_cache(maxsize=512)
def expected_accuracy(model: NetworkModel, mechanism: NetworkMechanism, people: int, unit_rows: int) -> NetworkAccuracy:
    """People are taken to bring one row each. The same seed for every mechanism: differences are the mechanisms'."""
    few = mechanism.with_samples(min(mechanism.samples, SAMPLES_MAX))
    errors = []
    for repeat in range(REPEATS):
        generator = np.random.default_rng([SEED, repeat])
        truth = prior_tables(model, generator)
        weights, counts = simulated_counts(model, truth, people, generator)
        noise = np.random.default_rng([SEED, repeat, 1])
        errors.append(_errors(model, truth, weights, _mean_release(model, few, people, unit_rows, counts, noise)))
    kl, square = np.mean(errors, axis=0)
    return NetworkAccuracy(float(kl), math.sqrt(square))


def prior_tables(model: NetworkModel, generator: np.random.Generator) -> Array:
    """Every conditional probability, one draw of the trimmed prior."""
    network = model.network
    tables = np.empty(network.cell_count)
    for i, node in enumerate(network.nodes):
        if network.pooled(i):
            own = prior_concentration(node, network.pooled_groups(i), 1, lambda shape: 1 - generator.random(shape))[0]
            tables[network.cells(i)] = dirichlet_of(own, 1 - generator.random(own.shape)).ravel()
            continue
        shapes = node_shapes(model, i, 1, 1, 1.0)
        success = np.empty((network.configurations(i), len(shapes)))
        for at, shape in enumerate(shapes):
            grid = block_grid(shape)
            weight = np.exp(grid.log_prior - grid.log_prior.max())
            success[:, at] = generator.choice(grid.theta, len(success), p=weight / weight.sum())
        tables[network.cells(i)] = level_probabilities(model.node_splits(i), success).ravel()
    return within_range(model, tables[None])[0] if model.pooled else tables


def simulated_rows(model: NetworkModel, tables: Array, rows: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Level indices, one column a node, parents drawn before their children."""
    network = model.network
    drawn = np.empty((rows, len(network.nodes)), dtype=np.int64)
    for i in range(len(network.nodes)):
        table = tables[network.cells(i)].reshape(-1, len(network.nodes[i].levels))
        drawn[:, i] = (np.cumsum(table, axis=1)[_given(model, drawn, i)] < generator.random(rows)[:, None]).sum(axis=1)
        np.minimum(drawn[:, i], table.shape[1] - 1, out=drawn[:, i])
    return drawn


def _given(model: NetworkModel, drawn: NDArray[np.int64], i: int) -> NDArray[np.int64]:
    """The configuration of node i's parents in every row."""
    place = np.zeros(len(drawn), dtype=np.int64)
    for parent in model.network.parents(i):
        place = place * len(model.network.nodes[parent].levels) + drawn[:, parent]
    return place


def simulated_counts(
    model: NetworkModel, tables: Array, people: int, generator: np.random.Generator
) -> tuple[Array, ExactCounts]:
    """(how often each cell's configuration occurs, counts)."""
    network = model.network
    drawn = simulated_rows(model, tables, min(people, ROWS_MAX), generator)
    weights = np.empty(network.cell_count)
    cells = np.empty(network.cell_count, dtype=np.int64)
    for i in range(len(network.nodes)):
        levels = len(network.nodes[i].levels)
        share = np.bincount(_given(model, drawn, i), minlength=network.configurations(i)) / len(drawn)
        table = tables[network.cells(i)].reshape(-1, levels)
        found = generator.multinomial(
            np.rint(share * people).astype(np.int64), table / table.sum(axis=1, keepdims=True)
        )
        weights[network.cells(i)] = np.repeat(share, levels)
        cells[network.cells(i)] = found.ravel()
    return weights, ExactCounts(cells, people)


def _mean_release(
    model: NetworkModel,
    mechanism: NetworkMechanism,
    people: int,
    unit_rows: int,
    counts: ExactCounts,
    generator: np.random.Generator,
) -> Array:
    if isinstance(mechanism, MeasuresTables):
        measured = mechanism.simulated(model, people, unit_rows, counts, generator)
        tables = mechanism.noisy_tables_of(model, people, unit_rows, measured)
        samples, _ = block_posterior(model.network, tables, mechanism.samples, generator)
        samples = within_range(model, samples)
    else:
        samples = mechanism.draw(model, people, unit_rows, counts, generator.bytes)
    return np.asarray(samples.mean(axis=0))


def _errors(model: NetworkModel, truth: Array, weights: Array, mean: Array) -> tuple[float, float]:
    kl = float((weights * truth * np.log(truth / mean)).sum())
    return max(kl, 0.0), float((weights * (truth - mean) ** 2).sum() / weights.sum())
