"""Σ_θ u(θ, r) for every response r, working out as few of the entries u(θ, r) as the utility allows.

Sums go through + and −, and past factors and divisors without θ: Σ_θ [a(r)·v(θ, r) − w(θ, r)] = a(r)·Σ_θ v − Σ_θ w. What is
left are terms. One without r is summed once, one without θ is as many times itself. |g(θ) − y(r)|, min(g(θ), y(r)) and
max(g(θ), y(r)) come from the sorted g and their prefix sums (`Empirical.beyond`). Every other term is a table of responses by
samples. The order of all additions follows from the question and the numbers of samples and responses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.names import NamedEstimands
from app.core.decisions.expressions import Expression
from app.core.decisions.sample_set import SampleSet
from app.core.language.climber import NEGATE

Array = NDArray[np.float64]

THETA, RESPONSE = 1, 2
ENTRIES_MAX = 2**14
"""Of a table at a time: what is worked on stays in a core's own cache."""
GROWTH_MAX = 1_024
"""Of a term, in widths of the utility's range: larger ones would cancel and take digits with them, so nothing is split."""


@dataclass(frozen=True, slots=True)
class TableSums:
    """`expression` was given the names and then the response."""

    expression: Expression
    names: NamedEstimands
    points: Array
    samples: SampleSet

    def total(self, lower: float, upper: float) -> Array:
        """Of the utility held to [lower, upper]."""
        if self.expression.lower < lower or self.expression.upper > upper:
            return self._table(self.expression, (lower, upper))
        on = _depends_on(self.expression)
        terms = list(self._terms(on))
        if any(self._size(*term) > GROWTH_MAX * (upper - lower) for term in terms):
            return self._table(self.expression)
        total = np.zeros(len(self.points))
        for factor, index in terms:
            total += factor * self._sum(index, on)
        return total

    def _terms(self, on: Sequence[int]) -> Iterator[tuple[Any, int]]:
        """(factor for every response, node) whose products add up to the utility."""
        factors: dict[int, Any] = {len(on) - 1: 1.0}
        while factors:
            index, factor = factors.popitem()
            node = self.expression.tree[index]
            free = [not on[argument] & THETA for argument in node.arguments]
            if on[index] != THETA | RESPONSE:
                yield factor, index
            elif node.operation in ("+", "-"):
                left, right = node.arguments
                factors |= {left: factor, right: factor if node.operation == "+" else -factor}
            elif node.operation == NEGATE:
                factors[node.arguments[0]] = -factor
            elif node.operation == "*" and any(free):
                one, other = node.arguments if free[0] else reversed(node.arguments)
                factors[other] = factor * self._at_responses(one)
            elif node.operation == "/" and free[1]:
                factors[node.arguments[0]] = factor / self._at_responses(node.arguments[1])
            else:
                yield factor, index

    def _size(self, factor: Any, index: int) -> float:
        most = abs(factor) if isinstance(factor, float) else float(np.abs(factor).max())
        return most * max(map(abs, self.expression.ranges[index]))

    def _sum(self, index: int, on: Sequence[int]) -> Any:
        if not on[index] & THETA:
            return self.samples.size * self._at_responses(index)
        if on[index] == THETA:
            return float(np.sum(self._at_samples(index)))
        compared = self._compared(index, on)
        if compared is None:
            return self._table(self.expression.part(index))
        operation, law, points = compared
        below, above = law.beyond(points)
        if operation == "abs":
            return below + above
        return law.size * points + (above if operation == "max" else -below)

    def _compared(self, index: int, on: Sequence[int]) -> tuple[str, Empirical, Array] | None:
        """(abs, min or max; the law of g; y for every response), if that is what the node is."""
        tree = self.expression.tree
        node = tree[index]
        pair = node.arguments
        if node.operation == "abs" and tree[pair[0]].operation == "-":
            pair = tree[pair[0]].arguments
        elif node.operation not in ("min", "max"):
            return None
        drawn, other = pair if on[pair[0]] & THETA else reversed(pair)
        lower, upper = self.expression.ranges[drawn]
        if on[drawn] != THETA or on[other] & THETA or not lower < upper:
            return None
        at = self._at_responses(other)
        points = at if isinstance(at, np.ndarray) else np.full(len(self.points), at)
        return node.operation, self._law(drawn), points

    def _law(self, index: int) -> Empirical:
        node = self.expression.tree[index]
        if node.operation != "parameter":
            return Empirical(self._at_samples(index), *self.expression.ranges[index])
        own = node.parameter - len(self.expression.parameters)
        return (
            self.samples.marginal(node.parameter) if own < 0 else self.names.entries[own][1].distribution(self.samples)
        )

    def _at_samples(self, index: int) -> Array:
        return self.expression.part(index).values(self.samples.columns, self.names.columns(self.samples))

    def _at_responses(self, index: int) -> Any:
        """A number, or one for every response."""
        node = self.expression.tree[index]
        if not node.arguments:
            return node.number if node.operation == "number" else self.points
        extra = [*(self.points for _ in self.names.entries), self.points]
        return self.expression.part(index).evaluate(self.samples.columns, extra, slice(0, 0))

    def _table(self, part: Expression, held: tuple[float, float] | None = None) -> Array:
        """`np.sum` adds pairwise along each row, in an order fixed by its length."""
        named = self.names.columns(self.samples)
        size, responses = self.samples.size, len(self.points)
        rows = max(1, ENTRIES_MAX // size)
        totals = np.zeros(responses)
        for top in range(0, responses, rows):
            points = self.points[top : top + rows, None]
            for start in range(0, size, ENTRIES_MAX):
                columns = slice(start, min(start + ENTRIES_MAX, size))
                extra = [*(column[columns] for column in named), points]
                values = part.evaluate(self.samples.columns, extra, columns)
                if held is not None:
                    values = np.minimum(np.maximum(values, held[0]), held[1])
                whole = np.broadcast_to(values, (len(points), columns.stop - start))
                totals[top : top + rows] += whole.sum(axis=1)
        return totals


def _depends_on(expression: Expression) -> list[int]:
    """Of every node whether it depends on the sample, the response, or both."""
    response = len(expression.parameters) + len(expression.extra) - 1
    found: list[int] = []
    for node in expression.tree:
        if node.operation == "parameter":
            found.append(RESPONSE if node.parameter == response else THETA)
        else:
            both = 0
            for argument in node.arguments:
                both |= found[argument]
            found.append(both)
    return found
