"""Draws of p(θ|R) given noisy tables, held to a public range, and how long they take."""

import hashlib

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import POINTS, Belief
from app.core.kinds.networks.beliefs.block_posterior import block_posterior
from app.core.kinds.networks.beliefs.count_chain import CountChains
from app.core.kinds.networks.beliefs.count_pace import count_pace
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.pace import pace
from app.core.kinds.networks.beliefs.record_chain import RecordChain
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.splits import level_probabilities, side_totals
from app.core.parameters import Parameter

Array = NDArray[np.float64]

EDGE = 1e-12
"""Beliefs are held this far from 0 and 1, split by split, so that no question divides by nothing."""


def posterior_samples(
    model: NetworkModel, measured: NoisyTables, samples: int, generator: np.random.Generator
) -> Array:
    """(samples, cells), not trimmed. Neighbours in a chain are alike: independent they are not, but equally good."""
    network = model.network
    quick = count_pace(network, measured.rows, measured.scale, measured.moved, samples)
    if quick is not None:
        start, _ = block_posterior(network, measured, quick.chains, generator)
        return np.asarray(CountChains(network, [measured], quick, generator).samples(start, samples)[0])
    steps = pace(network, measured.rows, measured.scale, measured.moved, samples)
    drawn, mean = block_posterior(network, measured, 1 if steps.chain else samples, generator)
    return RecordChain(network, measured, steps, generator).samples(mean, samples) if steps.chain else drawn


def calibrated_belief(model: NetworkModel, measured: NoisyTables, seed: bytes) -> Belief:
    generator = np.random.Generator(np.random.PCG64(int.from_bytes(hashlib.sha256(seed).digest(), "little")))
    points = posterior_samples(model, measured, POINTS, generator)
    points = held(model, points, EDGE)[generator.permutation(len(points))]  # so that a few are like all of them
    return Belief(calibrated_range(model), points)


def calibrated_range(model: NetworkModel) -> tuple[Parameter, ...]:
    """The untrimmed prior's."""
    return tuple(Parameter(name, 0.0, 1.0) for name in model.network.cell_names())


def held(model: NetworkModel, tables: Array, edge: float) -> Array:
    """Every split held to [edge, 1 − edge]; levels sum to one as before."""
    network = model.network
    found = np.empty_like(tables)
    for i, node in enumerate(network.nodes):
        splits = model.node_splits(i)
        own = tables[:, network.cells(i)].reshape(len(tables), -1, len(node.levels))
        yes, no = side_totals(splits, own)
        yes, no = np.maximum(yes, 1e-300), np.maximum(no, 1e-300)
        share = np.clip(yes / (yes + no), edge, 1 - edge)
        found[:, network.cells(i)] = level_probabilities(splits, share).reshape(len(tables), -1)
    return found


def within_range(model: NetworkModel, tables: Array) -> Array:
    """As stored: inside the model's public range, to the last digit."""
    low, high = (np.array([getattr(p, side) for p in model.parameters]) for side in ("lower", "upper"))
    return np.asarray(np.clip(held(model, tables, model.trim), low, high))


def posterior_seconds(model: NetworkModel, rows: tuple[int, int], scale: float, moved: float, samples: int) -> float:
    """Public: what `posterior_samples` takes on the machine of reference."""
    cells = model.network.cell_count
    found = count_pace(model.network, rows, scale, moved, samples) or pace(model.network, rows, scale, moved, samples)
    return 0.02 + cells * 150e-6 + samples * cells * 200e-9 + found.seconds
