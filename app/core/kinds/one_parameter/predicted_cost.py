"""A quick estimate of what one draw costs: where to look for a value that fits a target, never what is charged.

For one row a person, D_α(P_t ‖ P_{t+d}) is an integral of ψ″ under a hat (`privacy/kernel.py`). Here ψ″ is computed at a few
hundred sums t, dense where posteriors feel an end of the range, and taken as linear between them; the integral is a sum
over a few Gauss points, its supremum the largest at those t. For several rows a person, α/2 times the largest Var(b) of a scan.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import Direction, PublicGrid, directions
from app.core.kinds.one_parameter.families import Model
from app.core.privacy import ORDERS
from app.core.privacy.cells import variances
from app.core.privacy.curvature import CELL_SDS, CELLS_MANY
from app.core.privacy.mixed_slope import TOLERANCE
from app.core.privacy.posterior_cost import capped_curve
from app.core.privacy.windows import means_peaking_at, points_per_sd, posterior_windows, window_width

Array = NDArray[np.float64]

NEAR_SDS = 8.0
STEP_SDS = 0.25
GROWTH = 0.1
GROWTH_OUTSIDE = 0.2
POINTS_LEAST = 32
EXCESS, EXCESS_MANY = 1.2e-3, 3.4e-3
"""What a certified ceiling usually lies above the truth by, with cells of CELL_SDS and of CELL_SDS_MANY."""
_GAUSS, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(10)
_SHARES = ((1 + _GAUSS) / 2) ** 2  # denser near t, which is what counts where a hat is wider than all of ψ″
_SHARE_WEIGHTS = _GAUSS_WEIGHTS / 2 * 2 * np.sqrt(_SHARES) * (1 - _SHARES)
_ALPHAS = np.array(ORDERS)


def predicted_curve(model: Model, people: int, unit_rows: int, temperature: float) -> Array:
    """About D_α of one draw at every order, and last the pure cost."""
    grid = model.grid(people * unit_rows, temperature)
    changes = directions(model.statistic_range, unit_rows)
    span = max(float(np.ptp(grid.change(change))) for change in changes)
    low, high = model.statistic_range
    if unit_rows == 1:
        curve, pure = _hats(grid, people, (float(low), float(high)))
    else:
        variance = _largest_variance(grid, people, (low, high), changes)
        curve, pure = _ALPHAS / 2 * variance, math.sqrt(2 * variance * math.log(grid.size / UNIFORM_SHARE))
    curve, pure = np.maximum.accumulate(curve), min(pure, span)
    return np.append(capped_curve(np.minimum(curve, np.minimum(span, _ALPHAS * span**2 / 8)), pure), pure)


def _hats(grid: PublicGrid, people: int, records: tuple[float, float]) -> tuple[Array, float]:
    """(curve, pure cost), the latter Δ times the steepest slope of log q at the sums looked at (`privacy/mixed_slope.py`).

    The curve is sup over t of ∫₀^ℓ (1 − x/ℓ)·Δ·ψ″(t ∓ x) dx + ∫₀^Δ (Δ − x)·ψ″(t ± x) dx, ℓ = (α−1)Δ, both signs.
    """
    low, high = people * records[0], people * records[1]
    step = records[1] - records[0]
    reach = (ORDERS[-1] - 1) * step
    spread = points_per_sd(grid, float(people))
    nodes = _sums(grid, people, (low - reach, high + reach), spread)
    rows = np.full(len(nodes), float(people))
    windows = posterior_windows(grid, nodes, rows, window_width(grid, nodes, rows))
    p, x = np.exp(windows.log_p), grid.temperature * grid.eta[windows.columns]
    x = x - (p * x).sum(axis=1, keepdims=True)
    bend = (p * x**2).sum(axis=1)
    there = (nodes >= low) & (nodes <= high)
    shares = p[there] / (p[there] + UNIFORM_SHARE / grid.size)
    pure = step * float(np.abs(shares * x[there]).max(initial=0.0))
    back = ((_ALPHAS - 1) * step)[:, None]
    found = np.zeros(len(_ALPHAS))
    for sign, start, stop in ((1.0, low, high - step), (-1.0, low + step, high)):
        t = np.append(nodes[(nodes >= start) & (nodes <= stop)], [start, stop])
        curves = np.zeros((len(_ALPHAS), len(t)))
        ahead = np.zeros(len(t))
        for share, weight in zip(_SHARES, _SHARE_WEIGHTS, strict=True):
            curves += weight * step * back * np.interp(t - sign * share * back, nodes, bend)
            ahead += weight * step**2 * np.interp(t + sign * share * step, nodes, bend)
        found = np.maximum(found, (curves + ahead).max(axis=1))
    excess = EXCESS if grid.size <= CELLS_MANY * CELL_SDS * spread else EXCESS_MANY
    return found * (1 + excess), pure * (1 + TOLERANCE)


def _largest_variance(grid: PublicGrid, people: int, records: tuple[int, int], changes: list[Direction]) -> float:
    """Of b, among sums of the fewest rows."""
    ends = float(people * records[0]), float(people * records[1])
    t = _sums(grid, people, ends, points_per_sd(grid, float(people))).clip(*ends)
    rows = np.full(len(t), float(people))
    return float(variances(grid, changes, t, rows, window_width(grid, t, rows)).max())


def _sums(grid: PublicGrid, people: int, ends: tuple[float, float], spread: float) -> Array:
    """Sums t whose posteriors peak a quarter sd apart near the ends of the range, then further and further."""
    last = grid.size - 1
    spread = min(spread, last / POINTS_LEAST)
    inside = _outward(last / 2, STEP_SDS * spread, NEAR_SDS * spread, GROWTH)
    places = np.unique(np.concatenate([[0.0, last / 2, last], inside, last - inside]).clip(0, last))
    means = np.interp(places, np.arange(grid.size), grid.mean)
    inner = people * means_peaking_at(grid, means, float(people))
    first, final = inner[1] - inner[0], inner[-1] - inner[-2]
    below = inner[0] - _outward(inner[0] - ends[0], first, NEAR_SDS / STEP_SDS * first, GROWTH_OUTSIDE)
    above = inner[-1] + _outward(ends[1] - inner[-1], final, NEAR_SDS / STEP_SDS * final, GROWTH_OUTSIDE)
    return np.unique(np.concatenate([below, inner, above]))


def _outward(room: float, first: float, near: float, growth: float) -> Array:
    """Distances up to `room`: steps of `first` to `near`, then growing with the distance."""
    distances = [first]
    while distances[-1] < room:
        distances.append(distances[-1] + (first if distances[-1] < near else growth * distances[-1]))
    return np.array(distances)
