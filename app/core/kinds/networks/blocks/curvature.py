"""Ceilings of Var(b) of a block over all counts (s, f), negative ones included: what every divergence is a mean of.

Along a change d the divergence of order α is α/2 times a weighted mean of Var(b) between v − (α−1)·d and v + d, so counts
nobody can have are visited too. The plane is cut into cells by the same edges on both axes; on a cell the smallest of

  range       ρ²/4, ρ the range of b
  centre      max over corners δ of Σ p·(b−c)²·e^{(x−E x)·δs + (y−E y)·δf}, p and c = E_p b at the cell's centre: Var ≤ the mean
              square about c, log Z ≥ its tangent, and the sum is convex in δ (as in `privacy/cells.py`)
  corner      Σ_k (p_k/p_0)·(b_k−b_0)², θ_0 the lowest point: every ratio rises with s and falls with f, so the value at
              (s₁, f₀) holds for all s ≤ s₁, f ≥ f₀; and its mirror image at the highest point
  ordered     E_{(s₁,f₀)}[(b−c)²; θ above] + E_{(s₀,f₁)}[(b−c)²; θ below], c any value of a monotone b and θ above or below where
              b = c: the cell's posteriors lie between the two in the likelihood-ratio order; only where asked for
  concave     Δ²/(c·(1−10⁻⁶)), Δ the largest step of b between neighbouring points, c ≤ 1 the least fall in the slope of
              the log-weights from point to point, which grows with s and f: so for all s ≥ s₀, f ≥ f₀. A table p = q·r with
              r log-concave and q normal on the lattice crosses the tilt of q with p's mean at most twice, so is smaller in
              convex order: Var(index) ≤ sup over tilts of Var(q), 1/c within 3·10⁻⁷ while c ≤ 1 (Poisson summation)

The last makes many observations harmless whatever n: the work does not depend on n.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_grid import LOWEST, BlockGrid, tables

Array = NDArray[np.float64]
Index = NDArray[np.int64]
Edges = tuple[Array, Array]
"""Of s and of f."""

AXES = ((1, 0), (0, 1), (1, -1))
"""Changes of one observation up to sign: b = x, y, x − y. No bound here asks more of b than that it is a form in x and y."""
_AHEAD, _BEHIND = 1.25, 1.5
_WEAK_PRIOR = 3.0
_WORTH = 0.5
_STEP = 0.35
_FAR = 40.0
_LEAST = 1e-130
"""Weights under e^`LOWEST` of the largest are held at that: a sum above this loses nothing by it."""
_CONCAVE_SLACK = 1e-6
_CHUNK = 100_000


def plane_edges(
    trim: float, temperature: float, furthest: float, prior: tuple[float, float] = (1.0, 1.0), far: bool = False
) -> tuple[Array, Array]:
    """Of s and of f. Fine near zero, where posteriors change fastest; then in proportion. Up to where curvature alone is enough.

    With `prior` = (a, b) observations before, a posterior changes with s by as much as it is wide in √((a+s)·(a+s+b+f)/(b+f)) of
    them, at least √(a+s): cells a part of that, growing beyond the larger of a and b, if one is large; in proportion far beyond,
    and `far` by as little there as the prior of the other side narrows a posterior, until the trim holds it.
    """
    near = np.concatenate([np.arange(0, 0.5, 0.125), np.arange(0.5, 1.0, 0.25)])
    ahead = np.geomspace(1.0, 40 / trim, int(np.log(40 / trim) / np.log(_AHEAD)) + 2)
    last = max(2.0, furthest * temperature)
    behind = np.geomspace(1.0, last, int(np.log(last) / np.log(_BEHIND)) + 2)
    plain = np.concatenate([near, ahead, -near[1:], -behind])
    if max(prior) <= _WEAK_PRIOR:
        edges = np.unique(plain) / temperature
        return edges, edges
    sides = [_strong_edges(plain, own, max(prior)) for own in prior]
    if far:
        beyond = (_far_edges(prior, other, trim, float(plain.max())) for other in prior[::-1])
        sides = [np.concatenate(both) for both in zip(sides, beyond, strict=True)]
    s, f = (np.unique(edges) / temperature for edges in sides)
    return s, f


def _strong_edges(plain: Array, own: float, larger: float) -> Array:
    """From −`own` on in steps of a part of a spread, where a prior is strong; as for a weak one elsewhere."""
    edges, end = [0.0], min(_FAR * larger, float(plain.max()))
    while edges[-1] < end:
        edges.append(edges[-1] + _STEP * np.sqrt(own + edges[-1]) * np.sqrt(1 + edges[-1] / larger))
    if own <= _WEAK_PRIOR:
        return np.concatenate([plain[plain > end], plain[plain < 1], edges])
    while edges[0] > -own:
        edges.insert(0, edges[0] - max(0.25, _STEP * np.sqrt(max(own + edges[0], 0.0))))
    return np.concatenate([plain[plain > end], plain[plain < -own], edges])


def far_out(prior: tuple[float, float]) -> float:
    """Observations beyond which the edges of a strong prior are those of a weak one."""
    return _FAR * max(prior) if max(prior) > _WEAK_PRIOR else np.inf


def _far_edges(prior: tuple[float, float], other: float, trim: float, last: float) -> Array:
    """In proportion to 1/√`other` up to the trim; and beyond the last."""
    first, step, beyond = far_out(prior), 1 + _STEP / np.sqrt(other), last * _AHEAD ** np.arange(1, 13)
    count = np.log(max(min(2 * other / trim, last) / first, 1.0)) / np.log(step)
    near = first * step ** np.arange(1, count + 1) if step < _AHEAD else np.zeros(0)
    return np.concatenate([near, beyond])


@dataclass(frozen=True, slots=True)
class _Moments:
    """At every pair of counts: log Z, and the means and second moments of x and y, both measured from mid-range."""

    log_z: Array
    mean: tuple[Array, Array]
    second: tuple[Array, Array, Array]

    def mean_of(self, d: tuple[int, int]) -> Array:
        return d[0] * self.mean[0] + d[1] * self.mean[1]

    def variance_of(self, d: tuple[int, int]) -> Array:
        xx, yy, xy = self.second
        raw = d[0] ** 2 * xx + d[1] ** 2 * yy + 2 * d[0] * d[1] * xy
        return np.maximum(raw - self.mean_of(d) ** 2, 0.0)


class VarianceMap:
    """Ceilings for s in cell i and f in cell j; cell 0 lies below `edges[0]`, the last one above `edges[-1]`."""

    def __init__(
        self, grid: BlockGrid, edges: Edges, axes: Sequence[tuple[int, int]] = AXES, ordered: bool = False
    ) -> None:
        self._edges = edges
        middles = (edges[0][1:] + edges[0][:-1]) / 2, (edges[1][1:] + edges[1][:-1]) / 2
        corners, centres = _moments(grid, edges), _moments(grid, middles)
        fall = _least_fall(grid, edges)
        self._tops = []
        for d in axes:
            b = grid.change(d)
            top = np.full((len(edges[0]) + 1, len(edges[1]) + 1), float(np.ptp(b)) ** 2 / 4)
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                step = float(np.abs(np.diff(b)).max())
                concave = np.where(fall > 0, step**2 / (np.minimum(fall, 1.0) * (1 - _CONCAVE_SLACK)), np.inf)
                bounds = (
                    (np.s_[1:-1, 1:-1], _from_centres(grid, corners, centres, edges, d)),
                    (np.s_[:-1, 1:], _from_corner(grid, corners, edges, d, 0)),
                    (np.s_[1:, :-1], _from_corner(grid, corners, edges, d, -1)),
                    (np.s_[1:, 1:], concave),
                )
            for place, bound in bounds:
                top[place] = np.fmin(top[place], bound)  # an undefined bound is none
            if ordered:
                _lower_by_order(top[1:-1, 1:-1], grid, edges, b, centres.variance_of(d))
            self._tops.append(RangeMaximum(top))

    def largest(self, axis: int, s: tuple[Array, Array], f: tuple[Array, Array]) -> Array:
        """The largest ceiling on rectangles of counts, given by their (lowest, highest) s and f, elementwise."""
        ends = []
        for edges, (low, high) in zip(self._edges, (s, f), strict=True):
            first = np.searchsorted(edges, low, side="right")
            ends.append((first, np.maximum(first, np.searchsorted(edges, high, side="left"))))
        return self._tops[axis].query(ends[0], ends[1])


def _moments(grid: BlockGrid, at: Edges) -> _Moments:
    """By products of matrices: θ^s·(1−θ)^f separates. Sums too small to hold come out undefined, and bound nothing."""
    rows = grid.log_prior + at[0][:, None] * grid.success
    columns = at[1][:, None] * grid.failure
    row_top, column_top = rows.max(axis=1, keepdims=True), columns.max(axis=1, keepdims=True)
    left, right = (np.exp(np.maximum(log, LOWEST)) for log in (rows - row_top, (columns - column_top).T))
    x, y = grid.success - _middle(grid.success), grid.failure - _middle(grid.failure)
    left_x, right_y = left * x, right * y[:, None]
    z = left @ right
    z[z < _LEAST] = np.nan
    mean = (left_x @ right) / z, (left @ right_y) / z
    second = ((left_x * x) @ right) / z, (left @ (right_y * y[:, None])) / z, (left_x @ right_y) / z
    return _Moments(np.log(z) + row_top + column_top.T, mean, second)


def _middle(b: Array) -> float:
    return float(b.max() + b.min()) / 2


def _from_centres(grid: BlockGrid, corners: _Moments, centres: _Moments, edges: Edges, d: tuple[int, int]) -> Array:
    inside = len(edges[0]) - 1, len(edges[1]) - 1
    half = np.diff(edges[0]) / 2, np.diff(edges[1]) / 2
    slope_s, slope_f = centres.mean[0] + _middle(grid.success), centres.mean[1] + _middle(grid.failure)
    variance, mean = corners.variance_of(d), corners.mean_of(d)
    worst = np.zeros(inside)
    for p, q in ((0, 0), (0, 1), (1, 0), (1, 1)):
        at = np.s_[p : p + inside[0], q : q + inside[1]]
        tangent = slope_s * ((2 * p - 1) * half[0])[:, None] + slope_f * ((2 * q - 1) * half[1])[None, :]
        rise = corners.log_z[at] - centres.log_z - tangent
        worst = np.maximum(worst, np.exp(rise) * (variance[at] + (mean[at] - centres.mean_of(d)) ** 2))
    return worst


def _from_corner(grid: BlockGrid, corners: _Moments, edges: Edges, d: tuple[int, int], k: int) -> Array:
    """E(b − b_k)²/p_k at every corner, k the lowest or the highest point."""
    log_w = grid.log_prior[k] + edges[0][:, None] * grid.success[k] + edges[1][None, :] * grid.failure[k]
    b_k = d[0] * (grid.success[k] - _middle(grid.success)) + d[1] * (grid.failure[k] - _middle(grid.failure))
    square = corners.variance_of(d) + (corners.mean_of(d) - b_k) ** 2
    bound: Array = square * np.exp(corners.log_z - log_w)
    return bound


def _lower_by_order(tops: Array, grid: BlockGrid, edges: Edges, b: Array, variances: Array) -> None:
    """Where counts before are none below zero and ceilings stand above half of the largest variance met in a middle."""
    steps = np.diff(b)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        return
    open_ = (edges[0][:-1] >= 0)[:, None] & (edges[1][:-1] >= 0)[None, :]
    met = float(np.nanmax(np.where(open_, variances, np.nan)))
    i, j = np.nonzero(open_ & (tops > met * _WORTH))
    for part in np.array_split(np.arange(len(i)), max(1, len(i) * grid.size // _CHUNK)):
        s, f = i[part], j[part]
        low = tables(grid, edges[0][s], edges[1][f + 1])
        high = tables(grid, edges[0][s + 1], edges[1][f])
        centre = ((low @ b + high @ b) / 2)[:, None]
        square = (b - centre) ** 2
        above = b >= centre if b[-1] > b[0] else b <= centre
        bound = (np.where(above, high, low) * square).sum(axis=1)
        tops[s, f] = np.minimum(tops[s, f], bound * (1 + 1e-9))


def _least_fall(grid: BlockGrid, edges: Edges) -> Array:
    """min_k of −(log w_{k+1} − 2·log w_k + log w_{k−1}) at the corners with s, f ≥ 0; none elsewhere."""
    falls = [-np.diff(part, 2) for part in (grid.success, grid.failure, grid.log_prior)]
    least = np.full((len(edges[0]), len(edges[1])), -np.inf)
    if min(falls[0].min(), falls[1].min()) < 0:
        return least
    first, second = (int(np.searchsorted(side, 0.0)) for side in edges)
    counts = edges[1][second:]
    for i, s in enumerate(edges[0][first:]):
        along_s = s * falls[0] + falls[2]
        for part in np.array_split(np.arange(len(counts)), max(1, len(counts) * grid.size // _CHUNK)):
            least[first + i, second + part] = (along_s + counts[part, None] * falls[1]).min(axis=1)
    return least


class RangeMaximum:
    """The largest entry of any rectangle of a table, from four overlapping blocks of sizes that are powers of two."""

    def __init__(self, table: Array) -> None:
        levels = [int(np.log2(size)) + 1 for size in table.shape]
        blocks = np.zeros((*levels, *table.shape))
        blocks[0, 0] = table
        for a in range(levels[0]):
            if a:
                half = 1 << (a - 1)
                blocks[a, 0] = blocks[a - 1, 0]
                blocks[a, 0, :-half] = np.maximum(blocks[a - 1, 0, :-half], blocks[a - 1, 0, half:])
            for c in range(1, levels[1]):
                half = 1 << (c - 1)
                blocks[a, c] = blocks[a, c - 1]
                blocks[a, c, :, :-half] = np.maximum(blocks[a, c - 1, :, :-half], blocks[a, c - 1, :, half:])
        self._blocks = blocks
        self._log = np.floor(np.log2(np.maximum(np.arange(max(table.shape) + 1), 1))).astype(np.int64)

    def query(self, rows: tuple[Index, Index], columns: tuple[Index, Index]) -> Array:
        """Over [first, last] of both, last included."""
        a, c = self._log[rows[1] - rows[0] + 1], self._log[columns[1] - columns[0] + 1]
        row_ends, column_ends = (rows[0], rows[1] + 1 - (1 << a)), (columns[0], columns[1] + 1 - (1 << c))
        corners = [self._blocks[a, c, row, column] for row in row_ends for column in column_ends]
        largest: Array = np.maximum.reduce(corners)
        return largest
