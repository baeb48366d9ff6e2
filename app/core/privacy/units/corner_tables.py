"""The table really drawn at the corners of cells of first datasets, and how much a log-ratio can exceed them inside a cell.

Drawn is q = (1−γ)p + γ/K, L = log q = m(ℓ) with ℓ = log p and m(ℓ) = log((1−γ)e^ℓ + γ/K), convex, of slope w. In a cell
v = Σ λ_i·v_i (`units/cells.py`), and ℓ_k(v) = Σ λ_i·ℓ_k(v_i) + E with the same 0 ≤ E = Σ λ_i·ψ(v_i) − ψ(v) ≤ G for every point k;
likewise at v + c, c a change, with E′ ≥ 0. Let κ(x) = Σ λ_i·m(x_i) − m(Σ λ_i·x_i) ≥ 0, x_i = ℓ_k(v_i), y_i = ℓ_k(v_i + c). As m
is convex,

    L_k(v) ≤ Σ λ_i·L_k(v_i) − κ(x) + E·w⁺,   L_k(v+c) ≥ Σ λ_i·L_k(v_i + c) − κ(y) + E′·w⁻,

w⁺ at the largest x_i plus G, w⁻ at the smallest y_i. So for every β ≥ 0, with α = β + 1,

    αL_k(v) − βL_k(v+c) ≤ Σ λ_i·(αL_k(v_i) − βL_k(v_i + c)) + G·w⁺ + β·(E·w⁺ − E′·w⁻ + κ(y) − κ(x)).                        (1)

*The last two.* κ(y) is at most r²/8 times the largest w(1−w), and r/4 times the change of w, r the width of the y_i. But
y_i = x_i + δ_i with nearly the same δ_i: along x + uδ the derivative of κ is Σ λ_i·δ_i·(w_i − w̄), w̄ at the mean. With
w(1−w)|1−2w| ≤ c₃ (that is |m‴|), w(1−w) ≤ c₂ and ρ the width of the δ_i,

    κ(y) − κ(x) ≤ max|δ_i|·c₃·r²/8 + ρ/2·min(c₂·r, change of w),                                                            (2)

r the larger of the two widths, since the width of x + uδ is convex in u.

*The two before.* E·w⁺ − E′·w⁻ ≤ G·w⁺, and E·w⁺ − E′·w⁻ = E·(w⁺ − w⁻) + (E − E′)·w⁻. The Jensen gap E is the sum of one along the
sums, between two corners of the same rows, and one along the rows: each is at most ⅛ of ψ_ee, e from one end to the other, and so
is E − E′ of ψ_ee(u) − ψ_ee(u+c) = −∫ κ₃(e, e, c). For y = f·e, b = f·c and any constants ȳ, b̄

    |κ₃| = |Cov((y−ȳ)², b) − 2(E y − ȳ)·Cov(y, b)| ≤ √(E(y−ȳ)⁴·E(b−b̄)²) + 2·E(y−ȳ)²·√(E(b−b̄)²)                             (3)

under the table at u + xc. There log p_k is at most the mean of its values at the eight corners v_i and v_i + c, plus J/4, J the
largest Jeffreys divergence between v_i and v_i + c, plus what G is for the cell moved by xc, x in [0, 1]: at most that of the
larger J_ij at either end, times e^{J/2} (`units/cells.py`). A product of powers is at most the same mean, so each expectation in
(3) is at most its largest value at those corners times the exponential of that. Every one of these bounds is of second order in
the cell, and all but G·w⁺ of first order in the change too.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid
from app.core.privacy.units.cells import CORNER_PAIRS, gap
from app.core.privacy.windows import beyond_edges

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Mask = NDArray[np.bool_]

_EDGES = [0, 1, -2, -1]
_THIRD = 0.0963
_FLOOR = UNIFORM_SHARE / (1 - UNIFORM_SHARE)
_TINY = 1e-12
_ROUNDED = 1e-9


class CornerTables:
    """Cells with the same changes: arrays are by cell, corner, change (the first is none) and point of the cell's window.

    `outside` bounds the weight beyond the windows anywhere in a cell, `gap` is G, `across` whether rows are a cell's longer side;
    by cell and point: `share` is w⁺, `bend` bounds E·w⁺ − E′·w⁻ + κ(y) − κ(x) for every change; `drift` bounds E − E′.
    """

    def __init__(self, grid: PublicGrid, columns: Index, corners: tuple[Array, Array], changes: Array) -> None:
        self._t, self._m = (side.T[:, :, None] for side in corners)
        self._moved = np.concatenate([np.zeros((1, 2)), changes])
        middle = columns[:, columns.shape[1] // 2, None]
        self._values = [
            grid.temperature * (each[columns] - each[middle]) for each in (grid.eta, grid.partition)
        ]  # from their middle, so that little is lost
        self.log_p, self.p, outside = self._tables(grid, columns)
        self.log_q = np.log((1 - UNIFORM_SHARE) * self.p + UNIFORM_SHARE / grid.size)
        self.gap, self._near, self.across, means = self._gaps()
        with np.errstate(over="ignore", invalid="ignore"):
            self.outside = np.exp(self.gap) * outside.sum(axis=(1, 2))
            self.drift = np.fmin(self._drift(grid, means, outside.max(axis=(1, 2))), self.gap)
            self.share, self.bend = self._missed(_FLOOR / grid.size)

    def _tables(self, grid: PublicGrid, columns: Index) -> tuple[Array, Array, Array]:
        """(log p, p, a bound of the weight outside the window)."""
        t, m = self._t + self._moved[:, 0], self._m + self._moved[:, 1]
        eta, partition = (values[:, None, None] for values in self._values)
        log_p = grid.log_prior[columns][:, None, None] + eta * t[..., None] - partition * m[..., None]
        log_p -= log_p.max(axis=3, keepdims=True)
        p = np.exp(log_p)
        total = p.sum(axis=3)
        log_z, edges = np.log(total), log_p[..., _EDGES].reshape(len(columns), -1, 4)
        outside = beyond_edges(grid, columns[:, _EDGES], edges, log_z.reshape(len(columns), -1)).reshape(t.shape)
        p /= total[..., None]
        log_p -= log_z[..., None]
        return log_p, p, outside

    def _expectations(self, functions: list[Array]) -> Array:
        """By cell, corner, change and function of cell and point."""
        cells, corners, changes, width = self.p.shape
        flat = self.p.reshape(cells, corners * changes, width) @ np.stack(functions, axis=2)
        return np.asarray(flat.reshape(cells, corners, changes, len(functions)))

    def _gaps(self) -> tuple[Array, Array, Mask, Array]:
        """(G, what log p can exceed the mean of eight corners by, whether rows are longer, means of η and A)."""
        means = self._expectations(self._values)
        pairs = []
        for i, j in CORNER_PAIRS:
            apart = means[:, i] - means[:, j]
            jeffreys = apart[..., 0] * (self._t[:, i] - self._t[:, j]) - apart[..., 1] * (self._m[:, i] - self._m[:, j])
            pairs.append(np.maximum(jeffreys, 0.0) + _TINY)
        change = means - means[:, :, :1]
        along = (change[..., 0] * self._moved[:, 0] - change[..., 1] * self._moved[:, 1]).max(axis=(1, 2)) + _TINY
        with np.errstate(over="ignore"):
            widest = gap([pair.max(axis=1) for pair in pairs]) * np.exp(along / 2) + along / 4
        here = [pair[:, 0] for pair in pairs]
        across = np.maximum(here[2], here[3]) > np.maximum(here[0], here[1])
        return gap(here), widest, across, means

    def _drift(self, grid: PublicGrid, means: Array, outside: Array) -> Array:
        """X ≥ E − E′ by (3), for every change and from every point of a cell; points outside a window at their furthest."""
        centre = means[:, :, 0].mean(axis=1)
        eta, partition = (values - centre[:, i, None] for i, values in enumerate(self._values))
        widths = [2 * grid.temperature * float(np.ptp(each)) for each in (grid.eta, grid.partition)]
        t, m = self._t[..., 0], self._m[..., 0]

        def squares(pairs: list[tuple[Array, Array]]) -> tuple[Array, Array]:
            """The largest (f·e)² by cell and point, and anywhere on the grid, e among some (Δt, Δm) for each cell."""
            near = [(dt[:, None] * eta - dm[:, None] * partition) ** 2 for dt, dm in pairs]
            far = [(np.abs(dt) * widths[0] + np.abs(dm) * widths[1]) ** 2 for dt, dm in pairs]
            return np.max(near, axis=0), np.max(far, axis=0)

        sums, far_sums = squares([(t[:, j] - t[:, i], m[:, j] - m[:, i]) for i, j in ((0, 1), (2, 3))])
        rows, far_rows = squares([(t[:, j] - t[:, i], m[:, j] - m[:, i]) for i, j in ((0, 2), (1, 3))])
        every = np.ones(len(t))
        change, far_change = squares([(dt * every, dm * every) for dt, dm in self._moved[1:]])
        moments = self._expectations([sums, sums**2, rows, rows**2, change]).max(axis=(1, 2))
        far = np.stack([far_sums, far_sums**2, far_rows, far_rows**2, far_change], axis=1)
        moments = (moments * (1 + _ROUNDED) + outside[:, None] * far) * np.exp(self._near)[:, None]
        spread = np.sqrt(moments[:, 4])
        return np.asarray(sum(np.sqrt(moments[:, i + 1]) * spread + 2 * moments[:, i] * spread for i in (0, 2)) / 8)

    def _missed(self, floor: float) -> tuple[Array, Array]:
        here, there = self.log_p[:, :, :1], self.log_p[:, :, 1:]
        low, high = there.min(axis=1), there.max(axis=1)
        most, least = (part / (part + floor) for part in (self.p[:, :, 1:].max(axis=1), self.p[:, :, 1:].min(axis=1)))
        lowest, wide = least.min(axis=1), high - low
        sag = np.minimum(wide * (most - least) / 4, wide**2 / 8 * np.minimum(0.25, np.minimum(most, 1 - least)))
        first, last = self.p[:, :, :1].max(axis=1), self.p[:, :, :1].min(axis=1)
        most, least = np.maximum(most, first / (first + floor)), np.minimum(least, last / (last + floor))
        wide = np.maximum(wide, np.ptp(here, axis=1))
        moved = there - here
        near = np.minimum(most, 1 - least)
        along = np.abs(moved).max(axis=1) * np.minimum(_THIRD, near) * wide**2 / 8
        along += np.ptp(moved, axis=1) / 2 * np.minimum(np.minimum(0.25, near) * wide, most - least)
        top = first[:, 0] * np.exp(self.gap)[:, None]
        share = np.where(np.isfinite(top), top / (top + floor), 1.0)
        tilt = self.gap[:, None] * np.maximum(share - lowest, 0.0) + self.drift[:, None] * lowest
        return share, np.minimum(self.gap[:, None] * share, tilt) + np.minimum(sag, along).max(axis=1)
