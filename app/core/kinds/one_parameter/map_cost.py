"""What one point of `map` costs: never more than a choice whose log-ratios between neighbours have range ε.

log_density   one draw of the posterior at a power, with its own curve and pure cost
probability   D_α ≤ min(ε, α·ε²/8); where few datasets are possible, every pair of the tables drawn from (`every_pair.py`), and
              with one row a person every sum of more (`map_pairs.py`), or cells of them (`map_sums.py`)
"""

from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.map_pairs import scored_supremum
from app.core.kinds.one_parameter.map_sums import scored_sums
from app.core.privacy.cost import ORDERS, ZERO_COST, Cost
from app.core.privacy.drawn_cost import drawn_cost, smaller
from app.core.privacy.kernel import kernel_ceiling
from app.core.privacy.mixed_orders import convex_envelope
from app.core.privacy.neighbours import Neighbours
from app.core.privacy.posterior_cost import WEIGHT_ERROR
from app.core.privacy.release_cost import ReleaseCost, chargeable
from app.core.privacy.visited import FLAT, every_pair, lost

Array = NDArray[np.float64]

_RELATIVE_MARGIN = 1e-9


def choice_cost(epsilon: float) -> Cost:
    """Of one choice whose log-ratio between neighbours has range at most ε (Dong, Durfee and Rogers 2020)."""
    return Cost(epsilon, tuple(min(epsilon, order * epsilon**2 / 8) for order in ORDERS))


def tempered_cost(model: Model, people: int, unit_rows: int, epsilon: float, power: float) -> ReleaseCost:
    """Of one draw at the power that ε allows."""
    draw = drawn_cost(model, people, unit_rows, power)
    kl = min(draw.kl_sup, epsilon, epsilon**2 / 8)
    once = replace(smaller(draw.cost, choice_cost(chargeable(epsilon))), losses=draw.cost.losses)
    return _release(once, kl, epsilon, draw.method, draw.grid_points)


def scored_cost(model: Model, people: int, unit_rows: int, epsilon: float, gain: float) -> ReleaseCost:
    """Of one point with weights ∝ exp(gain·probability), the gain such that log-ratios have range ε."""
    cost, method = choice_cost(chargeable(epsilon)), "certified: bounded range"
    visited = _every_sum(model, people, gain) if unit_rows == 1 else None
    if visited is None:
        visited = _visited(model, people, unit_rows, gain)
    if visited is not None:
        cost, method = smaller(visited, cost), "exact: every neighbouring pair"
    elif unit_rows == 1:
        found = _by_cells(model, people, gain, epsilon)
        if found is not None:
            cost, method = smaller(found, cost), "certified: cells of sums"
    kl = min(cost.curve[0], epsilon, epsilon**2 / 8)
    return _release(cost, kl, epsilon, method, _grid_points(model, people * unit_rows))


@lru_cache(maxsize=512)
def _every_sum(model: Model, people: int, gain: float) -> Cost | None:
    """One row a person: `map_pairs.py`, with the same error of a log-weight as `_visited`."""
    low, high = model.statistic_range
    found = scored_supremum(model.grid(people, 1.0), people, high, gain) if low == 0 else None
    return None if found is None else _with_errors(*found, gain)


@lru_cache(maxsize=512)
def _by_cells(model: Model, people: int, gain: float, epsilon: float) -> Cost | None:
    """One row a person, any number of sums: `map_sums.py`."""
    (low, high), grid = model.statistic_range, model.grid(people, 1.0)
    ceiling = kernel_ceiling(grid, (low, high), people) if low == 0 else None
    found = None if ceiling is None else scored_sums(grid, people, high, gain, ceiling, epsilon)
    if found is None:
        return None
    doubles = gain * lost(grid, Neighbours(high, people, 1)) + 2.0**-50 * (grid.size + 64)
    return _with_errors(found.pure, found.curve, gain, doubles + found.error)


@lru_cache(maxsize=512)
def _visited(model: Model, people: int, unit_rows: int, gain: float) -> Cost | None:
    """Every pair; none where they are many. A log-weight carries an error e = s·(1 + 2g), so 4e and 2e(2α−1)/(α−1) are added."""
    (low, high), grid = model.statistic_range, model.grid(people * unit_rows, 1.0)
    neighbours = Neighbours(high, people, unit_rows)
    pairs = every_pair(grid, neighbours, partial(_scored, gain=gain)) if low == 0 else None
    if pairs is None:
        return None
    powers = np.array(ORDERS) - 1
    curve = np.minimum(convex_envelope(pairs.powers(), pairs.pure) / powers, pairs.pure)
    return _with_errors(pairs.pure + FLAT, curve, gain, gain * lost(grid, neighbours) + 2.0**-50 * (grid.size + 64))


def _scored(log_q: Array, size: int, gain: float) -> Array:
    """log r, mixed: of r ∝ e^{g·q} on `size` points, of which the last column stands for all that have none of their own."""
    scores = gain * np.exp(log_q)
    scores -= scores.max(axis=1, keepdims=True)
    weights = np.exp(scores, out=scores)
    many = size - log_q.shape[1] + 1
    total = weights[:, :-1].sum(axis=1, keepdims=True) + many * weights[:, -1:]
    drawn: Array = np.log((1 - UNIFORM_SHARE) * weights / total + UNIFORM_SHARE / size)
    return drawn


def _with_errors(pure: float, curve: Array, gain: float, doubles: float = 0.0) -> Cost:
    """With the sampler's errors and as much again of doubles, and `doubles` where those may be more."""
    orders, error = np.array(ORDERS), 2 * WEIGHT_ERROR * (1 + 2 * gain) + doubles
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
