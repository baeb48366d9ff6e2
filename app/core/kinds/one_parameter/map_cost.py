"""What one point of `map` costs: never more than a choice whose log-ratios between neighbours have range ε.

log_density   one draw of the posterior at a power, with its own curve and pure cost
probability   D_α ≤ min(ε, α·ε²/8); where few datasets are possible, every pair of the tables drawn from (`map_pairs.py`)
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.map_pairs import scored_supremum
from app.core.privacy.cost import ORDERS, ZERO_COST, Cost
from app.core.privacy.enumeration import all_pair_count, enumerate_laws
from app.core.privacy.mixed_pairs import log_drawn
from app.core.privacy.posterior_cost import ENUMERATION_RECORDS_MAX, WEIGHT_ERROR, posterior_draw_cost
from app.core.privacy.release_cost import ReleaseCost, chargeable

Array = NDArray[np.float64]

VISITS_MAX = 8_000_000
"""Pairs times points times orders."""
_RELATIVE_MARGIN = 1e-9


def choice_cost(epsilon: float) -> Cost:
    """Of one choice whose log-ratio between neighbours has range at most ε (Dong, Durfee and Rogers 2020)."""
    return Cost(epsilon, tuple(min(epsilon, order * epsilon**2 / 8) for order in ORDERS))


def tempered_cost(model: Model, people: int, unit_rows: int, epsilon: float, power: float) -> ReleaseCost:
    """Of one draw at the power that ε allows."""
    draw = posterior_draw_cost(model, people, unit_rows, power)
    kl = min(draw.kl_sup, epsilon, epsilon**2 / 8)
    return _release(smaller(draw.drawn, choice_cost(chargeable(epsilon))), kl, epsilon, draw.method, draw.grid_points)


def scored_cost(model: Model, people: int, unit_rows: int, epsilon: float, gain: float) -> ReleaseCost:
    """Of one point with weights ∝ exp(gain·probability), the gain such that log-ratios have range ε."""
    cost, method = choice_cost(chargeable(epsilon)), "certified: bounded range"
    visited = _every_sum(model, people, gain) if unit_rows == 1 else _visited(model, people, unit_rows, gain)
    if visited is not None:
        cost, method = smaller(visited, cost), "exact: every neighbouring pair"
    kl = min(cost.curve[0], epsilon, epsilon**2 / 8)
    return _release(cost, kl, epsilon, method, _grid_points(model, people * unit_rows))


def smaller(first: Cost, second: Cost) -> Cost:
    """Two bounds of one law: the smaller at every order."""
    curve = tuple(min(pair) for pair in zip(first.curve, second.curve, strict=True))
    return Cost(min(first.pure, second.pure), curve)


@lru_cache(maxsize=512)
def _every_sum(model: Model, people: int, gain: float) -> Cost | None:
    """One row a person: `map_pairs.py`, with the same error of a log-weight as `_visited`."""
    low, high = model.statistic_range
    found = scored_supremum(model.grid(people, 1.0), people, high, gain) if low == 0 else None
    return None if found is None else _with_errors(*found, gain)


@lru_cache(maxsize=512)
def _visited(model: Model, people: int, unit_rows: int, gain: float) -> Cost | None:
    """Every pair; none where they are many. A log-weight carries an error e = s·(1 + 2g), so 4e and 2e(2α−1)/(α−1) are added."""
    grid = model.grid(people * unit_rows, 1.0)
    pairs = all_pair_count(model.statistic_range, people, unit_rows)
    records = (model.statistic_range[1] + 1) * unit_rows * (unit_rows + 1) // 2
    if pairs * grid.size * len(ORDERS) > VISITS_MAX or records > ENUMERATION_RECORDS_MAX:
        return None

    def law(log_p: Array) -> Array:
        weights = gain * np.exp(log_drawn(log_p, grid.size))
        weights -= weights.max(axis=1, keepdims=True)
        return log_drawn(weights - np.log(np.exp(weights).sum(axis=1, keepdims=True)), grid.size)

    pure, curve = enumerate_laws(grid, model.statistic_range, people, unit_rows, np.array(ORDERS), law)
    return _with_errors(pure, curve, gain)


def _with_errors(pure: float, curve: Array, gain: float) -> Cost:
    orders, error = np.array(ORDERS), 2 * WEIGHT_ERROR * (1 + 2 * gain)  # of the sampler, and as much again of doubles
    curve = curve * (1 + _RELATIVE_MARGIN) + 2 * error * (2 * orders - 1) / (orders - 1)
    return Cost(pure * (1 + _RELATIVE_MARGIN) + 4 * error, tuple(curve.tolist()))


def _release(once: Cost, kl: float, epsilon: float, method: str, grid_points: int) -> ReleaseCost:
    return ReleaseCost(
        per_sample=ZERO_COST,
        once=once,
        samples=1,
        kl_sup=kl,
        papers_pure=epsilon,
        method=method,
        grid_points=grid_points,
    )


@lru_cache(maxsize=256)
def _grid_points(model: Model, rows_max: int) -> int:
    return model.grid(rows_max, 1.0).size
