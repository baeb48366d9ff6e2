"""Exact costs of a yes/no root with yes/no children, as drawn, for more people than datasets can be listed for. Shares no formula
and no code with `app/core/kinds/networks` but the positions of the public points.

Others hold x rows at the root's one level and m − x at its other. A person's rows, a₀ + a₁ of them before and b₀ + b₁ after, move
the root's counts; in each configuration the children's counts of the others are any that add up to its rows, whatever those in
the other and those of other children. So for every x, m and (a, b) the largest sum is the sum of the largest.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Drawn = Callable[[Array, Array], Array]
"""Counts (s, f) → tables as they are drawn, a row each."""

SHARE = 2.0**-20


@dataclass(frozen=True)
class Star:
    root: Drawn
    child: Drawn
    children: int
    people: int
    unit_rows: int


def drawn_by(theta: Array, prior: tuple[float, float], temperature: float, gain: float = 0.0) -> Drawn:
    x, y = np.log(theta), np.log1p(-theta)

    def drawn(s: Array, f: Array) -> Array:
        log = (prior[0] - 0.5 + temperature * s)[:, None] * x + (prior[1] - 0.5 + temperature * f)[:, None] * y
        weights = np.exp(log - log.max(axis=1, keepdims=True))
        table = weights / weights.sum(axis=1, keepdims=True)
        if gain:
            weights = np.exp(gain * (table - table.max(axis=1, keepdims=True)))
            table = weights / weights.sum(axis=1, keepdims=True)
        return np.asarray((1 - SHARE) * table + SHARE / len(theta))

    return drawn


def between(p: Array, q: Array, orders: Sequence[float]) -> Array:
    """[KL, D_α …, D_∞], a row each."""
    gap = np.log(p) - np.log(q)
    top = np.maximum(gap.max(axis=1), 0.0)
    values = [(p * gap).sum(axis=1)]
    for order in orders:
        total = (p * np.exp((order - 1) * (gap - top[:, None]))).sum(axis=1)
        values.append(top + np.log(total) / (order - 1))
    return np.stack([*values, gap.max(axis=1)], axis=1)


def star_suprema(star: Star, orders: Sequence[float]) -> Array:
    """[KL, D_α …, D_∞], each the largest over all neighbours."""
    most = star.unit_rows * (star.people - 1)
    inside = _configuration(star, most, orders)
    held = range(star.people - 1, most + 1)
    x, m = (
        np.array(side, dtype=np.float64) for side in zip(*((x, m) for m in held for x in range(m + 1)), strict=True)
    )
    sizes = [(a, size - a) for size in range(1, star.unit_rows + 1) for a in range(size + 1)]
    tables = {at: star.root(x + at[0], m - x + at[1]) for at in sizes}
    best = np.zeros(len(orders) + 2)
    left, right = x.astype(np.int64), (m - x).astype(np.int64)
    for before, after in itertools.product(sizes, sizes):
        own = between(tables[before], tables[after], orders) if before != after else 0.0
        both = inside[before[0], after[0]][left] + inside[before[1], after[1]][right]
        best = np.maximum(best, (own + star.children * both).max(axis=0))
    return best


def _configuration(star: Star, most: int, orders: Sequence[float]) -> dict[tuple[int, int], Array]:
    """{(rows of the person before, after): [rows of the others, figure]} of one child, the largest over all their counts."""
    pairs = [(s, t - s) for t in range(most + 1) for s in range(t + 1)]
    s, f = (np.array(side, dtype=np.float64) for side in zip(*pairs, strict=True))
    totals = (s + f).astype(np.int64)
    known = {(a, b): star.child(s + a, f + b) for a in range(star.unit_rows + 1) for b in range(star.unit_rows + 1 - a)}
    found = {}
    for rows, new in itertools.product(range(star.unit_rows + 1), repeat=2):
        largest = np.zeros((most + 1, len(orders) + 2))
        for a, b in itertools.product(range(rows + 1), range(new + 1)):
            before, after = (a, rows - a), (b, new - b)
            if before != after:
                np.maximum.at(largest, totals, between(known[before], known[after], orders))
        found[rows, new] = largest
    return found
