"""Small releases with every output and every dataset written down, and divergences between what comes out of them."""

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.cost import ORDERS, Cost

Array = NDArray[np.float64]

_ORDERS = np.array(ORDERS)
PEOPLE, OUTPUTS = 4, 6


class Enumerated:
    """Of a release of yes/no people: `table[x]` is the law of what comes out for the dataset x."""

    people = PEOPLE

    def __init__(self, table: Array) -> None:
        self.table = table
        self.known: dict[int, Cost] = {}

    def group(self, count: int) -> Cost:
        if count not in self.known:
            self.known[count] = self._group(count)
        return self.known[count]

    def _group(self, count: int) -> Cost:
        curve = self._largest(count, divergence)
        pure = float(self._largest(count, lambda p, q: np.array([np.log(p / q).max()]))[0])
        return Cost(pure * (1 + 1e-12), tuple(np.minimum(curve, pure).tolist()))

    def kl(self, count: int) -> float:
        return float(self._largest(count, lambda p, q: np.array([(p * np.log(p / q)).sum()]))[0])

    def _largest(self, count: int, of: Callable[[Array, Array], Array]) -> Array:
        every = list(itertools.product((0, 1), repeat=PEOPLE))
        pairs = (
            (x, y)
            for x, y in itertools.permutations(every, 2)
            if sum(a != b for a, b in zip(x, y, strict=True)) <= count
        )
        return np.max([of(self.table[x], self.table[y]) for x, y in pairs], axis=0)


def divergence(p: Array, q: Array) -> Array:
    whole = _ORDERS[:, None] * np.log(p) - (_ORDERS[:, None] - 1) * np.log(q)
    return np.asarray(np.maximum(np.logaddexp.reduce(whole, axis=1), 0.0) / (_ORDERS - 1))


def releases(generator: np.random.Generator, spread: float) -> Enumerated:
    """Outputs lean on how many people have the value 1, with something of each dataset's own."""
    x = np.indices((2,) * PEOPLE).sum(axis=0)[..., None] / PEOPLE
    logs = spread * (
        x * generator.standard_normal(OUTPUTS) + 0.3 * generator.standard_normal((2,) * PEOPLE + (OUTPUTS,))
    )
    table = np.exp(logs)
    return Enumerated(table / table.sum(axis=-1, keepdims=True))


def given(law: Array, table: Array, member: int) -> list[Array]:
    found = []
    for value in (0, 1):
        others = np.take(law, value, axis=member)
        found.append(np.tensordot(others / others.sum(), np.take(table, value, axis=member), axes=PEOPLE - 1))
    return found
