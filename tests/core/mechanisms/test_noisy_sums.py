"""`laplace` and `gaussian` with several rows a person: what is charged, against every change one person can make."""

import math
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.kinds.one_parameter.mechanisms import Gaussian, Laplace
from app.core.kinds.one_parameter.mechanisms.laplace import rows_cost
from app.core.kinds.one_parameter.mechanisms.noisy_sum import measured_values
from app.core.privacy import ORDERS
from app.core.privacy.gaussian import SCALE_MIN
from app.core.statistics.sums import ExactStatistic
from tests.core.families.family_cases import build
from tests.deep import deep

Array = NDArray[np.float64]

PEOPLE = 4
TRIED = [i for i, order in enumerate(ORDERS) if order <= 64][::4]


def changes(steps: int, unit_rows: int) -> set[tuple[int, int]]:
    """(Σ(2T − h), rows) after minus before, over every two sets of rows of one person."""
    had = [(2 * t - steps * m, m) for m in range(1, unit_rows + 1) for t in range(m * steps + 1)]
    return {(new[0] - old[0], new[1] - old[1]) for old, new in product(had, had)}


def divergence(order: float, shift: int, log_law: Array, middle: int) -> float:
    """D_α of a law on whole numbers from itself moved by `shift`, term by term; `middle` is the place of zero."""
    moved = np.roll(log_law, shift)
    kept = slice(abs(shift), len(log_law) - abs(shift))
    return float(np.logaddexp.reduce(order * log_law[kept] + (1 - order) * moved[kept])) / (order - 1)


def normalised(log_law: Array) -> Array:
    return np.asarray(log_law - np.logaddexp.reduce(log_law))


@pytest.mark.parametrize(
    ("family", "unit_rows"), [("bernoulli", 1), ("bernoulli", 2), ("poisson", 2), ("bernoulli", 3)]
)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_no_change_of_one_person_costs_more_than_is_charged(family: str, unit_rows: int, kind: str) -> None:
    model = build(family)
    steps = model.statistic.steps
    if kind == "laplace":
        laplace = Laplace(1, 1.3)
        charged, scales, factors = (
            laplace.cost(model, PEOPLE, unit_rows).total,
            laplace.scales(model, unit_rows),
            (1, 1),
        )
    else:
        gaussian = Gaussian(1, 1.3, 1e-4)
        charged = gaussian.cost(model, PEOPLE, unit_rows).total
        scales, factors = gaussian.scales(model, unit_rows)
    moves = changes(steps, unit_rows) if unit_rows > 1 else {(d, 0) for d in range(-steps, steps + 1)}
    for i in TRIED:
        order = ORDERS[i]
        owed: dict[tuple[int, int], float] = {}
        for coordinate, (scale, factor) in enumerate(zip(scales, factors, strict=False)):
            farthest = max(abs(move[coordinate]) for move in moves) * factor
            reach = int(60 * scale + (2 * order + 2) * farthest)
            z = np.arange(-reach, reach + 1) / scale
            law = normalised(-np.abs(z) if kind == "laplace" else -(z**2) / 2)
            for shift in {abs(move[coordinate]) for move in moves} - {0}:
                owed[coordinate, shift] = divergence(order, shift * factor, law, reach)
        most = max(sum(owed.get((c, abs(shift)), 0.0) for c, shift in enumerate(move)) for move in moves)
        assert most <= charged.curve[i] * (1 + 1e-9)
        assert charged.curve[i] <= most * (2.5 if unit_rows > 1 else 1.001)
    if kind == "laplace":
        pure = max(sum(abs(shift) / scale for shift, scale in zip(move, scales, strict=False)) for move in moves)
        assert pure <= charged.pure <= 1.3


def test_rows_of_many_are_bounded_group_by_group_from_above() -> None:
    """With more differences than are looked at one by one the curve lies above each of them."""
    scales = (400.0, 400.0)
    bounded, single = rows_cost(1, 200, scales), rows_cost(1, 50, scales)
    assert all(many > few for many, few in zip(bounded.curve, single.curve, strict=True))
    from app.core.noise.discrete_laplace import discrete_laplace_cost

    for difference in (1, 7, 64, 150, 199):
        exact = discrete_laplace_cost(400 - difference, 400.0).plus(discrete_laplace_cost(difference, 400.0))
        assert all(most >= one for most, one in zip(bounded.curve, exact.curve, strict=True))


@pytest.mark.parametrize("unit_rows", [1, 3])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_gaussian_noise_is_wide_enough_for_its_own_law(unit_rows: int, epsilon: float) -> None:
    for family in ("bernoulli", "poisson", "exponential"):
        model = build(family)
        mechanism = Gaussian(1, epsilon, 1e-6)
        cost = mechanism.cost(model, 100, unit_rows)
        scales, factors = mechanism.scales(model, unit_rows)
        assert min(scales) >= SCALE_MIN
        assert cost.gaussian
        sd = scales[0] / factors[0]
        moved = model.statistic.steps * (1 if unit_rows == 1 else 2 * unit_rows)
        assert moved**2 / (2 * sd**2) == pytest.approx(cost.kl_sup, rel=1e-9)
        assert moved**2 / (2 * sd**2) <= cost.kl_sup


def test_what_is_measured_is_whole_and_held_to_what_the_charge_covers() -> None:
    model = build("poisson")
    steps = model.statistic.steps
    for total, rows in ((0, 10), (10**9, 10), (-5, 2), (33, 10**6)):
        centred, count = measured_values(model, 10, 3, ExactStatistic(total, rows), (4, 8)).tolist()
        assert 10 <= count / 8 <= 30
        assert abs(centred / 4) <= steps * count / 8
    assert math.isclose(Gaussian(5, 0.5, 1e-6).cost(model, 10, 3).total.epsilon(1e-6), 0.5, rel_tol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("family", ["exponential", *map(deep, ["bernoulli", "poisson", "normal_mean"])])
def test_samples_are_drawn_whatever_was_measured(family: str, kind: str) -> None:
    """They are paid for by then: few people, noise far beyond every sum, and a public range far from what was measured."""
    model = build(family)
    source = np.random.Generator(np.random.PCG64(1))
    mechanism = Laplace(20, 1.0) if kind == "laplace" else Gaussian(20, 1.0, 1e-6)
    for people, unit_rows, far in product((3, 200), (1, 3), (-(10**12), 0, 10**12)):
        measured = np.array([far, far // 2 + people][: 1 if unit_rows == 1 else 2])
        samples = mechanism.infer(model, people, unit_rows, measured, source.bytes)
        assert samples.shape == (20, 1)
        assert model.parameter.lower <= samples.min() <= samples.max() <= model.parameter.upper
