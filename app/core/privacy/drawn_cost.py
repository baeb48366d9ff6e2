"""What one draw from the table really drawn costs: every pair of neighbours where there are few, certified bounds elsewhere.

`posterior_cost.py` has those bounds. They also say how far a score can change, and so what `map` draws from: they stay as they
are for that, and this is only what is charged: the smaller of the two at every order. A visited figure may be 5·10⁻⁴ above
what is owed (`every_pair.py`), and nobody's old charge should look too low because of that.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from app.core.grids.public_grid import ExponentialModel, directions
from app.core.privacy.cost import ORDERS, Cost
from app.core.privacy.kernel import kernel_ceiling
from app.core.privacy.losses.drawn import DrawnLosses
from app.core.privacy.mixed_orders import convex_envelope
from app.core.privacy.neighbours import Neighbours
from app.core.privacy.posterior_cost import WEIGHT_ERROR, grid_rounding, posterior_draw_cost, with_slack
from app.core.privacy.sums.drawn_sums import drawn_sums
from app.core.privacy.units.drawn_cells import drawn_cells
from app.core.privacy.visited import FLAT, every_pair, lost

_RELATIVE_MARGIN = 1e-9


@dataclass(frozen=True, slots=True)
class DrawnCost:
    """One draw: its cost, a bound of KL between neighbours, how both were found, the points of its grid."""

    cost: Cost
    kl_sup: float
    method: str
    grid_points: int


@lru_cache(maxsize=512)
def drawn_cost(model: ExponentialModel, people: int, unit_rows: int, temperature: float) -> DrawnCost:
    """Cached by the public numbers it is a function of: model, people, rows a person, temperature."""
    found = _charged(model, people, unit_rows, temperature)
    losses = DrawnLosses(model, people, unit_rows, temperature)
    return replace(found, cost=replace(found.cost, losses=losses))


def _charged(model: ExponentialModel, people: int, unit_rows: int, temperature: float) -> DrawnCost:
    visited = _visited(model, people, unit_rows, temperature)
    draw = posterior_draw_cost(model, people, unit_rows, temperature)
    if visited is None:
        cost = draw.drawn
        if unit_rows == 1:
            cost = _by_sums(model, people, temperature, cost)
        else:
            cost = _by_cells(model, people, unit_rows, temperature, cost)
        return DrawnCost(cost, draw.kl_sup, draw.method, draw.grid_points)
    cost = smaller(visited.cost, draw.drawn)
    return DrawnCost(cost, min(visited.kl_sup, draw.kl_sup), visited.method, visited.grid_points)


def _by_sums(model: ExponentialModel, people: int, temperature: float, known: Cost) -> Cost:
    """One row a person: `sums/drawn_sums.py`, no worse than what is `known`."""
    (low, high), grid = model.statistic_range, model.grid(people, temperature)
    ceiling = kernel_ceiling(grid, (low, high), people) if low == 0 else None
    if ceiling is None:
        return known
    orders, error = np.array(ORDERS), lost(grid, Neighbours(high, people, 1))
    found = drawn_sums(grid, people, high, ceiling, (orders - 1) * np.array(known.curve), known.pure)
    pure = (found.pure + error) * (1 + _RELATIVE_MARGIN) + grid_rounding(grid, [(high, 0)])
    curve = (found.powers * (1 + _RELATIVE_MARGIN) + 2 * orders * error) / (orders - 1)
    return smaller(with_slack(pure, curve), known)


def _by_cells(model: ExponentialModel, people: int, unit_rows: int, temperature: float, known: Cost) -> Cost:
    """Several rows a person: `units/drawn_cells.py`, no worse than what is `known`."""
    (low, high), grid = model.statistic_range, model.grid(people * unit_rows, temperature)
    if low != 0:
        return known
    orders, error = np.array(ORDERS), lost(grid, Neighbours(high, people, unit_rows))
    found = drawn_cells(grid, high, people, unit_rows, (orders - 1) * np.array(known.curve), known.pure)
    pure = (found.pure + error) * (1 + _RELATIVE_MARGIN) + grid_rounding(grid, directions((low, high), unit_rows))
    curve = (found.powers * (1 + _RELATIVE_MARGIN) + 2 * orders * error) / (orders - 1)
    return smaller(with_slack(pure, curve), known)


def smaller(first: Cost, second: Cost) -> Cost:
    """Two bounds of one law: the smaller at every order."""
    curve = tuple(min(pair) for pair in zip(first.curve, second.curve, strict=True))
    return Cost(min(first.pure, second.pure), curve)


def _visited(model: ExponentialModel, people: int, unit_rows: int, temperature: float) -> DrawnCost | None:
    """None where pairs are many."""
    (low, high), grid = model.statistic_range, model.grid(people * unit_rows, temperature)
    neighbours = Neighbours(high, people, unit_rows)
    pairs = every_pair(grid, neighbours) if low == 0 else None
    if pairs is None:
        return None
    orders, error = np.array(ORDERS), lost(grid, neighbours)
    changes = directions(model.statistic_range, unit_rows)
    rounding = grid_rounding(grid, changes)
    span = max(float(np.ptp(grid.change(change))) for change in changes) * (1 + _RELATIVE_MARGIN) + rounding
    pure = min(span, (pairs.pure + error + FLAT) * (1 + _RELATIVE_MARGIN) + rounding)
    powers = pairs.powers() * (1 + _RELATIVE_MARGIN) + 2 * orders * error
    curve = convex_envelope(powers, pure) / (orders - 1) * (1 + _RELATIVE_MARGIN)
    curve = np.minimum(np.minimum(curve, pure), orders * span**2 / 8)
    kl = min((pairs.kl() + 2 * error) * (1 + _RELATIVE_MARGIN), float(curve[0])) + 4 * WEIGHT_ERROR
    return DrawnCost(with_slack(pure, curve), kl, "exact: every neighbouring pair", grid.size)
