"""A network drawn wide enough that counts of a few variables at a time say all that records could: a chordal order of its nodes.

Every node keeps a table of counts of itself and of its `scope`: its parents, and what else it takes for every scope to lie within
the table of one earlier node, its `link`. p(x_i | scope) is p(x_i | parents): nothing more has to be known to draw. Tables that
agree on the scopes they share are tables of records, and every such set of tables is; so records need not be kept, and a table's
size does not depend on how many there are (Dawid and Lauritzen 1993: the law of the tables is a product over the links).

Nodes are taken from the end, among those without children left the one whose table is smallest.
"""

import heapq
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.structure import Network

CELLS_MAX = 20_000
ROOT = -1
"""The link of a node with no scope."""


@dataclass(frozen=True, slots=True)
class Place:
    """A node in the order. Tables are (scope configurations, levels, …), the last of the scope fastest.

    `summed` are the axes of the link's table, (scope …, link), that are summed out to count this scope. `below` are the places,
    this one first, whose tables know what this node or those drawn after it are.
    """

    node: int
    shape: tuple[int, ...]
    levels: int
    cells: slice
    link: int
    summed: tuple[int, ...]
    given: NDArray[np.int64]
    """The configuration of the parents in every configuration of the scope."""
    beside: tuple[int, ...]
    """Axes of the scope that are no parents, and in which order the network has those that are."""
    order: tuple[int, ...]
    below: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.given)

    def scope_counts(self, linked: NDArray[np.int64], link_shape: tuple[int, ...]) -> NDArray[np.int64]:
        """(configurations of the scope, …) from counts of the link's table, (configurations, levels, …)."""
        found = linked.reshape(*link_shape, *linked.shape[2:]).sum(axis=self.summed)
        return np.asarray(found.reshape(self.size, *linked.shape[2:]))

    def family_counts(self, own: NDArray[np.int64]) -> NDArray[np.int64]:
        """(cells of the node, …) from counts of its table: its parents in the order that the network has them in."""
        rest = own.shape[2:]
        found = own.reshape(*self.shape, self.levels, *rest).sum(axis=self.beside)
        parents = len(self.order)
        axes = (*self.order, *range(parents, found.ndim))
        return np.asarray(found.transpose(axes).reshape(-1, *rest))


@lru_cache(maxsize=64)
def chordal(network: Network) -> tuple[Place, ...]:
    """In an order in which every link comes first. Empty where all tables together would have more than `CELLS_MAX` cells."""
    scopes = _scopes(network)
    if scopes is None:
        return ()
    nodes = list(reversed(scopes))
    at = {node: place for place, node in enumerate(nodes)}
    ordered = {node: tuple(sorted(scope, key=at.__getitem__)) for node, scope in scopes.items()}
    links = [at[ordered[node][-1]] if ordered[node] else ROOT for node in nodes]
    below: list[list[int]] = [[place] for place in range(len(nodes))]
    for place in reversed(range(len(nodes))):
        if links[place] != ROOT:
            below[links[place]] += below[place]
    return tuple(
        _place(network, node, ordered, (links[place], nodes), tuple(sorted(below[place])))
        for place, node in enumerate(nodes)
    )


def _place(
    network: Network,
    node: int,
    ordered: dict[int, tuple[int, ...]],
    linked: tuple[int, list[int]],
    below: tuple[int, ...],
) -> Place:
    scope, parents, (link, nodes) = ordered[node], network.parents(node), linked
    shape = _levels(network, scope)
    summed: tuple[int, ...] = ()
    if link != ROOT:
        source = (*ordered[nodes[link]], nodes[link])
        summed = tuple(axis for axis, variable in enumerate(source) if variable not in scope)
    values = dict(zip(scope, np.indices(shape).reshape(len(scope), math.prod(shape)), strict=True))
    given = np.zeros(math.prod(shape), dtype=np.int64)
    for parent in parents:
        given = given * len(network.nodes[parent].levels) + values[parent]
    left = [variable for variable in scope if variable in parents]
    return Place(
        node=node,
        shape=shape,
        levels=len(network.nodes[node].levels),
        cells=network.cells(node),
        link=link,
        summed=summed,
        given=given,
        beside=tuple(axis for axis, variable in enumerate(scope) if variable not in parents),
        order=tuple(left.index(parent) for parent in parents),
        below=below,
    )


def _scopes(network: Network) -> dict[int, set[int]] | None:
    """By node, the last first."""
    near, children = _moral(network)
    levels = [len(node.levels) for node in network.nodes]

    def size(i: int) -> int:
        return levels[i] * math.prod(levels[member] for member in near[i])

    waiting = [(size(i), -i) for i in range(len(levels)) if children[i] == 0]
    heapq.heapify(waiting)
    found, cells = dict[int, set[int]](), 0
    while waiting:
        own, last = heapq.heappop(waiting)
        if -last in found or own != size(-last):
            continue  # it has been put in again with another size
        found[-last] = scope = near[-last]
        cells += own
        if cells > CELLS_MAX:
            return None
        for member in scope:
            near[member] = (near[member] | scope) - {member, -last}
        for parent in network.parents(-last):
            children[parent] -= 1
        for member in scope:
            if children[member] == 0:
                heapq.heappush(waiting, (size(member), -member))
    return found


def _moral(network: Network) -> tuple[list[set[int]], list[int]]:
    """Who meets whom in some family, and how many children each has."""
    near: list[set[int]] = [set() for _ in network.nodes]
    children = [0] * len(near)
    for i in range(len(near)):
        family = {*network.parents(i), i}
        for member in family:
            near[member] |= family - {member}
        for parent in network.parents(i):
            children[parent] += 1
    return near, children


def _levels(network: Network, nodes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(len(network.nodes[i].levels) for i in nodes)
