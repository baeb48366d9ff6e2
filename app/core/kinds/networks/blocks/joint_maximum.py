"""The largest value of a sum of tables over variables of few values, by eliminating one variable after another.

max over z of Σ_j T_j(z restricted to the variables of T_j). Tables have one axis a variable, 0 and 1 for most, and a last axis
of independent columns, each maximised on its own. Where joining all tables of a variable would need more entries than
`WIDTH_MAX` variables of two values have, they are joined in groups and each group is maximised on its own (mini-buckets), which
can only give more: the result is an upper bound, exact where nothing had to be split.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WIDTH_MAX = 13


@dataclass(frozen=True, slots=True)
class Factor:
    variables: tuple[int, ...]
    table: Array

    @property
    def sizes(self) -> dict[int, int]:
        return dict(zip(self.variables, self.table.shape, strict=False))

    def over(self, variables: tuple[int, ...]) -> Array:
        """The table with axes for all of `variables`, in that order (a sorted superset of its own)."""
        shape = [self.sizes.get(variable, 1) for variable in variables]
        return self.table.reshape(*shape, self.table.shape[-1])


@dataclass(frozen=True, slots=True)
class Maximum:
    values: Array
    exact: bool


def joint_maximum(factors: Sequence[Factor], width_max: int = WIDTH_MAX) -> Maximum:
    """Variables of every factor in increasing order. The next variable is the one whose tables join to the smallest."""
    pool = _Pool(factors)
    exact = True
    while pool.waiting:
        variable = pool.cheapest()
        groups = _grouped(pool.take(variable), width_max, pool.bits)
        exact = exact and len(groups) == 1
        for group in groups:
            scope = tuple(sorted(_union(group)))
            joined = sum((factor.over(scope) for factor in group), np.zeros(pool.total.shape))
            reduced = np.max(joined, axis=scope.index(variable))
            pool.add(Factor(tuple(other for other in scope if other != variable), reduced))
    return Maximum(pool.total, exact)


class _Pool:
    """Tables still to be joined, by variable; tables over the same variables are added at once."""

    def __init__(self, factors: Sequence[Factor]) -> None:
        self.total = np.zeros(factors[0].table.shape[-1])
        self._by_scope: dict[tuple[int, ...], Factor] = {}
        self._widths: dict[int, float] = {}
        self._bits = {v: math.log2(size) for factor in factors for v, size in factor.sizes.items()}
        self.waiting: dict[int, set[tuple[int, ...]]] = {}
        for factor in factors:
            self.add(factor)

    def add(self, factor: Factor) -> None:
        if not factor.variables:
            self.total = self.total + factor.table
            return
        known = self._by_scope.get(factor.variables)
        self._by_scope[factor.variables] = (
            factor if known is None else Factor(factor.variables, known.table + factor.table)
        )
        for variable in factor.variables:
            self.waiting.setdefault(variable, set()).add(factor.variables)
            self._widths.pop(variable, None)

    def cheapest(self) -> int:
        for variable, scopes in self.waiting.items():
            if variable not in self._widths:
                self._widths[variable] = self.bits(set().union(*scopes))
        return min(self.waiting, key=lambda variable: (self._widths[variable], variable))

    def bits(self, scope: Iterable[int]) -> float:
        """log₂ of how many entries a table over these variables has."""
        return sum(self._bits[variable] for variable in scope)

    def take(self, variable: int) -> list[Factor]:
        """All tables that hold the variable, widest first."""
        scopes = sorted(self.waiting.pop(variable), key=lambda scope: (-len(scope), scope))
        for scope in scopes:
            for other in scope:
                if other != variable:
                    self.waiting[other].discard(scope)
                    self._widths.pop(other, None)
        return [self._by_scope.pop(scope) for scope in scopes]


def _union(factors: Sequence[Factor]) -> set[int]:
    return {variable for factor in factors for variable in factor.variables}


def _grouped(factors: Sequence[Factor], width_max: int, bits: Callable[[Iterable[int]], float]) -> list[list[Factor]]:
    """First fit, widest first; a single factor may be wider than the limit, being a table already."""
    groups: list[tuple[set[int], list[Factor]]] = []
    for factor in factors:
        for scope, members in groups:
            if bits(scope | set(factor.variables)) <= max(width_max, bits(scope)) + 1e-9:
                scope |= set(factor.variables)
                members.append(factor)
                break
        else:
            groups.append((set(factor.variables), [factor]))
    return [members for _, members in groups]
