"""A directed acyclic graph of variables with finitely many levels, and where each probability of it is kept.

One column a probability: nodes in order, for each node the configurations of its parents (last parent fastest), for each
configuration the node's levels. So node i's part of a sample, reshaped to `shape(i)`, is its conditional table with the
parents' axes first and its own last.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import product

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidModel

NODES_MAX = 1_000
NODE_CELLS_MAX = 4_096
"""Probabilities of one node: what its levels and the configurations of its parents multiply to."""
CELLS_MAX = 50_000


@dataclass(frozen=True, slots=True)
class Node:
    """`concentration` is the Dirichlet prior of the levels, the same under every configuration of the parents."""

    name: str
    levels: tuple[str, ...]
    parents: tuple[str, ...] = ()
    concentration: tuple[float, ...] = ()
    pooled: bool = False
    """Whether configurations learn from each other, around that prior (`beliefs/pooled_prior.py`)."""
    pooled_by: tuple[str, ...] = ()
    """Parents: configurations in which these are equal learn more from each other than from others."""


@dataclass(frozen=True)
class Network:
    """Every parent comes before its children. Made by `build_network`, which checks that it is a network."""

    nodes: tuple[Node, ...]
    _places: dict[str, int] = field(init=False, repr=False, compare=False)
    _starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {node.name: i for i, node in enumerate(self.nodes)})
        starts = [0]
        for i in range(len(self.nodes)):
            starts.append(starts[-1] + math.prod(self.shape(i)))
        object.__setattr__(self, "_starts", tuple(starts))

    def index(self, name: str) -> int:
        """KeyError for a name that is no node's."""
        return self._places[name]

    def parents(self, i: int) -> tuple[int, ...]:
        return tuple(self._places[name] for name in self.nodes[i].parents)

    def shape(self, i: int) -> tuple[int, ...]:
        """Numbers of levels: of each parent, then the node's own."""
        node = self.nodes[i]
        return (*(len(self.nodes[self._places[name]].levels) for name in node.parents), len(node.levels))

    def configurations(self, i: int) -> int:
        return math.prod(self.shape(i)[:-1])

    def pooled(self, i: int) -> bool:
        """Whether node i's configurations learn from each other; a single one has none to learn from."""
        return self.nodes[i].pooled and self.configurations(i) > 1

    def pooled_groups(self, i: int) -> NDArray[np.int64]:
        """Node i's configurations, (groups, members): a row for all values of the parents that it is pooled by."""
        shape, by = self.shape(i)[:-1], self.nodes[i].pooled_by
        axes = [axis for axis, name in enumerate(self.nodes[i].parents) if name in by]
        rest = [axis for axis in range(len(shape)) if axis not in axes]
        places = np.arange(math.prod(shape)).reshape(shape).transpose(*axes, *rest)
        return places.reshape(math.prod(shape[axis] for axis in axes), -1)

    def cells(self, i: int) -> slice:
        """The columns of node i's table."""
        return slice(self._starts[i], self._starts[i + 1])

    @property
    def cell_count(self) -> int:
        return self._starts[-1]

    def cell_names(self) -> Iterator[str]:
        """`node=level|parent=level,…` in the order of the columns."""
        for i, node in enumerate(self.nodes):
            parents = [self.nodes[p] for p in self.parents(i)]
            for given in product(*(parent.levels for parent in parents)):
                condition = ",".join(f"{parent.name}={level}" for parent, level in zip(parents, given, strict=True))
                for level in node.levels:
                    yield f"{node.name}={level}" + (f"|{condition}" if condition else "")


def build_network(nodes: Sequence[Node], where: str = "model.nodes") -> Network:
    """Sorted so that parents come first, otherwise in the order given. Raises InvalidModel for what is no network."""
    if not 1 <= len(nodes) <= NODES_MAX:
        raise InvalidModel(where, f"1 to {NODES_MAX} nodes")
    known = {node.name: node for node in nodes}
    if len(known) != len(nodes):
        raise InvalidModel(where, "every node once")
    for node in nodes:
        _check_node(node, known, f"{where}.{node.name}")
    network = Network(tuple(known[name] for name in _parents_first(nodes, where)))
    if network.cell_count > CELLS_MAX:
        raise InvalidModel(where, f"at most {CELLS_MAX} probabilities in all; these tables have {network.cell_count}")
    return network


def _check_node(node: Node, known: Mapping[str, Node], where: str) -> None:
    if len(node.levels) < 2 or len(set(node.levels)) != len(node.levels):
        raise InvalidModel(where, "a column with two or more different levels")
    if len(set(node.parents)) != len(node.parents):
        raise InvalidModel(f"{where}.parents", "every parent once")
    for parent in node.parents:
        if parent not in known:
            raise InvalidModel(f"{where}.parents", f"names of nodes; {parent!r} is none")
    if len(node.concentration) != len(node.levels) or not all(0 < a < math.inf for a in node.concentration):
        raise InvalidModel(f"{where}.prior", "one positive number a level")
    cells = math.prod(len(known[name].levels) for name in node.parents) * len(node.levels)
    if cells > NODE_CELLS_MAX:
        raise InvalidModel(
            f"{where}.parents", f"fewer parents or levels: this table has {cells} cells, {NODE_CELLS_MAX} are allowed"
        )


def _parents_first(nodes: Sequence[Node], where: str) -> list[str]:
    """A stable order: whenever several nodes could come next, the one given first does."""
    try:
        TopologicalSorter({node.name: node.parents for node in nodes}).prepare()
    except CycleError as cycle:
        path = " → ".join(reversed(cycle.args[1]))
        raise InvalidModel(where, f"no cycles; there is one: {path}") from None
    waiting = {node.name: set(node.parents) for node in nodes}
    ordered: list[str] = []
    while waiting:
        name = next(name for name, parents in waiting.items() if not parents)
        del waiting[name]
        ordered.append(name)
        for parents in waiting.values():
            parents.discard(name)
    return ordered
