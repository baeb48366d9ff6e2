"""How far out few people can put a coordinate, the bound that follows, and how near a charge is: all by brute force."""

import math

import numpy as np
import pytest

from app.core.kinds.regression.cost import regression_divergences
from app.core.kinds.regression.outward_bound import _Laws, outward_bounds
from tests.core.regression.exact_divergence import (
    Row,
    Setting,
    ball_points,
    divergence_of_few,
    divergences_at,
    log_posterior,
)
from tests.deep import deep

ORDERS = (1.1, 1.25, 2.0, 8.0, 64.0)
FAR = (1e9,) * len(ORDERS)
X, WEIGHT = np.polynomial.legendre.leggauss(60)


def some_rows(rng: np.random.Generator, dimension: int, count: int) -> list[Row]:
    """All of one direction, or all at random; targets mostly the largest."""
    first, rows = rng.normal(size=dimension), []
    alike = rng.random() < 0.4
    for _ in range(count):
        z = first if alike else rng.normal(size=dimension)
        y = float(rng.choice([-1.0, 1.0])) if rng.random() < 0.8 else float(rng.uniform(-1, 1))
        rows.append((z / np.linalg.norm(z) * float(rng.random() ** rng.choice([0.0, 1.0])), y))
    return rows


def log_densities(setting: Setting, rows: list[Row], t: np.ndarray) -> np.ndarray:
    """log f of the first coordinate in the plane: an integral over each chord."""
    half = np.sqrt(setting.radius**2 - t**2)
    points = np.stack([np.repeat(t[:, None], len(X), axis=1), half[:, None] * X], axis=-1)
    logs = log_posterior(points.reshape(-1, 2), np.zeros(points[..., 0].size), setting, rows).reshape(len(t), -1)
    top = logs.max(axis=1)
    return np.asarray(top + np.log(np.exp(logs - top[:, None]) @ WEIGHT) + np.log(half))


@pytest.mark.parametrize("rounds", [30, deep(3_000)])
def test_no_rows_put_a_coordinate_farther_out_than_the_power_of_their_number(rounds: int) -> None:
    """f(t)·|t|^{−T/4}·e^{λt²/2} falls on either side of 0; it nearly stays where all rows would have half their target."""
    rng, nearest = np.random.default_rng(3), -math.inf
    for _ in range(rounds):
        radius, count = float(10 ** rng.uniform(-0.5, 0.8)), int(rng.integers(1, 6))
        strength, prior = (min(float(10 ** rng.uniform(-2, 1.5)), 100 / radius**2) for _ in range(2))
        setting, t = Setting(2, strength, prior, radius), radius * np.linspace(0.02, 0.97, 120)
        rows = some_rows(rng, 2, count)
        for side in (1, -1):
            logs = log_densities(setting, rows, side * t) - count * strength / 4 * np.log(t) + prior * t**2 / 2
            assert np.diff(logs).max() <= 1e-9
            nearest = max(nearest, float((np.diff(logs) / np.diff(np.log(t))).max() / (count * strength)))
    assert nearest > -0.1


def test_no_rows_put_the_weights_farther_out_than_their_number_and_the_dimension() -> None:
    rng, angles = np.random.default_rng(5), np.arange(240) * math.pi / 120
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for _ in range(40):
        radius, count = float(10 ** rng.uniform(-0.5, 0.8)), int(rng.integers(1, 6))
        strength, prior = (min(float(10 ** rng.uniform(-2, 1.5)), 60 / radius**2) for _ in range(2))
        rows, r = some_rows(rng, 2, count), radius * np.linspace(0.02, 0.99, 60)
        points = (r[:, None, None] * ring).reshape(-1, 2)
        logs = log_posterior(points, np.zeros(len(points)), Setting(2, strength, prior, radius), rows)
        logs = logs.reshape(len(r), -1)
        top = logs.max(axis=1)
        found = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
        assert np.diff(found - count * strength / 4 * np.log(r) + prior * r**2 / 2).max() <= 1e-9


R_NODES = (np.arange(6_000) + 0.5) / 6_000


def restricted(losses: np.ndarray, density: np.ndarray, ends: np.ndarray, h: float) -> np.ndarray:
    """E e^{hφ} under the law on [0, r] for every r, φ of each law its own row."""
    inside = np.maximum(ends, 0.01)[:, None] >= R_NODES
    weights = density * inside
    return np.asarray((np.exp(h * losses) * weights).sum(axis=1) / weights.sum(axis=1))


@pytest.mark.parametrize("rounds", [6, deep(200)])
def test_no_law_that_falls_beside_the_power_exceeds_either_bracket(rounds: int) -> None:
    """Mixtures of up to three of the laws on [0, r] and [−r, 0], integrated on a grid of its own."""
    rng, near = np.random.default_rng(9), [0.0, 0.0]
    for _ in range(rounds):
        radius, prior = float(10 ** rng.uniform(-0.5, 0.7)), float(10 ** rng.uniform(-2, 0.5))
        strength, power = float(10 ** rng.uniform(-1.5, 0.5)), float(10 ** rng.uniform(-2, 1))
        m, k, i = (float(each) for each in (10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-0.5, 1), rng.uniform(1.1, 3)))
        j = i / (i - 1)
        laws = _Laws.at(strength, power, prior, radius, 1_000)
        density = R_NODES**power * np.exp(-prior * (radius * R_NODES) ** 2 / 2)
        bounds = laws.coming(m, j, 48), laws.leaving(k, i, 48)
        for turn in range(12):
            share, sides = rng.dirichlet(np.full(3, 0.7)), rng.choice([-1.0, 1.0], 3)
            ends = np.where(rng.random(3) < 0.4, 1.0, rng.random(3) ** 2)
            if turn == 0:
                share, sides, ends = np.array([0.5, 0.5, 0.0]), np.array([1.0, -1.0, 1.0]), np.ones(3)
            losses = strength * (1 + sides[:, None] * radius * R_NODES) ** 2 / 2
            powers = (m, -j, -(k + 1), i - 1, -1)
            logs = [math.log(float(share @ restricted(losses, density, ends, h))) for h in powers]
            leaving = logs[2] / k + logs[3] / i - (1 / k + 1 / i) * logs[4]
            for place, (value, bound) in enumerate(zip((logs[0] / m + logs[1] / j, leaving), bounds, strict=True)):
                assert value <= bound + 1e-6
                near[place] = max(near[place], value / bound)
    assert min(near) > 0.9


@pytest.mark.parametrize(("dimension", "seeds"), [(2, range(5)), deep(2, range(5, 200)), deep(3, range(30))])
def test_no_neighbours_are_farther_apart_than_few_people_can_put_them(dimension: int, seeds: range) -> None:
    """1 to 6 people of one row, or of two; narrow and wide balls; a short row, an opposite one, and any; both directions."""
    near = 0.0
    for seed in seeds:
        rng = np.random.default_rng([23, dimension, seed])
        people, k = int(rng.integers(1, 7)), int(rng.choice([1, 1, 2]))
        radius = float(10 ** rng.uniform(-0.7, 0.9))
        prior = min(float(10 ** rng.uniform(-2, 1)), 100 / radius**2)
        strength = min(float(10 ** rng.uniform(-1.5, 1.5)), 120 / radius**2 / people / k)
        setting, bare = (Setting(dimension, strength, each, radius) for each in (prior, 0.0))
        total = people * k * strength
        bounds = np.array(outward_bounds(ORDERS, FAR, k * strength, total, prior, radius, dimension, k > 1))
        points, logs = ball_points(radius, dimension)
        for turn in range(6):
            base = log_posterior(points, logs, setting, some_rows(rng, dimension, (people - 1) * k))
            own = some_rows(rng, dimension, k)
            other = [[(-z, y) for z, y in own], [(0.05 * z, y) for z, y in own], some_rows(rng, dimension, k)][turn % 3]
            p, q = (log_posterior(points, base, bare, each) for each in (own, other))
            for pair in ((p, q), (q, p)):
                near = max(near, float((divergences_at(*pair, ORDERS) / bounds).max()))
    assert 0.4 < near <= 1


# (s = τ/σ², λ, R, order, people), at most how far the charge is above, and the worst rows that a search found (`few_rows`).
Case = tuple[float, float, float, float, int]
WORST: dict[Case, tuple[float, list[float]]] = {
    (0.81, 0.036, 7.8, 1.25, 3): (1.3, [3.324, 1.571, -1.571, 1.629, 1.571, -1.571, *[2.935, 0.457, 1.571] * 2]),
    (1.9, 0.12, 3.0, 4.0, 2): (1.3, [3.976, 1.571, -1.559, 5.228, 1.571, 1.571, 3.761, 0.767, 1.571]),
    (1.0, 1.0, 2**0.5, 8.0, 2): (1.5, [5.529, 1.571, -1.571, 1.672, 1.571, -1.571, 2.616, 1.571, -1.571]),
    (0.113, 0.0799, 3.99, 4.0, 2): (2.1, [2.837, 1.571, 1.571, 1.624, 1.566, -1.571, 3.578, 1.514, -1.571]),
    (0.188, 0.0154, 6.58, 1.25, 5): (2.2, [2.749, 1.571, -1.406, 4.568, 1.571, -1.423, *[3.505, 0.397, 1.571] * 4]),
}
"""The limit is 1.5; what is above it is a known miss, written down in docs/privacy.md."""


@pytest.mark.parametrize("case", WORST, ids=str)
def test_charges_of_two_weights_are_as_near_the_worst_dataset_found_as_written_down(case: Case) -> None:
    (strength, prior, radius, order, people), (most, free) = case, WORST[case]
    exact = divergence_of_few(Setting(2, strength, prior, radius), order, np.array(free))
    assert 1 <= regression_divergences((order,), strength, people, 1, prior, radius, 2)[0] / exact <= most
