"""The Rényi divergence of two regression posteriors on a ball, integrated; and datasets that bring it near its supremum.

A judge written apart from `needle_bound.py`: rows in, divergence out. Rows beside the replaced ones come as (count, z, y): some
pin the weights to a chord, some (short, with the largest target) tilt the posterior along it, some do nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

Row = tuple[np.ndarray, float]
Rows = Sequence[tuple[int, np.ndarray, float]]
NODES = (240, 48, 20)


@dataclass(frozen=True)
class Setting:
    """λ, R and s = τ/σ² of a model with targets of size 1."""

    dimension: int
    strength: float
    prior: float
    radius: float


def ball_nodes(setting: Setting, others: Rows) -> tuple[np.ndarray, np.ndarray]:
    """(points, log weights): Gauss–Legendre, the axes after the first only where the other rows leave mass."""
    spans = [_span(setting, others, axis) for axis in range(setting.dimension)]
    points, logs = np.zeros((1, 0)), np.zeros(1)
    for axis in range(setting.dimension):
        x, weight = np.polynomial.legendre.leggauss(NODES[axis])
        room = np.sqrt(np.maximum(setting.radius**2 - (points**2).sum(axis=1), 0))
        low, high = np.maximum(-room, spans[axis][0]), np.minimum(room, spans[axis][1])
        half = np.maximum(high - low, 1e-300) / 2
        values = (low + high)[:, None] / 2 + half[:, None] * x
        logs = (logs[:, None] + np.log(half)[:, None] + np.log(weight)).ravel()
        logs = np.where(np.repeat(high > low, len(x)), logs, -np.inf)
        points = np.concatenate([points.repeat(len(x), axis=0), values.reshape(-1, 1)], axis=1)
    return points, logs


def _span(setting: Setting, others: Rows, axis: int) -> tuple[float, float]:
    """Where rows along this axis alone leave mass, with sds to spare."""
    alone = [(count, z[axis], y) for count, z, y in others if np.count_nonzero(z) == 1 and z[axis] != 0]
    precision = setting.prior + setting.strength * sum(count * z * z for count, z, _ in alone)
    if axis == 0 or precision < 50 / setting.radius**2:
        return -setting.radius, setting.radius
    mean = setting.strength * sum(count * z * y for count, z, y in alone) / precision
    reach = 9 / math.sqrt(precision)
    return mean - reach, mean + reach


def divergences(setting: Setting, orders: Sequence[float], row: Row, other: Row, others: Rows) -> np.ndarray:
    """D_α of the posterior with `row` from that with `other` in its place."""
    points, base = ball_nodes(setting, others)
    base = base - setting.prior * (points**2).sum(axis=1) / 2
    for count, z, y in others:
        base = base - setting.strength * count * (y - points @ z) ** 2 / 2
    points, base = points[np.isfinite(base)], base[np.isfinite(base)]
    p, q = (base - setting.strength * (y - points @ z) ** 2 / 2 for z, y in (row, other))
    mass_p, mass_q = _log_sum(p), _log_sum(q)
    mixed = (_log_sum(order * p + (1 - order) * q) - order * mass_p + (order - 1) * mass_q for order in orders)
    return np.array([value / (order - 1) for value, order in zip(mixed, orders, strict=True)])


def _log_sum(values: np.ndarray) -> float:
    top = float(values.max())
    return top + math.log(float(np.exp(values - top).sum()))


def dataset(setting: Setting, free: np.ndarray, people: int) -> tuple[Row, Row, Rows]:
    """Numbers to two records and `people` − 1 other rows: half of them tilt, the rest pin what is across."""
    p, q, y, t, offset, tilt = free[:6]
    d = setting.dimension
    e, across = np.eye(d)[0], np.eye(d)[min(1, d - 1)]
    tilting = (people - 1) // 2
    length = min(1.0, abs(math.sin(tilt)) ** 3)
    others: list[tuple[int, np.ndarray, float]] = [(tilting, length * e, math.copysign(1.0, tilt))]
    if d == 1:
        return (math.sin(p) * e, math.sin(y)), (math.sin(q) * e, math.sin(t)), others
    h = setting.radius * math.sin(offset)
    pin = across / max(1.0, abs(h))
    each = (people - 1 - tilting) // (d - 1)
    others += [(each, pin, float(h * pin[1]))] + [(each, axis, 0.0) for axis in np.eye(d)[2:]]
    row, other = (math.sin(a) * e + math.cos(a) * across for a in (p, q))
    return (row, math.sin(y)), (other, math.sin(t)), others


def worst_divergence(
    setting: Setting, order: float, people: int, starts: int, seed: int = 3
) -> tuple[float, list[float]]:
    """The largest found by search over datasets of `people` rows, and the numbers of `dataset` it is found at."""
    rng, best, where = np.random.default_rng(seed), 0.0, np.zeros(6)

    def lost(free: np.ndarray) -> float:
        return -float(divergences(setting, [order], *dataset(setting, free, people))[0])

    for turn in range(starts):
        start = rng.uniform(-math.pi, math.pi, 6)
        if turn % 2 == 0:  # opposite targets on records that nearly agree
            start[:4] = [1.2, 1.3, math.pi / 2, -math.pi / 2]
            start[5] = rng.uniform(-0.3, 0.3)
        options = {"maxiter": 500, "maxfev": 500, "xatol": 1e-4, "fatol": 1e-7}
        found = minimize(lost, start, method="Nelder-Mead", options=options)
        if -float(found.fun) > best:
            best, where = -float(found.fun), found.x
    return best, [round(float(each), 4) for each in where]
