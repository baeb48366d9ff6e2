"""p(θ | noisy numbers) of two binary nodes, first → second, by summing over every table of joint counts. No code under test.

A table (n00, n01, n10, n11) has, under uniform priors, the probability Π over the three blocks of ∫ θ^s(1−θ)^f dθ times the
number of ways to order its rows.
"""

import itertools
import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln
from scipy.stats import beta

Array = NDArray[np.float64]


def joint_tables(rows: int) -> Iterable[tuple[int, int, int, int]]:
    for a, b, c in itertools.product(range(rows + 1), repeat=3):
        if a + b + c <= rows:
            yield a, b, c, rows - a - b - c


def cells_of(table: tuple[int, int, int, int]) -> Array:
    """By (node, configuration, level)."""
    a, b, c, d = table
    return np.array([a + b, c + d, a, b, c, d], dtype=np.float64)


def enumerated(row_numbers: Iterable[int], log_noise: Callable[[Array], float], edge: float) -> tuple[Array, Array]:
    """For P(first = 0), P(second = 0 | 0) and P(second = 0 | 1): means, and probabilities of being below `edge`.

    `row_numbers` are equally probable; `log_noise` gives log p(R | cells) up to a constant.
    """
    weights, means, below = [], [], []
    for rows in row_numbers:
        for table in joint_tables(rows):
            cells = cells_of(table)
            pairs = cells.reshape(3, 2)
            orders = gammaln(rows + 1) - gammaln(np.array(table) + 1).sum()
            weights.append(orders + betaln(pairs[:, 0] + 1, pairs[:, 1] + 1).sum() + log_noise(cells))
            means.append((pairs[:, 0] + 1) / (pairs.sum(axis=1) + 2))
            below.append(beta.cdf(edge, pairs[:, 0] + 1, pairs[:, 1] + 1))
    weight = np.exp(np.array(weights) - max(weights))
    weight /= math.fsum(weight)
    return weight @ np.array(means), weight @ np.array(below)
