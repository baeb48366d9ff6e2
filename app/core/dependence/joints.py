"""A joint law written out: probabilities of every combination of a few people's values.

What the secret's people S leave is a law of the others for each value z of the secret. Zeros are allowed; with any, bounds by
cross-ratios (C, D, E) are not: three identical copies have no cross-ratio and lose 3ε.

**B** is exact if ln μ is supermodular, after renaming each yes/no value in one of two ways: the worst mechanism is then
exp(−Σ ε_j|y_j − z|). With full support neighbouring squares of the table decide, with zeros all pairs of entries do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.bound import rounded_up
from app.core.dependence.graphs import balanced_signs

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class Joint:
    """`table` has an axis a person and adds up to 1; `members` are the people the secret is about."""

    table: Array
    members: tuple[int, ...]

    @cached_property
    def others(self) -> tuple[int, ...]:
        return tuple(each for each in range(self.table.ndim) if each not in self.members)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Of the others."""
        return tuple(self.table.shape[each] for each in self.others)

    @cached_property
    def full(self) -> bool:
        return bool((self.table > 0).all())

    @cached_property
    def masses(self) -> Array:
        """Of the secret's values."""
        return np.asarray(self._rows.sum(axis=1))

    @cached_property
    def given(self) -> Array:
        """One row for each value of the secret: the law of the others."""
        return np.asarray(self._rows / self.masses[:, None])

    @cached_property
    def _rows(self) -> Array:
        moved = np.transpose(self.table, (*self.members, *self.others))
        return np.asarray(moved.reshape(math.prod(self.table.shape[each] for each in self.members), -1))

    @cached_property
    def points(self) -> Whole:
        """(values of the others) of every column of `given`."""
        grid = np.indices(self.levels).reshape(len(self.levels), -1).T if self.levels else np.zeros((1, 0))
        return np.asarray(grid, dtype=np.int64)

    @cached_property
    def influence(self) -> Array:
        """γ = c/4 of every two people; for laws without zeros."""
        logs, people = np.log(self.table), self.table.ndim
        gamma = np.zeros((people, people))
        for i, j in combinations(range(people), 2):
            pair = np.moveaxis(logs, (i, j), (0, 1)).reshape(self.table.shape[i], self.table.shape[j], -1)
            rows = pair[:, None] - pair[None, :]
            largest = float((rows.max(axis=2) - rows.min(axis=2)).max())
            gamma[i, j] = gamma[j, i] = largest / 4 * (1 + 1e-12) + 1e-13
        return gamma

    def affiliated_signs(self) -> list[float] | None:
        """For one secret of two values among yes/no people: how to rename values so that ln μ is supermodular; None if no
        renaming of the kind looked for does."""
        if len(self.members) != 1 or set(self.table.shape) != {2}:
            return None
        people, root = self.table.ndim, self.members[0]
        if not self.full:
            return [1.0] * people if _supermodular_with_zeros(self.table) else None
        edges = []
        logs = np.log(self.table)
        for i, j in combinations(range(people), 2):
            pair = np.moveaxis(logs, (i, j), (0, 1)).reshape(2, 2, -1)
            cross = pair[0, 0] + pair[1, 1] - pair[0, 1] - pair[1, 0]
            if cross.max() > _EQUAL and cross.min() < -_EQUAL:
                return None
            if np.abs(cross).max() > _EQUAL:
                edges.append((i, j, float(cross.sum())))
        found = balanced_signs(people, edges, root)
        return None if found is None else [found.get(each, 1.0) for each in range(people)]

    def affiliated_exact(self, epsilons: Sequence[float], signs: Sequence[float]) -> float:
        """B."""
        apart = np.zeros((2, len(self.points)))
        for value in (0, 1):
            for axis, person in enumerate(self.others):
                favoured = value if signs[person] * signs[self.members[0]] > 0 else 1 - value
                apart[value] += np.where(self.points[:, axis] == favoured, 0.0, epsilons[person])
        change = 0.0
        for value in (0, 1):
            up, down = (_log_mean(self.given[each], -apart[value]) for each in (value, 1 - value))
            change = max(change, up - down)
        own_epsilon = epsilons[self.members[0]]
        return rounded_up(own_epsilon + change, 1e-12)

    def ratio_bound(self, epsilons: Sequence[float]) -> float:
        """F with nobody else near: ν ≤ Σ_S ε + max ln μ(y|z)/μ(y|z'); infinite where supports differ."""
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(self.given)
            apart = logs[:, None, :] - logs[None, :, :]
        return rounded_up(float(np.nanmax(apart)) + sum(epsilons[each] for each in self.members), 1e-12)


def _log_mean(law: Array, logs: Array) -> float:
    with np.errstate(divide="ignore"):
        return float(np.logaddexp.reduce(np.log(law) + logs))


def _supermodular_with_zeros(table: Array) -> bool:
    """μ(x∨y)·μ(x∧y) ≥ μ(x)·μ(y) for every two entries of a table of yes/no people: bits of their places."""
    flat = table.ravel()
    places = np.arange(len(flat))
    support = places[flat > 0]
    for x in support.tolist():
        product = flat[x] * flat[support]
        if (flat[x | support] * flat[x & support] < product * (1 - _EQUAL)).any():
            return False
    return True
