"""Counts of samples in equal cells of the public range, for one parameter and for two together.

Cells come from public bounds, never from the samples, so plots of different prefixes and of different releases of one
model share their axes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.parameters import Parameter

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Histogram:
    """`density` is count/(k·cell), so that it integrates to one."""

    edges: Array
    counts: NDArray[np.int64]
    density: Array


@dataclass(frozen=True, slots=True)
class JointHistogram:
    """`counts[i, j]`: cell i of the first parameter, cell j of the second."""

    edges: tuple[Array, Array]
    counts: NDArray[np.int64]
    density: Array


def edges_of(parameter: Parameter, cells: int) -> Array:
    """lower + (upper − lower)·i/cells, both ends exactly the bounds."""
    return np.linspace(parameter.lower, parameter.upper, cells + 1)


def histogram(parameter: Parameter, values: Array, cells: int) -> Histogram:
    """Cell i is [e_i, e_{i+1}), the last with its upper end: every sample is in exactly one."""
    edges = edges_of(parameter, cells)
    counts = np.bincount(_places(edges, values), minlength=cells)
    return Histogram(edges, counts, counts / len(values) / _width(parameter, cells))


def joint_histogram(first: Parameter, second: Parameter, values: tuple[Array, Array], cells: int) -> JointHistogram:
    edges = edges_of(first, cells), edges_of(second, cells)
    places = _places(edges[0], values[0]) * cells + _places(edges[1], values[1])
    counts = np.bincount(places, minlength=cells * cells).reshape(cells, cells)
    area = _width(first, cells), _width(second, cells)
    return JointHistogram(edges, counts, counts / len(values[0]) / area[0] / area[1])


def _places(edges: Array, values: Array) -> NDArray[np.intp]:
    found: NDArray[np.intp] = np.searchsorted(edges, values, side="right") - 1
    return np.clip(found, 0, len(edges) - 2)


def _width(parameter: Parameter, cells: int) -> float:
    return (parameter.upper - parameter.lower) / cells
