"""Structures of people who depend on each other through neighbours: a chain, an Ising graph, a tree."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.core.dependence import chains
from app.core.dependence.graphs import connected, graph_exact, graph_solvable
from app.core.dependence.influence import influence_bound, pushed_bound
from app.core.dependence.joints import Joint
from app.core.dependence.programs import PROGRAM, program_bound
from app.core.dependence.structure import Method, Plain, Secret, all_differ, everybody, scalar
from app.core.dependence.trees import Edge, Rooted, binary_exact, differing, edge_bound, rooted

Array = NDArray[np.float64]

MATRIX_PEOPLE_MAX = 500
TREE_PEOPLE_MAX = 2_000
JOINT_PEOPLE_MAX = 10
_LARGEST_GRAPH = 1_000


def matrix_methods(gamma: Array, members: Sequence[int], told: str) -> list[Method]:
    chosen = list(members)

    def by(function: Callable[[Array, Array, list[int]], float]) -> Callable[[Array], Array]:
        return scalar(lambda epsilon: function(np.full(len(gamma), epsilon), gamma, chosen))

    return [
        Method("influence matrix (C)", "certified", told, by(influence_bound)),
        Method("saturated influences (D)", "certified", told, by(pushed_bound)),
    ]


@dataclass(frozen=True)
class ChainStructure(Plain):
    """A stationary Markov chain; the secret is one place of it."""

    chain: chains.Chain
    secret: Secret

    @property
    def members(self) -> int:
        return 1

    @property
    def people(self) -> int:
        return self.chain.steps

    @property
    def values(self) -> int | None:
        return len(self.chain.transition)

    @property
    def prior(self) -> Sequence[float] | None:
        return [float(each) for each in self.chain.stationary]

    @property
    def told(self) -> str:
        return f"a stationary Markov chain of {self.chain.steps} with the declared transitions"

    def methods(self) -> list[Method]:
        chain, found = self.chain, [everybody(self.people)]
        if self.people <= TREE_PEOPLE_MAX:
            found.append(
                Method("tree of edges (E)", "certified", self.told, scalar(lambda eps: edge_bound(eps, self._tree)))
            )
        if self.secret.known:
            return found
        quilt = Method("quilt (F)", "certified", self.told, scalar(lambda eps: chains.quilt_bound(eps, chain)))
        if len(chain.transition) == 2 and chain.full:
            edges, fields = chains.binary_path(chain)
            tree = rooted(chain.steps, edges, chain.position)
            if tree is not None:
                exact = Method("binary path (B)", "exact", self.told, lambda eps: binary_exact(eps, tree, fields))
                return [*found, quilt, exact]
        return [*found, quilt]

    def couplings(self) -> list[list[Array]]:
        if self.secret.known:
            return [[differing(self._tree)]] if self.people <= TREE_PEOPLE_MAX else all_differ(self.people, 1)
        return [[chains.runs_differing(self.chain)]]

    def quilts(self, widest: int) -> Iterator[tuple[int, Array]]:
        return iter(()) if self.secret.known else chains.quilt_curves(self.chain, widest)

    @cached_property
    def _tree(self) -> Rooted:
        cross, steps = self.chain.cross_ratio, self.chain.steps
        tree = rooted(steps, [(i, i + 1, cross) for i in range(steps - 1)], self.chain.position)
        if tree is None:
            raise AssertionError("a path has no circle")
        return tree


@dataclass(frozen=True)
class TreeStructure(Plain):
    """Edges with log cross-ratios c; nothing else is said of the law."""

    count: int
    edges: tuple[Edge, ...]
    secret: Secret

    @property
    def people(self) -> int:
        return len(self._near)

    @property
    def members(self) -> int:
        return len(self.secret.members)

    @property
    def told(self) -> str:
        return "people depend on each other through the edges of the declared tree, by at most their log cross-ratios"

    def methods(self) -> list[Method]:
        found = [everybody(self.people)]
        if self.members == 1:
            tree = self._tree
            found.append(Method("tree of edges (E)", "certified", self.told, scalar(lambda eps: edge_bound(eps, tree))))
        elif self.people <= MATRIX_PEOPLE_MAX:
            found += near_matrix(self._near, [(a, b, c / 4) for a, b, c in self.edges], self.secret.members, self.told)
        return found

    def couplings(self) -> list[list[Array]]:
        return [[differing(self._tree)]] if self.members == 1 else all_differ(self.people, self.members)

    @cached_property
    def _near(self) -> list[int]:
        return connected(self.count, self.edges, self.secret.members)

    @cached_property
    def _tree(self) -> Rooted:
        tree = rooted(self.count, self.edges, self.secret.members[0])
        if tree is None:
            raise AssertionError("refused where it was read")
        return tree


def near_matrix(near: Sequence[int], edges: Sequence[Edge], members: Sequence[int], told: str) -> list[Method]:
    """C and D for the people connected to the secret, by edges γ."""
    place = {person: at for at, person in enumerate(near)}
    gamma = np.zeros((len(near), len(near)))
    for a, b, value in edges:
        if a in place and b in place:
            gamma[place[a], place[b]] = gamma[place[b], place[a]] = abs(value)
    return matrix_methods(gamma, [place[each] for each in members], told)


@dataclass(frozen=True)
class IsingStructure(Plain):
    """Yes/no values with log-density Σ J_ij s_i s_j + Σ h_i s_i."""

    fields: tuple[float, ...]
    edges: tuple[Edge, ...]
    secret: Secret

    @property
    def people(self) -> int:
        return len(self._near)

    @property
    def members(self) -> int:
        return len(self.secret.members)

    @property
    def values(self) -> int | None:
        return 2**self.members if self.members <= 10 else None

    @property
    def told(self) -> str:
        return "yes/no values with the declared couplings and fields and no others"

    def methods(self) -> list[Method]:
        found = [everybody(self.people)]
        if self.people <= MATRIX_PEOPLE_MAX:
            found += near_matrix(self._near, self.edges, self.secret.members, self.told)
        tree = self._tree
        if tree is not None and self.people <= TREE_PEOPLE_MAX:
            crossed = rooted(len(self.fields), self._crossed, self.secret.members[0])
            if crossed is not None:
                edges = Method(
                    "tree of edges (E)", "certified", self.told, scalar(lambda eps: edge_bound(eps, crossed))
                )
                found.append(edges)
        if self.secret.known or self.members > 1:
            return found
        if tree is not None:
            exact = Method("binary tree (B)", "exact", self.told, lambda eps: binary_exact(eps, tree, self.fields))
            return [*found, exact]
        return [*found, *self._with_circles()]

    def _with_circles(self) -> list[Method]:
        count, root = len(self.fields), self.secret.members[0]
        if self.people <= _LARGEST_GRAPH and graph_solvable(count, self.edges, root):
            exact = scalar(lambda eps: graph_exact(eps, count, self.edges, self.fields, root) or 0.0)
            return [Method("balanced graph (B)", "exact", self.told, exact, slow=True)]
        if self.people <= JOINT_PEOPLE_MAX:
            joint = self._written()
            return [Method(PROGRAM, "certified", self.told, scalar(lambda eps: _program(joint, eps)), slow=True)]
        return []

    def couplings(self) -> list[list[Array]]:
        if self.members == 1 and self._tree is not None:
            tree = rooted(len(self.fields), self._crossed, self.secret.members[0])
            if tree is not None:
                return [[differing(tree)]]
        return all_differ(self.people, self.members)

    @cached_property
    def _near(self) -> list[int]:
        return connected(len(self.fields), self.edges, self.secret.members)

    @cached_property
    def _tree(self) -> Rooted | None:
        if self.members > 1:
            return None
        return rooted(len(self.fields), self.edges, self.secret.members[0])

    @property
    def _crossed(self) -> list[Edge]:
        return [(a, b, 4 * abs(value)) for a, b, value in self.edges]

    def _written(self) -> Joint:
        """The law of the people connected to the secret, entry by entry."""
        place = {person: at for at, person in enumerate(self._near)}
        spins = 1.0 - 2.0 * np.indices((2,) * len(place))
        logs = sum((self.fields[person] * spins[at] for person, at in place.items()), np.zeros((2,) * len(place)))
        for a, b, value in self.edges:
            if a in place:
                logs = logs + value * spins[place[a]] * spins[place[b]]
        table = np.exp(logs - logs.max())
        return Joint(table / table.sum(), tuple(place[each] for each in self.secret.members))


def _program(joint: Joint, epsilon: float) -> float:
    found = program_bound(joint, [epsilon] * joint.table.ndim, 2)
    return np.inf if found is None else found[0]
