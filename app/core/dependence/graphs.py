"""Yes/no people on a graph with circles: when the worst mechanism is known, and how it is summed.

With log-density Σ J_ij s_i s_j + Σ h_i s_i, a graph whose circles all have an even number of negative couplings (a balanced one)
can be turned by renaming values into one where all J ≥ 0. Then ln μ is supermodular and Theorem 3.4 of Ghosh and Kleinberg says
which mechanism is worst: **B**. Its two sums over everybody's values are done by eliminating one person after the other, those
with the fewest neighbours first; the work is exponential in how many neighbours meet (the width), and refused beyond WIDTH_MAX.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.bound import rounded_up
from app.core.dependence.trees import Edge

Array = NDArray[np.float64]

WIDTH_MAX = 16
WORK_MAX = 1 << 21
"""Entries of all tables together."""


def connected(count: int, edges: Sequence[Edge], members: Sequence[int]) -> list[int]:
    """Everybody who is reached from the members by edges, in order of their numbers."""
    beside = _beside(count, edges)
    seen, waiting = set(members), list(members)
    while waiting:
        for other in beside[waiting.pop()]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return sorted(seen)


def balanced_signs(count: int, edges: Sequence[Edge], root: int) -> dict[int, float] | None:
    """A sign for everybody connected to the root such that J_ij·sign_i·sign_j ≥ 0; None if a circle forbids it."""
    beside: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for a, b, value in edges:
        if value != 0:
            beside[a].append((b, value))
            beside[b].append((a, value))
    sign, waiting = {root: 1.0}, [root]
    while waiting:
        node = waiting.pop()
        for other, value in beside[node]:
            wanted = sign[node] * math.copysign(1.0, value)
            if other not in sign:
                sign[other] = wanted
                waiting.append(other)
            elif sign[other] != wanted:
                return None
    return sign


def elimination_order(count: int, edges: Sequence[Edge], root: int) -> list[int] | None:
    """Everybody connected to the root but the root; None beyond the width or the work."""
    beside = _beside(count, edges)
    left = set(connected(count, edges, [root])) - {root}
    order, work = [], 0
    while left:
        node = min(left, key=lambda each: (len(beside[each]), each))
        around = beside[node]
        work += 2 << len(around)
        if len(around) > WIDTH_MAX or work > WORK_MAX:
            return None
        for other in around:
            beside[other] |= around
            beside[other] -= {other, node}
        order.append(node)
        left.remove(node)
    return order


def graph_solvable(count: int, edges: Sequence[Edge], root: int) -> bool:
    """Whether `graph_exact` has an answer."""
    return balanced_signs(count, edges, root) is not None and elimination_order(count, edges, root) is not None


def graph_exact(epsilon: float, count: int, edges: Sequence[Edge], fields: Sequence[float], root: int) -> float | None:
    """B on any balanced graph whose width allows it; None elsewhere."""
    sign = balanced_signs(count, edges, root)
    order = None if sign is None else elimination_order(count, edges, root)
    if sign is None or order is None:
        return None
    without = _root_odds(edges, fields, order, root)
    change = 0.0
    for tilt in (epsilon / 2, -epsilon / 2):
        tilted = [field + tilt * sign.get(node, 0.0) for node, field in enumerate(fields)]
        tilted[root] = fields[root]
        change = max(change, abs(_root_odds(edges, tilted, order, root) - without))
    size = sum(abs(value) for _, _, value in edges) + sum(map(abs, fields)) + (1 + epsilon) * len(order)
    return rounded_up(epsilon + change, 1e-14 * size)


def _root_odds(edges: Sequence[Edge], fields: Sequence[float], order: Sequence[int], root: int) -> float:
    """ln μ(s_root = 1)/μ(s_root = −1)."""
    place = {node: at for at, node in enumerate([*order, root])}
    buckets: list[list[tuple[tuple[int, ...], Array]]] = [
        [((node,), np.array([fields[node], -fields[node]]))] for node in place
    ]

    def keep(people: tuple[int, ...], table: Array) -> None:
        """With whoever of them is eliminated first."""
        buckets[min(place[each] for each in people)].append((people, table))

    for a, b, j in edges:
        if a in place and b in place:
            keep((a, b), np.array([[j, -j], [-j, j]]))
    for at, node in enumerate(order):
        people, table = _product(buckets[at])
        axis = people.index(node)
        rest = people[:axis] + people[axis + 1 :]
        if rest:
            keep(rest, np.logaddexp(np.take(table, 0, axis), np.take(table, 1, axis)))
    _, total = _product(buckets[-1])
    return float(total[0] - total[1])


def _product(factors: Sequence[tuple[tuple[int, ...], Array]]) -> tuple[tuple[int, ...], Array]:
    people = tuple(sorted({each for own, _ in factors for each in own}))
    place = {each: axis for axis, each in enumerate(people)}
    table = np.zeros((2,) * len(people))
    for own, values in factors:
        ordered = np.transpose(values, np.argsort([place[each] for each in own]))
        shape = [1] * len(people)
        for each in own:
            shape[place[each]] = 2
        table = table + ordered.reshape(shape)
    return people, table


def _beside(count: int, edges: Sequence[Edge]) -> list[set[int]]:
    beside: list[set[int]] = [set() for _ in range(count)]
    for a, b, value in edges:
        if value != 0:
            beside[a].add(b)
            beside[b].add(a)
    return beside
