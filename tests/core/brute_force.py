"""Privacy numbers straight from the definitions, sharing no formula and no code with `app/core`.

A dataset of n people with 1 to k binary rows each is seen through (ones, rows). Its posterior on the public points θ is
∝ exp((a−½)·log θ + (b−½)·log(1−θ) + τ·(ones·log θ + (rows−ones)·log(1−θ))).
"""

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel

Array = NDArray[np.floating[Any]]
Statistic = tuple[int, int]


@dataclass(frozen=True)
class Prior:
    alpha: float
    beta: float


def public_points(model: NaturalModel, people: int, unit_rows: int, temperature: float) -> list[float]:
    """Only the positions of the grid are taken from the code under test; everything else is recomputed."""
    points: list[float] = model.grid(people * unit_rows, temperature).theta.tolist()
    return points


def people_statistics(unit_rows: int) -> list[Statistic]:
    """(ones, rows) of one person, from every sequence of 1 to k binary rows."""
    rows = itertools.chain.from_iterable(itertools.product((0, 1), repeat=r) for r in range(1, unit_rows + 1))
    return sorted({(sum(row), len(row)) for row in rows})


def all_neighbours(people: int, unit_rows: int) -> list[tuple[Statistic, Statistic]]:
    """Every ordered pair of statistics of two datasets that differ in one person, by adding people up."""
    persons = people_statistics(unit_rows)
    others = {(0, 0)}
    for _ in range(people - 1):
        others = {(t + dt, m + dm) for t, m in others for dt, dm in persons}
    pairs = {
        ((t + old[0], m + old[1]), (t + new[0], m + new[1]))
        for t, m in others
        for old, new in itertools.permutations(persons, 2)
    }
    return sorted(pairs)


def log_posteriors(points: list[float], prior: Prior, temperature: float, statistics: list[Statistic]) -> Array:
    """One row of log-probabilities per statistic, as precise as the machine's longest float."""
    theta = np.array(points, dtype=np.longdouble)
    yes, no = np.log(theta), np.log1p(-theta)
    base = (prior.alpha - 0.5) * yes + (prior.beta - 0.5) * no
    ones, rows = np.array(statistics, dtype=np.longdouble).T
    weights = base + temperature * (np.outer(ones, yes) + np.outer(rows - ones, no))
    weights -= weights.max(axis=1, keepdims=True)
    return weights - np.log(np.exp(weights).sum(axis=1, keepdims=True))


@lru_cache(maxsize=64)
def neighbours_by_place(people: int, unit_rows: int) -> tuple[list[Statistic], NDArray[np.int64], NDArray[np.int64]]:
    """The statistics of all datasets, and every ordered neighbouring pair as two places among them."""
    pairs = all_neighbours(people, unit_rows)
    statistics = sorted({statistic for pair in pairs for statistic in pair})
    place = {statistic: i for i, statistic in enumerate(statistics)}
    first, second = (np.array([place[pair[side]] for pair in pairs]) for side in (0, 1))
    return statistics, first, second


def renyi_divergences(log_p: Array, log_q: Array, order: float) -> Array:
    """D_α = log Σ p^α·q^(1−α) / (α−1), row by row."""
    return _divergences(log_p, log_p - log_q, order)


def _divergences(log_p: Array, gap: Array, order: float) -> Array:
    """From log p and log p/q. Overwrites its one large array: what brute force costs is memory passed over."""
    joint = (order - 1) * gap
    joint += log_p
    top = joint.max(axis=1)
    joint -= top[:, None]
    np.exp(joint, out=joint)
    divergences: Array = (top + np.log(joint.sum(axis=1))) / (order - 1)
    return divergences


_CHUNK_CELLS = 100_000


class Neighbourhood:
    """Posteriors of all datasets of n people and every neighbouring pair among them."""

    def __init__(
        self,
        points: list[float],
        prior: Prior,
        temperature: float,
        people: int,
        unit_rows: int,
        precise: bool = False,
    ) -> None:
        self.statistics, self.first, self.second = neighbours_by_place(people, unit_rows)
        log_p = log_posteriors(points, prior, temperature, self.statistics)
        self.log_p: Array = log_p if precise else log_p.astype(np.float64)

    def curve(self, orders: tuple[float, ...]) -> Array:
        """sup over all pairs, both directions, of D_α, for every order."""
        best = np.zeros(len(orders))
        cells = len(self.first) * self.log_p.shape[1]
        for part in np.array_split(np.arange(len(self.first)), cells // _CHUNK_CELLS + 1):
            p = self.log_p[self.first[part]]
            gap = p - self.log_p[self.second[part]]
            best = np.maximum(best, [_divergences(p, gap, order).max() for order in orders])
        return best

    def kl(self) -> float:
        p, q = self.log_p[self.first], self.log_p[self.second]
        return float((np.exp(p) * (p - q)).sum(axis=1).max())

    def largest_log_ratio(self, log_p: Array | None = None) -> float:
        table = self.log_p if log_p is None else log_p
        return float((table[self.first] - table[self.second]).max())


def precise_renyi(
    points: list[float], prior: Prior, temperature: float, x: Statistic, y: Statistic, order: float, digits: int = 60
) -> mpmath.mpf:
    """The same divergence with mpmath, from exact binary values of the points, on the points given."""
    with mpmath.workdps(digits):
        p, q = (precise_posterior(points, prior, temperature, v) for v in (x, y))
        power = mpmath.mpf(order)
        total = mpmath.fsum(a**power * b ** (1 - power) for a, b in zip(p, q, strict=True))
        return mpmath.log(total) / (power - 1)


def precise_posterior(points: list[float], prior: Prior, temperature: float, statistic: Statistic) -> list[mpmath.mpf]:
    """Probabilities at the working precision."""
    ones, rows = statistic
    power = mpmath.mpf(temperature)
    yes = power * ones + mpmath.mpf(prior.alpha) - mpmath.mpf(1) / 2
    no = power * (rows - ones) + mpmath.mpf(prior.beta) - mpmath.mpf(1) / 2
    logs = [yes * mpmath.log(point) + no * mpmath.log(1 - mpmath.mpf(point)) for point in points]
    top = max(logs)
    weights = [mpmath.exp(value - top) for value in logs]
    total = mpmath.fsum(weights)
    return [weight / total for weight in weights]


def epsilon_by_rdp(orders: tuple[float, ...], curve: Array, delta: float) -> float:
    """Canonne, Kamath and Steinke (2020), Proposition 12, written out again."""
    offsets = [math.log((a - 1) / a) - (math.log(delta) + math.log(a)) / (a - 1) for a in orders]
    return max(0.0, min(value + offset for value, offset in zip(curve, offsets, strict=True)))
