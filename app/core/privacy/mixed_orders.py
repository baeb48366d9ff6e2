"""D_α of the table really drawn at orders where mixing matters: one row a person, every sum t visited.

With q = (1−γ)p + γ/K and L = log q, for every change d of 0 … Δ upwards

    e^{(α−1)·D_α(q_t ‖ q_{t+d})} = Σ_k q_k(t)·e^{(α−1)(L_k(t) − L_k(t+d))} ≤ Σ_k q_k(t)·e^{(α−1)·max(0, L_k(t) − L_k(t+Δ))},

because L_k rises to its mode and then falls along t, so that L_k(t+d) is at least the smaller of L_k(t) and L_k(t+Δ); downwards
alike. Terms under 1 are replaced by 1, and those of a log-ratio under ϑ by e^{(α−1)ϑ}: 1.0 or so more in a sum that is e³ or
more at every order tried. Only some orders are; F(α) = sup (α−1)·D_α is convex, so chords between known bounds serve the others.

Where t has many values, at nodes h apart. Each term is the larger of q_k(t) and e^g, g = αL_k(t) − (α−1)L_k(t+Δ), and with
L″ = w(1−w)ℓ′² − wψ″ ≥ −S, |L‴| ≤ T both have second derivatives of logarithms at least −B, B = αS + (α−1)ΔT: so has the
logarithm of the sum, which then lies at most B·h²/8 above its larger value at two nodes.

L‴ = w(1−w)(1−2w)ℓ′³ − 3w(1−w)ℓ′ψ″ − wψ‴. With ψ″ ≤ S everywhere p_k ≤ e^{λ²S/2 − λ|ℓ′|} (Chernoff), so that with
Y² = 2S·log(K/γ) a point beyond |ℓ′| = Y has w ≤ e^{−Y(|ℓ′|−Y)/S}: w(1−w)|1−2w|, at most 0.0963, times |ℓ′|³ is under Y³/8,
3w(1−w)·|ℓ′| under 0.8·Y, and |ψ‴| ≤ (E ℓ′⁴)^{¾} ≤ 8·S^{3/2}. T = Y³/8 + 0.8·Y·S + 8·S^{3/2}. Nodes include n·Δ − Δ and Δ, beyond
which the neighbour is an end of the range.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid
from app.core.privacy.cost import ORDERS
from app.core.privacy.mixed_pairs import log_window_drawn
from app.core.privacy.windows import points_per_sd

Array = NDArray[np.float64]

WORK_MAX = 500_000
"""Sums times points of a window."""
NODE_WORK_MAX = 1_600_000
NODE_ERROR = 0.018
NODE_POWER_LEAST = 20.0
_NODE_ORDERS = 4
POWER_LEAST = 3.0
_ORDERS_TRIED = 8
_NEAR_PURE = 0.97
_SMALL = 1e-3
_WINDOW_SDS = 20.0
_FAR = 20.0
_CHUNK = 96


def drawn_powers(grid: PublicGrid, rows: int, step: int, exact: Array, capped: Array, pure: float, top: float) -> Array:
    """(α−1)·D_α at every order, infinite where it was not computed; from bounds without the share γ and with it, and ψ″ ≤ top."""
    found = np.full(len(ORDERS), np.inf)
    tried = _worth_trying(exact, capped, pure)
    if not len(tried):
        return found
    end, stride = rows * step, 1.0
    width = min(grid.size, int(_WINDOW_SDS * max(points_per_sd(grid, float(rows)), 1.0)))
    if (end + 1) * width > WORK_MAX:
        tried = _worth_nodes(tried, capped)
        powers = np.array(ORDERS)[tried] - 1
        with np.errstate(invalid="ignore"):
            apart = np.sqrt(8 * NODE_ERROR * powers * capped[tried] / _bends(grid, step, powers, top))
        stride = float(apart.min(initial=end))
        sure = (ORDERS[-1] - 1) * step * np.sqrt(top) > _FAR  # ψ″ ≤ top is known as far as Chernoff's λ goes
        if not (len(tried) and sure and stride > 1 and (end / stride + 1) * width <= NODE_WORK_MAX):
            return found
    powers = np.array(ORDERS)[tried] - 1
    nodes = np.unique(np.append(np.arange(0, end + 1, stride), [step, end - step, end]).clip(0, end))
    largest = np.full(len(tried), -np.inf)
    for change in (step, -step):
        people = _People(rows, end, change, width)
        for part in _parts(np.arange(len(nodes))):
            largest = _block(grid, people, nodes[part].astype(np.float64), powers, _SMALL * pure, largest)
    found[tried] = largest + (_bends(grid, step, powers, top) * stride**2 / 8 if stride > 1 else 0.0)
    return found


def _worth_nodes(tried: NDArray[np.int64], capped: Array) -> NDArray[np.int64]:
    """A few of them, with sums so large that nodes may be far apart."""
    large = tried[(np.array(ORDERS)[tried] - 1) * capped[tried] >= NODE_POWER_LEAST]
    return large[:_NODE_ORDERS]


def _bends(grid: PublicGrid, step: int, powers: Array, top: float) -> Array:
    """B for every order."""
    far = np.sqrt(2 * top * np.log(grid.size / UNIFORM_SHARE))
    third = far**3 / 8 + 0.8 * far * top + 8 * top**1.5
    bends: Array = (powers + 1) * top + powers * step * third
    return bends


def _block(grid: PublicGrid, people: "_People", t: Array, powers: Array, small: float, largest: Array) -> Array:
    """The largest log of the sum for each power at some neighbouring sums, on one window; `largest` where none exceeds it."""
    other = np.clip(t + people.change, 0.0, people.end)
    ends = np.array([min(t[0], other[0]), max(t[-1], other[-1])])
    peak = np.searchsorted(
        grid.mean,
        (grid.temperature * ends + grid.prior_sum) / (grid.temperature * people.rows + grid.prior_rows),
    )
    width = min(grid.size, people.width + int(peak[1] - peak[0]))
    first = min(max(0, int(peak.sum()) // 2 - width // 2), grid.size - width)
    columns = slice(first, first + width)
    log_q, outside = log_window_drawn(grid, people.rows, t, columns)
    log_other, outside_other = log_window_drawn(grid, people.rows, other, columns)
    # a point beyond the window has q within a part o/γ of γ/K before and after; together they are one term of γ + o
    beyond = max(outside, outside_other)
    spill = np.log(UNIFORM_SHARE + beyond) + powers * (beyond / UNIFORM_SHARE)
    steepest = (log_q - log_other).max(axis=1)
    worth = (steepest[:, None] * powers > largest).any(axis=1)
    found = np.logaddexp(_sums(log_q[worth], log_other[worth], powers, small), spill if width < grid.size else -np.inf)
    return np.maximum(largest, found)


@dataclass(frozen=True, slots=True)
class _People:
    """One row each, sums up to `end`, and a change of one; how many points of the grid hold a table."""

    rows: int
    end: int
    change: int
    width: int


def _parts(places: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return np.array_split(places, len(places) // _CHUNK + 1)


def _worth_trying(exact: Array, capped: Array, pure: float) -> NDArray[np.int64]:
    """Some of the orders from where a sum is e³ to where D_α is all but the pure cost, evenly among them."""
    powers = np.array(ORDERS) - 1
    first = int(np.searchsorted(powers * capped >= POWER_LEAST, True))
    mixed = np.flatnonzero((exact > 1.001 * capped) | (capped > pure / 4))
    if first >= len(ORDERS) or not len(mixed):
        return np.array([], dtype=np.int64)
    return orders_between(capped, max(first, int(mixed[0]) - 1), pure, _ORDERS_TRIED)


def orders_between(capped: Array, first: int, pure: float, count: int) -> NDArray[np.int64]:
    """Places of `count` orders, evenly from the first to where D_α is all but the pure cost."""
    last = int(np.searchsorted(capped >= _NEAR_PURE * pure, True))
    last = max(first, min(last, len(ORDERS) - 1))
    return np.unique(np.linspace(first, last, count).round().astype(np.int64))


def _sums(log_q: Array, log_other: Array, powers: Array, small: float) -> Array:
    """The largest log of the sum for each power."""
    if not len(log_q):
        return np.full(len(powers), -np.inf)
    ratio = log_q - log_other
    columns = np.flatnonzero((ratio > small).any(axis=0))
    log_q, ratio = log_q[:, columns], ratio[:, columns]
    ratio[ratio <= small] = -np.inf
    found = np.empty(len(powers))
    for i, power in enumerate(powers):
        joint = power * ratio
        joint += log_q
        top = np.maximum(joint.max(axis=1, initial=0.0), power * small)
        joint -= top[:, None]
        total = np.exp(joint, out=joint).sum(axis=1) + np.exp(power * small - top)
        found[i] = (top + np.log(total)).max()
    return found


def convex_envelope(powers: Array, pure: float) -> Array:
    """The least that convexity leaves of bounds `powers` of F at every order, with F(1) = 0 and a slope of at most `pure`."""
    orders = np.array([1.0, *ORDERS])
    known = np.append(0.0, powers)
    beyond = orders[:, None] - orders
    with np.errstate(invalid="ignore"):
        known = np.fmin(known, np.where(beyond > 0, known + beyond * pure, np.inf).min(axis=1))
    before, here, after = orders[:, None, None], orders[None, :, None], orders[None, None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (here - before) / (after - before)
        chords = known[:, None, None] * (1 - share) + known[None, None, :] * share
    chords = np.where((before < here) & (here < after) & np.isfinite(chords), chords, np.inf)
    envelope: Array = np.minimum(known, chords.min(axis=(0, 2)))
    return envelope[1:]


def chorded(curve: Array) -> Array:
    """The least that convexity of (α−1)·D_α leaves of bounds of D_α, some of them perhaps infinite."""
    powers = np.array(ORDERS) - 1
    with np.errstate(invalid="ignore"):
        least: Array = convex_envelope(powers * curve, np.inf) / powers
    return np.fmin(curve, least)
