"""D_α of the table really drawn at orders where mixing matters: one row a person, every sum t visited.

With q = (1−γ)p + γ/K and L = log q, for every change d of 0 … Δ upwards

    e^{(α−1)·D_α(q_t ‖ q_{t+d})} = Σ_k q_k(t)·e^{(α−1)(L_k(t) − L_k(t+d))} ≤ Σ_k q_k(t)·e^{(α−1)·max(0, L_k(t) − L_k(t+Δ))},

because L_k rises to its mode and then falls along t, so that L_k(t+d) is at least the smaller of L_k(t) and L_k(t+Δ); downwards
alike. Terms under 1 are replaced by 1, and those of a log-ratio under ϑ by e^{(α−1)ϑ}: 1.0 or so more in a sum that is e³ or
more at every order tried. Only some orders are; F(α) = sup (α−1)·D_α is convex, so chords between known bounds serve the others.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import PublicGrid
from app.core.privacy.cost import ORDERS
from app.core.privacy.mixed_pairs import log_tables_drawn

Array = NDArray[np.float64]

WORK_MAX = 500_000
"""Sums times points of the grid."""
POWER_LEAST = 3.0
_ORDERS_TRIED = 8
_NEAR_PURE = 0.97
_SMALL = 1e-3
_STEEP = 0.97
_CHUNK = 96


def drawn_powers(grid: PublicGrid, rows: int, step: int, exact: Array, capped: Array, pure: float) -> Array:
    """(α−1)·D_α at every order, infinite where it was not computed; from bounds without the share γ and with it."""
    found = np.full(len(ORDERS), np.inf)
    tried = _worth_trying(exact, capped, pure)
    if (rows * step + 1) * grid.size > WORK_MAX or not len(tried):
        return found
    log_q = log_tables_drawn(grid, rows, np.arange(rows * step + 1, dtype=np.float64))
    places = np.arange(len(log_q))
    powers = np.array(ORDERS)[tried] - 1
    largest = np.full(len(tried), -np.inf)
    for other in (np.minimum(places + step, len(places) - 1), np.maximum(places - step, 0)):
        steepest = np.concatenate([(log_q[part] - log_q[other[part]]).max(axis=1) for part in _parts(places)])
        for rows_like in (steepest > _STEEP * steepest.max(), steepest <= _STEEP * steepest.max()):
            # a sum is at most e^{(α−1)·its largest log-ratio}: what cannot exceed the largest sum seen is left out
            worth = rows_like & (steepest[:, None] * powers > largest).any(axis=1)
            for part in _parts(places[worth]):
                largest = np.maximum(largest, _sums(log_q[part], log_q[other[part]], powers, _SMALL * pure))
    found[tried] = largest
    return found


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
