"""Counts of a node without parents are sizes of its children's configurations: what that rules out, where counts are few.

A node without parents that leaves one side of its first split has x rows there before and n − x on the other. Each child's row
leaves a configuration of at most x rows and enters one of at most n − x, however many other parents it has. So the variable of
such a node says not only that its value changes but which side is left and in which group of numbers x lies, or that it
changes within a side: its own figures are the largest in the group, and those of its children the largest over configurations
that fit. If it has two levels and is the only parent, these hold just x and n − x.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.one_row import NodeTerms

Array = NDArray[np.float64]

GROUPS = {1: 12, 2: 12, 3: 4, 4: 2}
"""By how many such parents one node has, so that its table stays small."""
FINE_GROUPS = {1: 60, 2: 12, 3: 4, 4: 2}


@dataclass(frozen=True, slots=True)
class SharedSides:
    """`groups` are (fewest, most) rows on the side that is left; values 1 … are (side, group) in that order, then `inside`."""

    nodes: Mapping[int, NodeTerms]
    groups: tuple[tuple[int, int], ...]
    rows: int

    def values(self, node: int) -> int:
        if node not in self.nodes:
            return 2
        return 1 + 2 * len(self.groups) + (self.nodes[node].inside is not None)

    def root_table(self, node: int) -> Array:
        terms = self.nodes[node]
        sides = np.zeros((0, 1, 1)) if terms.swapped is None else terms.swapped
        figures = [side[low : high + 1].max(axis=0) for side in sides for low, high in self.groups]
        return np.stack([np.zeros_like(terms.changed), *figures, *([] if terms.inside is None else [terms.inside])])

    def moved(self, terms: NodeTerms, parents: Mapping[int, int], changed: bool, alone: bool) -> Array:
        """A row that changes configuration because these parents change, each to the value given; `alone`: no others."""
        last = 2 * len(self.groups)
        told = [
            (self.groups[(value - 1) % len(self.groups)], self.nodes[node].inside is None)
            for node, value in parents.items()
            if node in self.nodes and value <= last
        ]
        whole = terms.moved_changed if changed else terms.moved
        if not told or terms.leaving is None or terms.entering is None:
            return whole
        if alone and told[0][1]:
            fewest, most = told[0][0]
            totals = np.arange(fewest, most + 1)
            fitting = terms.leaving[totals] + terms.entering[self.rows - totals]
        else:
            leaving, entering = min(group[1] for group, _ in told), min(self.rows - group[0] for group, _ in told)
            totals = np.arange(leaving + 1)
            gone, come = (np.maximum.accumulate(found, axis=0) for found in (terms.leaving, terms.entering))
            fitting = gone[totals] + come[np.minimum(self.rows - totals, entering)]
        return np.asarray(np.minimum(whole, fitting.max(axis=0)))


NO_SIDES = SharedSides({}, (), 0)


def shared_sides(model: NetworkModel, terms: Sequence[object], groups: Mapping[int, int] = GROUPS) -> SharedSides:
    nodes = {i: term for i, term in enumerate(terms) if isinstance(term, NodeTerms) and term.swapped is not None}
    most = max((len(nodes.keys() & set(model.network.parents(i))) for i in range(len(terms))), default=0)
    count = groups.get(most, 0)
    if not nodes or not count:
        return NO_SIDES
    rows = max(len(term.swapped[0]) for term in nodes.values() if term.swapped is not None) - 1
    parts = np.array_split(np.arange(1, rows + 1), min(count, rows))
    return SharedSides(nodes, tuple((int(part[0]), int(part[-1])) for part in parts), rows)
