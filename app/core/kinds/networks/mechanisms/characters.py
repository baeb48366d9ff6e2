"""Characters of binary networks: (−1)^{⟨γ,x⟩} summed over the rows, for γ in the downward closure of {node} ∪ parents.

N_I is the union over nodes of all subsets of {i} ∪ π_i; a table of node i is the inverse Walsh–Hadamard transform of its
2^{|π_i|+1} characters, so tables that share variables agree about them exactly, whatever was added to the characters. Nothing
of the size 2^{|I|} is ever formed.

One record replaced flips the sign of the characters with ⟨γ, z⟩ odd, z where the records differ, each by 2: the sensitivity
is 2·max_z #{γ ∈ N_I : ⟨γ,z⟩ odd}. Counting every γ in one node's table makes that number a sum of tables over small sets of
nodes, maximised by elimination; exact where the network is narrow enough, else an upper bound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.joint_maximum import Factor, joint_maximum
from app.core.kinds.networks.structure import Network

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

WIDTH_MAX = 18
MATRIX_MAX = 4_000_000


@dataclass(frozen=True, slots=True)
class Characters:
    """`places[i]` says where node i's characters are, in the order of its cells; place 0 is γ = ∅, the number of rows.

    `odd_max` bounds how many characters a change of one record can flip.
    """

    count: int
    places: tuple[Whole, ...]
    odd_max: int
    odd_exact: bool


@lru_cache(maxsize=64)
def characters(network: Network) -> Characters:
    """Of a network whose nodes all have two levels."""
    known: dict[tuple[int, ...], int] = {(): 0}
    places, factors = [], []
    for i in range(len(network.nodes)):
        axes = (*network.parents(i), i)
        subsets = [tuple(sorted(axes[a] for a in range(len(axes)) if cell[a])) for cell in np.ndindex((2,) * len(axes))]
        new = np.array([subset not in known for subset in subsets])
        places.append(np.array([known.setdefault(subset, len(known)) for subset in subsets], dtype=np.int64))
        factors.append(_odd_counts(axes, new))
    largest = joint_maximum(factors, WIDTH_MAX)
    odd = min(round(float(largest.values[0])), len(known) - 1)
    return Characters(len(known), tuple(places), odd, largest.exact)


def _odd_counts(axes: tuple[int, ...], counted: NDArray[np.bool_]) -> Factor:
    """How many of the counted subsets meet z in an odd number of nodes, for every z over `axes`: (Σ 1 − Σ (−1)^{⟨γ,z⟩})/2."""
    signs = transform(counted.astype(np.float64), len(axes))
    table = ((counted.sum() - signs) / 2).reshape((2,) * len(axes))
    order = np.argsort(axes)
    return Factor(tuple(sorted(axes)), table.transpose(order)[..., None])


def transform(values: Array, axes: int) -> Array:
    """Σ_x (−1)^{⟨γ,x⟩}·values(x) for every γ; twice is 2^axes times the values. Exact for whole numbers below 2⁵³."""
    table = values.reshape((2,) * axes)
    for axis in range(axes):
        low, high = np.take(table, 0, axis), np.take(table, 1, axis)
        table = np.stack([low + high, low - high], axis=axis)
    return np.asarray(table.reshape(-1))


def character_sums(network: Network, found: Characters, cells: Whole) -> Whole:
    """From counts by (node, configuration, level)."""
    sums = np.zeros(found.count, dtype=np.int64)
    for i in range(len(network.nodes) - 1, -1, -1):
        own = cells[network.cells(i)].astype(np.float64)
        sums[found.places[i]] = transform(own, len(network.shape(i))).astype(np.int64)
    return sums


def tables_of(network: Network, found: Characters, sums: Array) -> Array:
    """Counts by (node, configuration, level) that have these characters; real numbers, perhaps negative."""
    cells = np.empty(network.cell_count)
    for i in range(len(network.nodes)):
        axes = len(network.shape(i))
        cells[network.cells(i)] = transform(sums[found.places[i]], axes) / 2.0**axes
    return cells


def measured_characters(network: Network, found: Characters) -> Callable[[Array], Array]:
    """(…, cells) → (…, characters): by one matrix where that is small, else table by table."""
    if network.cell_count * found.count <= MATRIX_MAX:
        matrix = _by_table(network, found, np.eye(network.cell_count))
        return lambda cells: np.asarray(cells @ matrix)
    return lambda cells: _by_table(network, found, cells)


def _by_table(network: Network, found: Characters, cells: Array) -> Array:
    sums = np.zeros((*cells.shape[:-1], found.count))
    for i in range(len(network.nodes) - 1, -1, -1):
        sums[..., found.places[i]] = _transformed(cells[..., network.cells(i)], len(network.shape(i)))
    return sums


def _transformed(values: Array, axes: int) -> Array:
    """`transform` along the last axis."""
    size = values.shape[-1]
    table = values.reshape(-1, size)
    for axis in range(axes):
        halves = table.reshape(len(table), 2**axis, 2, -1)
        low, high = halves[:, :, 0], halves[:, :, 1]
        table = np.stack([low + high, low - high], axis=2).reshape(-1, size)
    return table.reshape(values.shape)
