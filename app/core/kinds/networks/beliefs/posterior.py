"""Draws of p(θ|R) given noisy tables, held to a public range, and how long they take."""

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Belief
from app.core.kinds.networks.beliefs.block_posterior import block_posterior
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.record_chain import ROW_MOVES, SETTLING, WINDOW, RecordChain
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.splits import level_probabilities, side_totals
from app.core.parameters import Parameter

Array = NDArray[np.float64]

EDGE = 1e-12
"""Beliefs are held this far from 0 and 1, split by split, so that no question divides by nothing."""
POINTS = 2_000
TURNS_LEAST, TURNS_MOST = 500, 4_000
TURNS_EACH = 4
"""Turns of the chain for every sample, where they are few."""
CHAIN_S = 7.0
VARIABLES_MAX = 30_000_000
"""Records times nodes that a chain is run on; beyond, tables are taken one by one."""
_TURN_S, _NODE_S, _VARIABLE_S, _NUMBER_S = 150e-6, 15e-6, 13e-9, 20e-9


def posterior_samples(
    model: NetworkModel, measured: NoisyTables, samples: int, generator: np.random.Generator
) -> Array:
    """(samples, cells), not trimmed. Neighbours in the chain are alike: independent they are not, but equally good."""
    drawn, mean = block_posterior(model.network, measured, samples if _apart(model, measured.rows[1]) else 1, generator)
    if _apart(model, measured.rows[1]):
        return drawn
    chain = RecordChain(model.network, measured, generator)
    return chain.samples(mean, chain_turns(model, measured.rows, samples), samples)


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


def chain_turns(model: NetworkModel, rows: tuple[int, int], samples: int) -> int:
    """From public numbers: several for every sample, as far as the time allows."""
    wanted = min(max(TURNS_EACH * samples, TURNS_LEAST), TURNS_MOST)
    affordable = CHAIN_S / _turn_seconds(model, rows) - SETTLING
    return max(TURNS_LEAST, min(wanted, math.floor(affordable)))


def posterior_seconds(model: NetworkModel, rows: tuple[int, int], samples: int) -> float:
    """Public: what `posterior_samples` takes on the machine of reference."""
    blocks = 0.01 + model.network.cell_count * 150e-6
    held_s = samples * model.network.cell_count * 100e-9
    if _apart(model, rows[1]):
        return blocks + samples * model.network.cell_count * 100e-9 + held_s
    turns = SETTLING + chain_turns(model, rows, samples)
    return blocks + held_s + turns * _turn_seconds(model, rows)


def _turn_seconds(model: NetworkModel, rows: tuple[int, int]) -> float:
    nodes = len(model.network.nodes)
    some = min(rows[1] * nodes, WINDOW)
    passes = 1 + (ROW_MOVES if rows[0] < rows[1] else 0)
    return _TURN_S + passes * (nodes * _NODE_S + model.network.cell_count * _NUMBER_S) + some * _VARIABLE_S


def _apart(model: NetworkModel, rows: int) -> bool:
    return rows * len(model.network.nodes) > VARIABLES_MAX
