"""The exact loss over every mechanism of given ε, by a dense linear program of the tests' own, and random laws."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]


def exact_loss(table: Array, epsilons: Sequence[float], secret: Sequence[int]) -> float:
    """max over values z, z' of the secret of Σ_S ε + ln max Σ μ(y|z)f(y) / Σ μ(y|z')f(y), f changing by e^{ε_j} with person j."""
    others = [each for each in range(table.ndim) if each not in secret]
    points = list(itertools.product(*(range(table.shape[each]) for each in others)))
    constraints = []
    for y in points:
        for at, person in enumerate(others):
            for value in range(table.shape[person]):
                if value != y[at]:
                    row = np.zeros(len(points))
                    row[points.index(y)] = 1.0
                    row[points.index((*y[:at], value, *y[at + 1 :]))] = -math.exp(epsilons[person])
                    constraints.append(row)
    laws = []
    for z in itertools.product(*(range(table.shape[each]) for each in secret)):
        where: list[int | slice] = [slice(None)] * table.ndim
        for each, value in zip(secret, z, strict=True):
            where[each] = value
        part = np.asarray(table[tuple(where)]).ravel()
        laws.append(part / part.sum())
    worst = 0.0
    for first, second in itertools.permutations(laws, 2):
        bounds = [(0, None)] * len(points)
        a_ub, b_ub = (np.array(constraints), np.zeros(len(constraints))) if constraints else (None, None)
        found = linprog(-first, A_ub=a_ub, b_ub=b_ub, A_eq=second[None], b_eq=[1.0], bounds=bounds)
        assert found.success
        worst = max(worst, math.log(-found.fun))
    return sum(epsilons[each] for each in secret) + worst


def ising_table(fields: Sequence[float], edges: Sequence[tuple[int, int, float]]) -> Array:
    table = np.zeros((2,) * len(fields))
    for x in itertools.product((0, 1), repeat=len(fields)):
        s = [1 - 2 * each for each in x]
        table[x] = math.exp(
            sum(j * s[a] * s[b] for a, b, j in edges) + sum(h * each for h, each in zip(fields, s, strict=True))
        )
    return table / table.sum()


def random_law(generator: np.random.Generator, levels: Sequence[int], spread: float) -> Array:
    table = np.exp(spread * generator.standard_normal(tuple(levels)))
    return np.asarray(table / table.sum())
