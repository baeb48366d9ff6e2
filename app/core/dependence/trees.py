"""People whose dependence is a tree: everybody depends on the others through neighbours alone.

**E** (any alphabets, any marginals). From the leaves to the secret: r_parent += m(r_child, c_edge); ν ≤ r_root.

**B on binary trees** (exact; Ghosh and Kleinberg, Theorem 3.4). For exp(Σ J_ij s_i s_j + Σ h_i s_i), s = ±1, the worst mechanism
favours one value of the secret and, along every path, the values that go with it: its tilt ε/2 is a field. A message through an
edge is u(φ) = artanh(tanh J·tanh φ), and ν = ε_i + 2·|Φ with tilts − Φ without|, the larger of the two signs.

**Couplings.** An edge passes a difference on with probability at most tanh(c/4), whatever its marginals, so the number of others
who differ is at most, in law, that of a branching along the tree.

**G.** Of degree at most Δ, coupling J and no fields, the worst tree is regular: L = ε + (Δ−1)·u(L) upwards from ε, u(L) =
2·artanh(tanh J·tanh(L/2)), ν = ε + Δ·u(L) (the papers' Corollary A.6).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.bound import ROUNDING, rounded_up
from app.core.dependence.influence import attenuated

Array = NDArray[np.float64]
Edge = tuple[int, int, float]

PEOPLE_COUNTED_MAX = 2_000
"""Numbers of others who differ are told apart up to here; more count as everybody."""
_ROUNDS_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Rooted:
    """The part of a forest that holds `root`: nodes from the root outwards, each but the first with its parent and its edge."""

    order: tuple[int, ...]
    parent: dict[int, int]
    edge: dict[int, float]

    @property
    def outside_in(self) -> list[int]:
        return [node for node in reversed(self.order) if node in self.parent]


def rooted(count: int, edges: Sequence[Edge], root: int) -> Rooted | None:
    """None where a circle of edges is reached."""
    beside: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for a, b, value in edges:
        beside[a].append((b, value))
        beside[b].append((a, value))
    order, seen = [root], {root}
    parent: dict[int, int] = {}
    edge: dict[int, float] = {}
    for node in order:
        for other, value in beside[node]:
            if parent.get(node) == other:
                continue
            if other in seen:
                return None
            seen.add(other)
            order.append(other)
            parent[other], edge[other] = node, value
    return Rooted(tuple(order), parent, edge)


def has_circle(count: int, edges: Sequence[Edge]) -> bool:
    """Anywhere."""
    group = list(range(count))

    def of(node: int) -> int:
        while group[node] != node:
            group[node] = group[group[node]]
            node = group[node]
        return node

    for a, b, _ in edges:
        first, second = of(a), of(b)
        if first == second:
            return True
        group[first] = second
    return False


def edge_bound(epsilon: float, tree: Rooted) -> float:
    """E, for edges that are log cross-ratios c."""
    paid = dict.fromkeys(tree.order, epsilon)
    for node in tree.outside_in:
        paid[tree.parent[node]] += float(attenuated(paid[node], tree.edge[node]))
    return rounded_up(paid[tree.order[0]], 1e-13 * len(tree.order))


def message(coupling: float, field: float) -> float:
    """artanh(tanh J·tanh φ) = ½·ln(cosh(φ + J)/cosh(φ − J)), for numbers of any size."""
    up, down = abs(field + coupling), abs(field - coupling)
    return 0.5 * ((up - down) + math.log1p(math.exp(-2 * up)) - math.log1p(math.exp(-2 * down)))


def binary_exact(epsilons: Array, tree: Rooted, fields: Sequence[float]) -> Array:
    """B at several ε, for edges that are couplings J of either sign."""
    root = tree.order[0]
    sign = {root: 1.0}
    for node in tree.order[1:]:
        sign[node] = sign[tree.parent[node]] * (1.0 if tree.edge[node] >= 0 else -1.0)
    tilts = np.concatenate([[0.0], epsilons / 2, -epsilons / 2])
    total: dict[int, Array] = {}
    for node in tree.outside_in:
        own = fields[node] + tilts * sign[node]
        field = own + total.pop(node) if node in total else own
        parent, through = tree.parent[node], messages(tree.edge[node], field)
        total[parent] = total[parent] + through if parent in total else through
    at_root = total.get(root, np.zeros(len(tilts)))
    up, down = np.split(at_root[1:] - at_root[0], 2)
    change = np.maximum(up, -down)
    size = math.fsum(abs(fields[node]) for node in tree.order) + len(tree.order)
    found = epsilons + 2 * change
    return np.asarray(np.minimum(found * ROUNDING + 1e-14 * (size + epsilons), epsilons * len(tree.order)))


def messages(coupling: float, field: Array) -> Array:
    """`message` of several fields."""
    up, down = np.abs(field + coupling), np.abs(field - coupling)
    return np.asarray(0.5 * ((up - down) + np.log1p(np.exp(-2 * up)) - np.log1p(np.exp(-2 * down))))


def differing(tree: Rooted) -> Array:
    """The law of how many others differ, for edges c; what goes beyond the numbers told apart counts as everybody."""
    most = min(len(tree.order) - 1, PEOPLE_COUNTED_MAX)
    below: dict[int, Array] = {}
    spilt = 0.0
    for node in tree.outside_in:
        passes = math.tanh(tree.edge[node] / 4)
        own = np.append(0.0, below.pop(node, np.ones(1)))
        law = passes * own
        law[0] += 1 - passes
        parent = tree.parent[node]
        joined = np.convolve(below[parent], law) if parent in below else law
        spilt += float(joined[most + 1 :].sum())
        below[parent] = joined[: most + 1]
    found = below.get(tree.order[0], np.ones(1))
    if spilt > 0:
        whole = np.zeros(len(tree.order))
        whole[: len(found)] = found
        whole[-1] += spilt
        return whole
    return found


def bounded_degree(epsilon: float, degree: int, coupling: float) -> float:
    """G. Iterates rise to the bound, which is a little above the last."""

    def through(field: float) -> float:
        return 2 * message(coupling, field / 2)

    level = epsilon
    for _ in range(_ROUNDS_MAX):
        following = epsilon + (degree - 1) * through(level)
        if following - level <= 1e-15 * following:
            break
        level = following
    return rounded_up(epsilon + degree * through(level * (1 + 1e-13)))
