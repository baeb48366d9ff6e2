"""One weight, the supremum over data: the integral, boxes and curves against brute force, and how near the charge is."""

import numpy as np
import pytest
from scipy.optimize import minimize

from app.core.kinds.regression.cost import regression_divergences
from app.core.kinds.regression.log_integral import log_integral
from app.core.kinds.regression.one_weight_bound import _Problem, one_weight_bounds
from app.core.privacy.cost import ORDERS
from tests.core.regression.exact_divergence import Setting, divergence_of_few, worst_of_few
from tests.deep import deep

FEW = (1.25, 2.0, 8.0, 32.0)
FAR = (1e9,) * len(FEW)


def log_integrals(laws: np.ndarray) -> np.ndarray:
    """log ∫e^{−Lt²/2+ct} on [−1, 1] by 200 panels of 10 nodes, for |L| and |c| to some 2,000."""
    x, weight = np.polynomial.legendre.leggauss(10)
    ends = np.linspace(-1, 1, 201)
    t = ((ends[:-1] + ends[1:])[:, None] / 2 + x / 200).ravel()
    logs = -laws[..., :1] * t**2 / 2 + laws[..., 1:] * t
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(logs - top) @ np.tile(weight / 200, 200)))


def test_log_integrals_are_exact_for_curvatures_of_both_signs_and_every_tilt() -> None:
    rng = np.random.default_rng(1)
    laws = rng.choice([-1.0, 1.0], (400, 2)) * 10 ** rng.uniform(-6, 2.5, (400, 2))
    exact = log_integrals(laws)
    assert np.abs(log_integral(laws) - exact).max() < 1e-11
    assert np.all(np.abs(log_integral(laws) - exact) <= 1e-12 * np.maximum(np.abs(exact), 1))


def some_statistics(rng: np.random.Generator, count: int, strength: float) -> np.ndarray:
    """(Σz², Σzy) times τ/σ² of `count` rows: alike, with targets ±1, or at random."""
    z, y = rng.uniform(-1, 1, count), rng.uniform(-1, 1, count)
    if rng.random() < 0.6:
        z, y = np.full(count, z[0] if count else 0), np.full(count, rng.choice([-1.0, 1.0]))
    if rng.random() < 0.3:
        z = np.sign(z)
    return strength * np.array([(z**2).sum(), (z * y).sum()])


@pytest.mark.parametrize(("seed", "models"), [(0, 2), deep(1, 300)])
def test_no_pair_of_neighbours_with_one_weight_is_farther_apart_than_the_bound(seed: int, models: int) -> None:
    """1 to 60 people of 1 to 3 rows: statistics of random and of equal rows, integrated, both directions."""
    rng, near = np.random.default_rng([7, seed]), 0.0
    for _ in range(models):
        people, k = int(rng.choice([1, 2, 3, 10, 60])), int(rng.integers(1, 4))
        radius = float(10 ** rng.uniform(-1.5, 1.2))
        prior, strength = (float(10 ** rng.uniform(*ends)) / radius**2 for ends in ((-3, 2), (-3, 1)))
        bounds = np.array(one_weight_bounds(FEW, FAR, k * strength, people * k * strength, prior, radius))
        scale = np.array([radius**2, radius])
        pairs = []
        for _ in range(20):
            base = np.array([prior, 0.0]) + some_statistics(rng, (people - 1) * k, strength)
            own, other = (base + some_statistics(rng, k, strength) for _ in range(2))
            pairs += [(own * scale, other * scale), (other * scale, own * scale)]
        p, q = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
        for order, bound in zip(FEW, bounds, strict=True):
            mixed = log_integrals(order * p + (1 - order) * q)
            exact = (mixed - order * log_integrals(p) + (order - 1) * log_integrals(q)) / (order - 1)
            assert exact.max() <= bound * (1 + 1e-9) + 1e-11
            near = max(near, float(exact.max() / bound))
    assert near > 0.6


@pytest.mark.parametrize(("seed", "boxes"), [(0, 60), deep(1, 4_000)])
def test_no_dataset_in_a_box_is_farther_apart_than_the_bound_of_its_box(seed: int, boxes: int) -> None:
    """Random boxes from narrow to whole; points drawn in them, those the others cannot reach left out."""
    rng, alpha, near = np.random.default_rng([11, seed]), np.array(FEW), 0.0
    taken, others, prior = (float(10 ** rng.uniform(-1, 1.2)) for _ in range(3))
    problem = _Problem(taken, others, prior, 1.3)
    low = rng.uniform(0, 1, (boxes, 4)) * (1, 1, *problem.others)
    high = low + rng.uniform(0, 1, (boxes, 1)) ** 3 * rng.uniform(0, 1, (boxes, 4)) * ((1, 1, *problem.others) - low)
    sides, kinds = np.stack([low, high], axis=2), rng.choice([-1, 0, 1], (boxes, 2))
    kinds[:, 1] = np.where(kinds[:, 1] == 0, 1, kinds[:, 1])
    problem._shrink(sides)
    wide = np.tile(np.all(sides[:, :, :1] <= sides[:, :, 1:], axis=1), (1, len(alpha)))
    upper = problem._bounds(sides, kinds, wide, alpha, np.zeros(len(alpha)))[0]
    for _ in range(8):
        share = rng.uniform(0, 1, (boxes, 4)).round(int(rng.integers(0, 3)))
        p, q, x, c = (sides[..., 0] + share * (sides[..., 1] - sides[..., 0])).T
        kept = wide[:, 0] & (c**2 <= problem.total * x)
        base = problem.prior + np.stack([x, c], axis=1)
        own = base + problem.own * np.where(
            kinds[:, :1] == 0, [(1, each) for each in p], np.stack([p**2, kinds[:, 0] * p], 1)
        )
        other = base + problem.own * np.stack([q**2, kinds[:, 1] * q], axis=1)
        for place, order in enumerate(FEW):
            mixed = log_integrals((order * own + (1 - order) * other)[kept])
            exact = (mixed - order * log_integrals(own[kept]) + (order - 1) * log_integrals(other[kept])) / (order - 1)
            assert np.all(exact <= upper[kept, place] * (1 + 1e-9) + 1e-11)
            near = max(near, float((exact / upper[kept, place]).max(initial=0.0)))
    assert near > 0.7


def test_curves_between_the_orders_looked_at_cover_what_each_order_alone_is_charged_for() -> None:
    """At every order of the public list, the supremum found for that order alone, less its tolerance."""
    problem = (0.4, 0.8, 0.3, 2.0)
    curve = one_weight_bounds(ORDERS, (1e9,) * len(ORDERS), *problem)
    for place in range(0, 24, 3):
        alone = one_weight_bounds((ORDERS[place],), (1e9,), *problem)[0]
        assert alone / 1.08 <= curve[place] <= 1.2 * alone


@pytest.mark.parametrize(
    ("strength", "prior", "radius", "order", "people"),
    [(0.218, 0.023, 10.6, 1.25, 1), (0.034, 0.068, 2.5, 64.0, 2), (8.96, 0.638, 1.68, 8.0, 2)],
)
def test_one_weight_of_few_people_is_charged_within_a_tenth_of_the_worst_dataset_found(
    strength: float, prior: float, radius: float, order: float, people: int
) -> None:
    exact, _ = worst_of_few(Setting(1, strength, prior, radius), order, people, 2)
    assert 1 <= regression_divergences((order,), strength, people, 1, prior, radius, 1)[0] / exact <= 1.1


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(60))
def test_a_search_finds_no_model_of_one_weight_and_few_people_charged_more_than_a_tenth_above(seed: int) -> None:
    rng = np.random.default_rng([61, seed])
    strength, prior, radius = (float(10 ** rng.uniform(*ends)) for ends in ((-2, 2), (-2, 2), (-1, 1.15)))
    order, people = float(rng.choice([1.25, 2, 4, 16, 64])), int(rng.choice([1, 2, 3, 5, 10]))
    setting = Setting(1, strength, prior, radius)
    exact, _ = worst_of_few(setting, order, people, 3)

    def lost(free: np.ndarray) -> float:
        """With the other rows alike, which all rows free hardly find among ten."""
        return -divergence_of_few(setting, order, np.concatenate([free[:6], np.tile(free[6:], people - 1)]))

    starts = rng.uniform(-1.6, 1.6, (12, 9))
    exact = max(exact, *(-float(minimize(lost, start, method="Nelder-Mead").fun) for start in starts))
    ratio = regression_divergences((order,), strength, people, 1, prior, radius, 1)[0] / exact
    assert 1 - 1e-6 <= ratio <= 1.12
