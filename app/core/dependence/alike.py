"""Structures of people who are alike: a household, relatives of one person, people of whom only the number of ones matters."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.bound import rounded_up
from app.core.dependence.counts import (
    context_cross_ratio,
    counts_differing,
    exchangeable_exact,
    star_differing,
    star_exact,
)
from app.core.dependence.influence import attenuated
from app.core.dependence.structure import Method, Plain, Secret, all_differ, everybody, scalar

Array = NDArray[np.float64]

_ROUNDS = 2_000


@dataclass(frozen=True)
class Household(Plain):
    """Any dependence at all between its people."""

    size: int
    secret: Secret

    @property
    def people(self) -> int:
        return self.size

    @property
    def members(self) -> int:
        return len(self.secret.members)

    @property
    def told(self) -> str:
        return f"{self.size} people whose data may depend on each other in any way"

    def methods(self) -> list[Method]:
        return [everybody(self.size, exact=True)]

    def couplings(self) -> list[list[Array]]:
        return all_differ(self.size, self.members)


@dataclass(frozen=True)
class Relatives(Plain):
    """`count` others, each of whom shares the yes/no value of the person in the middle with probability `agreement`."""

    count: int
    agreement: float
    secret: Secret

    @property
    def members(self) -> int:
        return 1

    @property
    def values(self) -> int | None:
        return 2

    @property
    def people(self) -> int:
        return self.count + 1

    @property
    def told(self) -> str:
        return (
            f"{self.count} others share a yes/no value with probability {self.agreement:g} each, given the person's own"
        )

    def methods(self) -> list[Method]:
        if self.secret.known:
            return [everybody(self.people), Method("tree of edges (E)", "certified", self.told, scalar(self._by_edges))]
        return [Method("affiliated star (B)", "exact", self.told, scalar(self._exact))]

    def couplings(self) -> list[list[Array]]:
        # an edge's law given others' values is the same: given the middle, relatives are independent
        return [[star_differing(self.count, self.agreement)]]

    def _exact(self, epsilon: float) -> float:
        return star_exact(epsilon, self.count, self.agreement)

    def _by_edges(self, epsilon: float) -> float:
        differ = 1 - self.agreement
        cross = 2 * math.log(self.agreement / differ) if differ > 0 else math.inf
        return rounded_up(epsilon + self.count * float(attenuated(epsilon, cross)))


@dataclass(frozen=True)
class Exchangeable(Plain):
    """Of m people, k have the value 1 with probability ∝ weights[k]; who they are is random."""

    weights: tuple[float, ...]
    secret: Secret

    @property
    def people(self) -> int:
        return len(self.weights) - 1

    @property
    def members(self) -> int:
        return len(self.secret.members)

    @property
    def values(self) -> int | None:
        return 2 if self.members == 1 else None

    @property
    def told(self) -> str:
        return (
            f"of {self.people} people only how many have the value 1 is related to the secret, by the declared weights"
        )

    def methods(self) -> list[Method]:
        found = [
            everybody(self.people),
            Method("equal influences (C)", "certified", self.told, scalar(self._by_influence)),
        ]
        if self.members == 1 and not self.secret.known:
            found.append(Method("worst mechanism on counts (A)", "exact", self.told, scalar(self._exact)))
        return found

    def couplings(self) -> list[list[Array]]:
        if self.members > 1 or self.secret.known:
            return all_differ(self.people, self.members)
        return [[counts_differing(self.weights)]]

    def _exact(self, epsilon: float) -> float:
        return min(exchangeable_exact(epsilon, self.weights), epsilon * self.people * (1 + 1e-12))

    def _by_influence(self, epsilon: float) -> float:
        gamma, others = context_cross_ratio(self.weights) / 4, self.people - self.members
        k = 1.0
        for _ in range(_ROUNDS):
            k = min(k, 1.0, gamma * self.members + (gamma * (others - 1) * k if others > 1 else 0.0))
        return rounded_up(epsilon * (self.members + others * k))
