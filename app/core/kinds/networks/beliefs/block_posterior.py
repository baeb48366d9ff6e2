"""Each table under each configuration by itself: p(θ | its own noisy counts), quickly and without the other tables.

For simulations in plans, as the place where a chain of records begins, and for tables of so many people that no chain of
records is run. Counts s of the levels are drawn from the noise around what was seen, held to [0, n], and weighed by

    w(m)·m!/Π s_l! · B(α + s)/B(α),   m = Σ s,

with w flat on m ≤ n (the number of rows of a configuration; that of a node without parents is n where n is public). The flat
w is no network's own law and the tables share no information: 90 % intervals held 86 to 92 % (40 datasets a setting, n = 100 to
10,000, ε = 0.3 to 5; least at n = 100). Coverage is not promised here.

Of a pooled node counts are drawn three times, first by its declared prior and then by the mean of what the counts before say
of it (`pooled_prior.py`); tables have a prior each from the last.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.pooled_prior import PooledPriors
from app.core.kinds.networks.structure import Network, Node

Array = NDArray[np.float64]

TRIED = 512
ROUNDS, PRIORS, PRIOR_TURNS = 3, 64, 20
"""Of pooled nodes: how often counts are drawn, and how many priors are kept and how long they settle each time."""


def block_posterior(
    network: Network, measured: NoisyTables, samples: int, generator: np.random.Generator
) -> tuple[Array, Array]:
    """(samples, cells) draws, and the mean of every cell."""
    drawn, mean = np.empty((samples, network.cell_count)), np.empty(network.cell_count)
    least, most = measured.rows
    for i, node in enumerate(network.nodes):
        part, levels, alpha = network.cells(i), len(node.levels), np.array(node.concentration)
        near, spread = (each[part].reshape(-1, levels) for each in (measured.near, measured.spread))
        counts = _held(near, spread, most, measured.gaussian, generator)
        by_noise = np.zeros(counts.shape[:2])
        if len(near) == 1 and least == most:
            counts[..., -1] = most - counts[..., :-1].sum(axis=-1)
            by_noise += _log_law(counts[..., -1] - near[:, None, -1], spread[:, None, -1], measured.gaussian)
        rows = counts.sum(axis=-1)
        by_noise[(rows > most) | (counts.min(axis=-1) < 0)] = -np.inf
        counts, rows = np.maximum(counts, 0), np.clip(rows, 0, most)
        weight, priors = _weighed(by_noise, counts, rows, alpha[None]), alpha[None, None]
        if network.pooled(i):
            weight, priors = _pooled(node, network.pooled_groups(i), by_noise, counts, rows, generator)
        alpha = priors.mean(axis=0)[:, None]
        mean[part] = (
            (weight[..., None] * (counts + alpha) / (rows[..., None] + alpha.sum(axis=-1, keepdims=True)))
            .sum(axis=1)
            .ravel()
        )
        drawn[:, part] = _tables(weight, counts, priors, samples, generator).reshape(samples, -1)
    return drawn, mean


def _weighed(by_noise: Array, counts: Array, rows: Array, alpha: Array) -> Array:
    """By the noise and the prior, (configurations or one, levels)."""
    from scipy.special import gammaln  # loaded when first needed

    log_weight = by_noise + gammaln(rows + 1) - gammaln(rows + alpha.sum(axis=-1)[:, None])
    log_weight += (gammaln(counts + alpha[:, None]) - gammaln(counts + 1)).sum(axis=-1)
    return _shares(log_weight)


def _pooled(
    node: Node,
    groups: NDArray[np.int64],
    by_noise: Array,
    counts: Array,
    rows: Array,
    generator: np.random.Generator,
) -> tuple[Array, Array]:
    """(weights of the tries, (`PRIORS`, configurations, levels) concentrations that they tell of)."""
    weight = _weighed(by_noise, counts, rows, np.array(node.concentration)[None])
    priors = PooledPriors.of_node(node, groups, PRIORS, generator)
    for _ in range(ROUNDS):
        chosen = _chosen(weight, counts, PRIORS, generator)
        found = chosen.astype(np.int64).transpose(1, 2, 0).reshape(-1, PRIORS)
        for _ in range(PRIOR_TURNS):
            priors.turn(found, settling=True)
        concentration = priors.concentration.T.reshape(PRIORS, -1, len(node.levels))
        weight = _weighed(by_noise, counts, rows, concentration.mean(axis=0))
    return weight, np.asarray(concentration)


def _held(near: Array, spread: Array, most: int, gaussian: bool, generator: np.random.Generator) -> Array:
    """(configurations, tries, levels): whole numbers from the noise around `near`, given that they lie in [0, most]."""
    uniform = generator.random((len(near), TRIED, near.shape[1]))
    middle, scale = near[:, None, :], spread[:, None, :] * (1.0 if gaussian else np.sqrt(0.5))
    flip = np.where(middle < 0, -1.0, 1.0)  # tails are taken where they are small, so that no digits are lost
    low, high = (flip * (edge - middle) / scale for edge in (-0.5, most + 0.5))
    first, last = _below(np.minimum(low, high), gaussian), _below(np.maximum(low, high), gaussian)
    z = _quantile(first + uniform * (last - first), gaussian)
    return np.clip(np.rint(middle + flip * scale * z), 0, most)


def _below(z: Array, gaussian: bool) -> Array:
    from scipy.special import ndtr

    if gaussian:
        return np.asarray(ndtr(z))
    return np.where(z < 0, 0.5 * np.exp(np.minimum(z, 0)), 1 - 0.5 * np.exp(-np.maximum(z, 0)))


def _quantile(share: Array, gaussian: bool) -> Array:
    from scipy.special import ndtri

    share = np.clip(share, 1e-300, 1 - 2.0**-53)
    if gaussian:
        return np.asarray(ndtri(share))
    return np.where(share < 0.5, np.log(2 * share), -np.log(2 * (1 - share)))


def _log_law(residual: Array, spread: Array, gaussian: bool) -> Array:
    if gaussian:
        return np.asarray(-0.5 * (residual / spread) ** 2)
    return np.asarray(-np.abs(residual) / spread * np.sqrt(2))


def _shares(log_weight: Array) -> Array:
    """Normalised along the last axis; alike where nothing tried was possible."""
    top = log_weight.max(axis=1, keepdims=True)
    weight = np.where(np.isfinite(top), np.exp(log_weight - np.where(np.isfinite(top), top, 0.0)), 1.0)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def _chosen(weight: Array, counts: Array, samples: int, generator: np.random.Generator) -> Array:
    """(samples, configurations, levels): some of the tries, by their weights."""
    below = np.cumsum(weight, axis=1)
    chosen = np.empty((samples, len(weight), counts.shape[-1]))
    for j in range(len(weight)):
        place = np.searchsorted(below[j], generator.random(samples) * below[j, -1])
        chosen[:, j] = counts[j, np.minimum(place, TRIED - 1)]
    return chosen


def _tables(weight: Array, counts: Array, priors: Array, samples: int, generator: np.random.Generator) -> Array:
    """(samples, configurations, levels), with one prior after another."""
    shape = _chosen(weight, counts, samples, generator) + priors[np.arange(samples) % len(priors)]
    drawn = generator.standard_gamma(shape) + 1e-290
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))
