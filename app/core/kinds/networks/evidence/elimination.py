"""Variable elimination over all samples at once.

A table is (levels…, samples): the samples' axis is last, so every multiplication and addition runs along contiguous memory
and does the same for each sample, in the order the plan fixes. A sample's value is a function of that sample alone, in the
same bytes however many samples there are and on every machine: products and sums of doubles one after the other, no library
that may reorder them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.evidence.elimination_order import Graph, Plan, Step, plan_elimination
from app.core.kinds.networks.structure import Network

Array = NDArray[np.float64]
Columns = Array | Sequence[Array]
"""(samples, cells), as `SampleSet.matrix` gives them without a copy; or a sequence of one array a cell."""
Restriction = tuple[tuple[int, tuple[int, ...]], ...]
"""Variables, ascending, with the levels left to each: ascending, not all, not none."""

CHUNK_BYTES = 2**21
CHUNK_SAMPLES = (16, 1024)
EXPONENT_MIN = -1000
USED: Array = np.empty(0)


def graph_of(network: Network) -> Graph:
    return tuple(network.parents(i) for i in range(len(network.nodes)))


def sizes_of(network: Network, restriction: Restriction) -> tuple[int, ...]:
    left = dict(restriction)
    return tuple(len(left.get(i, node.levels)) for i, node in enumerate(network.nodes))


def sample_count(columns: Columns) -> int:
    return columns.shape[0] if isinstance(columns, np.ndarray) else len(columns[0])


@dataclass(frozen=True, slots=True)
class Elimination:
    """A plan with the cells of its tables, one after the other, each in the order of the table's axes."""

    plan: Plan
    cells: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]

    def result(self, columns: Columns) -> tuple[Array, NDArray[np.int64]]:
        """(table (levels, N), exponent (N,)): what remains is table · 2^exponent."""
        parts = [contract(self.plan, tables) for tables in self.chunks(columns)]
        tables = [table.reshape(-1, table.shape[-1]) for table, _ in parts]
        return np.concatenate(tables, axis=1), np.concatenate([exponent for _, exponent in parts])

    def chunks(self, columns: Columns) -> Iterator[list[Array]]:
        """The nodes' tables for so many samples at a time as keep the largest table in cache."""
        least, most = CHUNK_SAMPLES
        step = min(most, max(least, CHUNK_BYTES // (8 * self.plan.entries)))
        samples = sample_count(columns)
        for start in range(0, samples, step):
            stop = min(start + step, samples)
            cells = self._gather(columns, start, stop)
            tables, first = [], 0
            for shape in self.shapes:
                last = first + math.prod(shape)
                tables.append(cells[first:last].reshape(*shape, stop - start))
                first = last
            yield tables

    def _gather(self, columns: Columns, start: int, stop: int) -> Array:
        if not self.cells:
            return np.empty((0, stop - start))
        if isinstance(columns, np.ndarray):
            return columns[start:stop].T.take(self.cells, axis=0)
        return np.concatenate([columns[cell][start:stop] for cell in self.cells]).reshape(-1, stop - start)


def prepare(
    network: Network, restriction: Restriction, nodes: tuple[int, ...], field: str, target: int | None = None
) -> Elimination:
    """Raises InvalidQuery(field) where the tables would be too large, before making any."""
    plan = plan_elimination(graph_of(network), sizes_of(network, restriction), nodes, target)
    plan.check_width(field)
    left = dict(restriction)
    cells: list[int] = []
    shapes = []
    for node, scope in plan.tables:
        table = _cells_left(network, left, node, scope)
        cells.extend(table.ravel().tolist())
        shapes.append(table.shape)
    return Elimination(plan, tuple(cells), tuple(shapes))


def _cells_left(
    network: Network, left: Mapping[int, tuple[int, ...]], node: int, scope: tuple[int, ...]
) -> NDArray[np.int64]:
    """The columns of a node's table at the levels left, axes as in `scope`; a variable with one level has none."""
    axes = (*network.parents(node), node)
    part = network.cells(node)
    table = np.arange(part.start, part.stop).reshape(network.shape(node))
    table = table[np.ix_(*(left.get(v, range(len(network.nodes[v].levels))) for v in axes))]
    kept = [v for v in axes if len(left.get(v, network.nodes[v].levels)) > 1]
    return table.reshape([table.shape[axes.index(v)] for v in kept]).transpose([kept.index(v) for v in scope])


def contract(plan: Plan, tables: list[Array]) -> tuple[Array, NDArray[np.int64]]:
    """Runs the steps with sums."""
    samples = tables[0].shape[-1]
    exponent = np.zeros(samples, dtype=np.int64)
    for step in plan.steps:
        operands = take_operands(step, tables, samples)
        table = product(operands) if step.variable is None else _sum_over_first(operands)
        if step.rescale:
            table = rescaled(table, exponent)
        tables.append(table)
    return tables[-1], exponent


def take_operands(step: Step, tables: list[Array], samples: int) -> list[Array]:
    """Each table is used once; letting go of it here keeps the memory of one query small enough to be used again."""
    operands = [tables[i].reshape(*shape, samples) for i, shape in zip(step.inputs, step.shapes, strict=True)]
    for i in step.inputs:
        tables[i] = USED
    return operands


def product(operands: Sequence[Array]) -> Array:
    table = operands[0]
    for operand in operands[1:]:
        table = table * operand
    return table


def _sum_over_first(operands: Sequence[Array]) -> Array:
    """Σ_level Π operands[level], the levels added from the first on."""
    total = product([operand[0] for operand in operands]) + product([operand[1] for operand in operands])
    for level in range(2, len(operands[0])):
        total += product([operand[level] for operand in operands])
    return total


def rescaled(table: Array, exponent: NDArray[np.int64]) -> Array:
    """Divides each sample's table by the power of two that brings its largest entry to [½, 1): exact, no digit changes."""
    peak = table.reshape(-1, table.shape[-1]).max(axis=0)
    power = np.maximum(np.frexp(peak)[1], EXPONENT_MIN)
    exponent += power
    scaled: Array = table * np.ldexp(1.0, -power)
    return scaled
