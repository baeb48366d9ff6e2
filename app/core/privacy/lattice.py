"""Exact Rényi curves of a whole-number statistic with a fixed number of rows, for tens of thousands of values.

For whole orders every divergence is a positive combination of second differences of ψ(t) = log Σ exp(base + tη):

    (α−1)·D_α(P_t ‖ P_{t±Δ}) = ψ(t ∓ (α−1)Δ) − α·ψ(t) + (α−1)·ψ(t ± Δ) = Σ_j hat(j)·[ψ(j+1) − 2ψ(j) + ψ(j−1)]

with hat rising by 1 a step from t ∓ (α−1)Δ to t and falling to 0 at t ± Δ (summation by parts). Each bracket is
C_j(1) + C_j(−1) ≥ 0, computed once for every j without cancellation; an order is then one convolution.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from app.core.families.exponential import PublicGrid
from app.core.numerics.remainder import phi
from app.core.privacy.cells import Cells, window_width
from app.core.privacy.enumeration import Supremum
from app.core.privacy.orders import ORDERS
from app.core.privacy.windows import Windows, outside_weight, posterior_windows, rounding_factor

Array = NDArray[np.float64]

REACH_MAX = 4096
_BLOCK_ELEMENTS = 100_000
_TRANSFORM_MARGIN = 1e-9
"""Above the rounding of a fast transform here: errors are near 2⁻⁵³·‖hat‖·‖bends‖, under 1e-12 of the largest sum."""
_FRACTIONAL = [i for i, order in enumerate(ORDERS) if order != int(order)]


def lattice_supremum(grid: PublicGrid, statistic_range: tuple[int, int], rows: int) -> Supremum:
    """Bounds for all orders with (α−1)Δ ≤ REACH_MAX; infinite beyond, where the caller has other bounds."""
    low, high = statistic_range
    step = high - low
    reach = REACH_MAX // step * step
    first, last = rows * low - reach - 1, rows * high + reach + 1
    centres = np.arange(first, last + 1, dtype=np.float64)
    same = np.full(len(centres), float(rows))
    width = window_width(grid, Cells(centres / rows, centres / rows, same, same))
    bends = _second_differences(grid, centres, float(rows), width)
    slack = rounding_factor(grid, float(max(abs(first), abs(last))), float(rows))
    curve = np.full(len(ORDERS), np.inf)
    # P_t and P_{t+Δ} must both exist. Smaller changes at the ends of the range are dominated: for either dataset fixed
    # the divergence grows with the distance of the other.
    start, stop = reach + 1, len(centres) - reach - 1
    upward, downward = slice(start, stop - step), slice(start + step, stop)
    hats = _Hats(bends, upward, downward)
    for i, order in enumerate(ORDERS):
        if order == int(order) and (order - 1) * step <= reach:
            curve[i] = hats.largest(int(order), step)
    up = _few_orders(grid, centres[upward], float(rows), float(step), width)
    down = _few_orders(grid, centres[downward], float(rows), -float(step), width)
    *curve[_FRACTIONAL], kl = np.maximum(up, down)
    return Supremum(curve * slack, float(kl * slack))


def _second_differences(grid: PublicGrid, centres: Array, rows: float, width: int) -> Array:
    """ψ(j+1) − 2ψ(j) + ψ(j−1) at every centre."""
    bends = np.empty(len(centres))
    for part, cumulant in _blocks(grid, centres, rows, width):
        bends[part] = cumulant.at(1.0) + cumulant.at(-1.0)
    return bends


def _few_orders(grid: PublicGrid, starts: Array, rows: float, step: float, width: int) -> Array:
    """The largest D_α(P_t ‖ P_{t+step}) at the orders that are not whole, then the largest KL."""
    largest = np.zeros(len(_FRACTIONAL) + 1)
    for _, cumulant in _blocks(grid, starts, rows, width):
        moved = cumulant.at(step)
        orders = (ORDERS[i] for i in _FRACTIONAL)
        found = [cumulant.at((1 - order) * step) / (order - 1) + moved for order in orders]
        largest = np.maximum(largest, np.max([*found, moved], axis=1))
    return largest


def _blocks(grid: PublicGrid, centres: Array, rows: float, width: int) -> Iterator[tuple[slice, "_Cumulants"]]:
    size = max(16, _BLOCK_ELEMENTS // width)
    for start in range(0, len(centres), size):
        part = slice(start, min(start + size, len(centres)))
        t = centres[part]
        windows = posterior_windows(grid, t, np.full(len(t), rows), width)
        p = np.exp(windows.log_p)
        eta = grid.temperature * grid.eta[windows.columns]
        centred = eta - (p * eta).sum(axis=1, keepdims=True)
        yield part, _Cumulants(grid, windows, p, centred)


class _Cumulants:
    """C(h) = log1p Σ p·φ(h·(η − m)) for one block of tables, with what lies outside the windows added.

    Dividing by the window's mass instead of the whole only enlarges a divergence, in which the centre cancels. In KL
    alone it does not: there a centre taken on the window is off by less than the outside weight times the span of b,
    which `window_width` keeps below rounding.
    """

    def __init__(self, grid: PublicGrid, windows: Windows, p: Array, centred: Array) -> None:
        self._grid, self._windows, self._p, self._centred = grid, windows, p, centred

    def at(self, h: float) -> Array:
        tilt = h * self._centred
        beyond = outside_weight(self._grid, self._windows, tilt)
        with np.errstate(over="ignore"):
            inside = (self._p * phi(tilt)).sum(axis=1)
        cumulant: Array = np.log1p(inside + beyond)
        return cumulant


class _Hats:
    """sup over reachable t of Σ hat·bend/(α−1), both directions, by one transform of the bends."""

    def __init__(self, bends: Array, upward: slice, downward: slice) -> None:
        self._upward, self._downward = upward, downward
        # Around the ends sums wrap onto themselves, but only further out than `upward` and `downward` reach.
        self._length = 1 << (len(bends) - 1).bit_length()
        self._spectrum = np.fft.rfft(bends, self._length)

    def largest(self, order: int, step: int) -> float:
        rise = np.arange(1, (order - 1) * step + 1, dtype=np.float64)
        fall = np.arange(step - 1, 0, -1, dtype=np.float64) * (order - 1)
        hat = np.concatenate([rise, fall])
        spectrum = np.fft.rfft(hat, self._length)
        peak = len(rise) - 1
        # With conj, entry i sums hat[j]·bends[i+j]: the peak sits at i + peak. Without, it sits at i − peak.
        forward = np.roll(np.fft.irfft(self._spectrum * spectrum.conj(), self._length), peak)
        backward = np.roll(np.fft.irfft(self._spectrum * spectrum, self._length), -peak)
        best = max(forward[self._upward].max(), backward[self._downward].max())
        return float(best) / (order - 1) * (1 + _TRANSFORM_MARGIN)
