"""What a point chosen by its posterior probability costs, one row a person, every sum visited: any n while sums are few.

Drawn from is r_k ∝ e^{g·q_k}, q the posterior with its share γ, mixed with γ once more; L = log of that. With β = α − 1 and
R_k = L_k(t) − L_k(t′), because Σ r_k·e^{−R_k} = 1,

    e^{β·D_α} − 1 = Σ r_k·h(R_k),   h(R) = e^{βR} − 1 + β(e^{−R} − 1) ≥ 0,

and h(R)/R² is convex, a mean of the convex h″ between 0 and R: the sum is at most Σ r_k·R_k² times the larger of its values at
the smallest and the largest R_k. That is all but exact while βR is small, and says which pairs can be the worst elsewhere; only
those are summed.

A block of neighbouring sums shares a window of grid points. Beyond it p_k ≤ o/K (`windows.py`), so all those points have the same
L up to g·o/K, and stand for one term of many.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid
from app.core.privacy.cost import ORDERS
from app.core.privacy.mixed_orders import convex_envelope
from app.core.privacy.windows import beyond_edges, points_per_sd

Array = NDArray[np.float64]
_Measure = tuple[Array, Array, Array]

WORK_MAX = 12_000_000
"""Sums times points of a window times changes."""
TABLES_MAX = 4_000_000
TOLERANCE = 0.01
_WINDOW_SDS = 9.0
_BLOCK_SDS = 4.0
_NEAR_PURE = 0.985
_CHUNK_ELEMENTS = 60_000


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows are sums, in turn; the last column stands for e^{log_many} points. `first` rows come before those it is about."""

    log_r: Array
    log_many: Array
    first: int
    count: int


def scored_supremum(grid: PublicGrid, people: int, steps: int, gain: float) -> tuple[float, Array] | None:
    """(largest log-ratio, D_α at every order) over all neighbouring pairs; None where they are too many."""
    spread = points_per_sd(grid, float(people))
    sums = people * steps + 1
    width = min(grid.size, int((2 * _WINDOW_SDS + _BLOCK_SDS) * max(spread, 1.0)))
    if sums * width > TABLES_MAX or sums * width * 2 * steps > WORK_MAX:
        return None
    blocks, error = _blocks(grid, people, steps, gain, width, spread)
    if not error < 1e-6:
        return None
    pairs = [_measured(block, change) for block in blocks for change in _changes(steps)]
    pure = max(float(largest.max(initial=0.0)) for _, largest, _ in pairs)
    curve = _curve(blocks, steps, pairs, pure)
    return pure + 4 * error, curve + 2 * error * (2 * np.array(ORDERS) - 1) / (np.array(ORDERS) - 1)


def _changes(steps: int) -> list[int]:
    return [sign * change for change in range(steps, 0, -1) for sign in (1, -1)]


def _blocks(
    grid: PublicGrid, people: int, steps: int, gain: float, width: int, spread: float
) -> tuple[list[_Block], float]:
    """All sums, and how far a log-weight beyond a window may be off."""
    t = np.arange(people * steps + 1, dtype=np.float64)
    peak = np.searchsorted(grid.mean, (t + grid.prior_sum) / (people + grid.prior_rows))
    room = max(1, width - int(2 * _WINDOW_SDS * max(spread, 1.0))) if width < grid.size else grid.size
    blocks, start, error = [], 0, 0.0
    while start < len(t):
        low = max(0, start - steps)
        stop = start + 1 + int(np.searchsorted(peak[start + 1 :], peak[low] + room))
        stop = min(max(start + 1, stop - steps), start + max(1, _CHUNK_ELEMENTS // width))
        high = min(len(t), stop + steps)
        middle = int(peak[low] + peak[high - 1]) // 2
        first = min(max(0, middle - width // 2), grid.size - width)
        log_r, away = _tables(grid, people, t[low:high], slice(first, first + width), gain)
        log_many = np.append(np.zeros(width), np.log(max(grid.size - width, 1e-300)))
        blocks.append(_Block(log_r, log_many, start - low, stop - start))
        start, error = stop, max(error, away)
    return blocks, error


def _tables(grid: PublicGrid, people: int, t: Array, columns: slice, gain: float) -> tuple[Array, float]:
    """(log r a point, mixed twice, the last column beyond the window; how far that may be off)."""
    log_w = grid.log_prior[columns] - grid.partition[columns] * people + grid.eta[columns] * t[:, None]
    log_w -= log_w.max(axis=1, keepdims=True)
    log_z = np.log(np.exp(log_w).sum(axis=1))
    places = np.tile(np.arange(grid.size)[columns], (len(t), 1))
    outside = beyond_edges(grid, places[:, [0, 1, -2, -1]], log_w[:, None, [0, 1, -2, -1]], log_z[:, None]).max()
    p = np.exp(log_w - log_z[:, None])
    scores = np.concatenate([gain * (1 - UNIFORM_SHARE) * p, np.zeros((len(t), 1))], axis=1)
    beyond = grid.size - p.shape[1]
    top = scores.max(axis=1, keepdims=True)
    mass = np.exp(scores - top)
    total = mass[:, :-1].sum(axis=1) + beyond * mass[:, -1]
    drawn = np.log((1 - UNIFORM_SHARE) * mass / total[:, None] + UNIFORM_SHARE / grid.size)
    return drawn, float(gain * outside)


def _measured(block: _Block, change: int) -> _Measure:
    """(smallest R, largest R, Σ r·R²) of every sum of the block whose neighbour exists, 0 elsewhere."""
    ratio, before = _ratios(block, change, np.arange(block.count))
    weights = np.exp(before + block.log_many)
    return ratio.min(axis=1), ratio.max(axis=1), np.einsum("ij,ij,ij->i", weights, ratio, ratio)


def _ratios(block: _Block, change: int, rows: NDArray[np.int64]) -> tuple[Array, Array]:
    rows = rows + block.first
    other = np.where((rows + change >= 0) & (rows + change < len(block.log_r)), rows + change, rows)
    before = block.log_r[rows]
    return before - block.log_r[other], before


def _curve(blocks: list[_Block], steps: int, pairs: list[_Measure], pure: float) -> Array:
    orders = np.array(ORDERS)
    powers = np.full(len(orders), np.inf)
    keys = [(block, change) for block in blocks for change in _changes(steps)]
    for i in range(len(orders)):
        powers[i] = np.log1p(_largest_sum(keys, pairs, orders[i] - 1))
        if powers[i] >= _NEAR_PURE * pure * (orders[i] - 1):
            break
    with np.errstate(invalid="ignore"):
        curve: Array = np.minimum(convex_envelope(powers, pure) / (orders - 1), pure)
    return curve


def _largest_sum(keys: list[tuple[_Block, int]], pairs: list[_Measure], power: float) -> float:
    """sup Σ r·h(R), a TOLERANCE above at most."""
    with np.errstate(over="ignore"):
        bounds = [np.maximum(_bend(low, power), _bend(high, power)) * square for low, high, square in pairs]
    highest = np.array([bound.max(initial=0.0) for bound in bounds])
    found = 0.0
    for place in np.argsort(-highest):
        rows = np.flatnonzero(bounds[place] > found * (1 + TOLERANCE))
        if not len(rows):
            continue
        block, change = keys[place]
        ratio, before = _ratios(block, change, rows)
        with np.errstate(over="ignore"):
            sums = (np.exp(before + block.log_many) * h(ratio, power)).sum(axis=1)
        found = max(found, float(np.minimum(sums, bounds[place][rows]).max()))
    return found * (1 + TOLERANCE) if found < highest.max(initial=0.0) else found


def _bend(ratio: Array, power: float) -> Array:
    """h(R)/R²."""
    bend: Array = h(ratio, power) / np.maximum(ratio**2, 1e-300)
    return np.where(ratio == 0, power * (power + 1) / 2, bend)


def h(ratio: Array, power: float) -> Array:
    """e^{βR} − 1 + β(e^{−R} − 1), by its series where both cancel."""
    direct = np.expm1(power * ratio) + power * np.expm1(-ratio)
    # The fourth term at most, of a series whose terms fall by a thousand: twice it covers the rest.
    series = power * (power + 1) / 2 * ratio**2 * (1 + (power - 1) * ratio / 3)
    series += power * (1 + power**3) / 12 * ratio**4
    small = np.maximum(1.0, power) * np.abs(ratio) < 1e-3
    value: Array = np.where(small, np.maximum(series, 0.0), direct)
    return value
