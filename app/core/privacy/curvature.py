"""A certified ceiling of ψ″(t) = Var(τη) along all sums t of a fixed number of rows: linear pieces, tight to a percent.

Let Z = Σ w·e^{tx} be the partition function of a finite table with points x = τη, τ₁ = Z, τ₂ = Z²·q with q = ψ″ and
τ₃ = Z³·D with D = μ₄μ₂ − μ₃² − μ₂³. Each is a sum of exponentials in t with positive weights (over pairs of points,
(x_i − x_j)²/2; over triples, the square of their Vandermonde determinant/6), so each log τ is convex. With
a = τ₃τ₁/τ₂² = D/q² differentiating gives (the Toda equations)

    (log τ₁)″ = q,   (log τ₂)″ = a,   hence (log q)″ = a − 2q   and   (log a)″ ≥ q − 2a ≥ −2a.

On [u, u+h], from values at the two ends alone:
  1. a convex f with slopes s₀, s₁ at the ends lies at most h(s₁ − s₀)/4 below its chord, so log q ≤ chord + h·(m₁ − m₀)/2
     with m the mean (f = log τ₁), and log a ≤ chord + h·(c₁ − c₀)/2 with c = 2m + μ₃/μ₂ (f = log τ₂);
  2. with a ≤ A from 1, log a ≥ log a₀ + v₀·s − A·s² at a distance s from an end where (log a)′ = v₀; that is concave in s,
     so on the nearer half it is smallest at s = 0 or s = h/2: a ≥ some a₋;
  3. with q ≤ Q from 1, (log q)″ ≥ a₋ − 2Q, so log q ≤ chord + β, β = (h²/8)·max(0, 2Q − a₋).
The chord of log q lies below the logarithm of the chord of q: q(t) ≤ e^β·chord. For a normal posterior and h of 0.35 of
1/sd, β is 0.003; where nothing is known of a, a₋ = 0 is true.

All this holds for the table cut to a window of points, which cells that lie together share. What is outside weighs at most
o(t), hence ψ″ ≤ q + o·R², R the width of x; each of its terms is log-concave in t with second derivative −q, so between
two ends each exceeds its own larger value there by at most e^{h²Q/8} (`windows.py`), and their sum the sum of both ends' o.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import PublicGrid
from app.core.privacy.windows import beyond_edges, means_peaking_at, points_per_sd

Array = NDArray[np.float64]

CELL_SDS, CELL_SDS_MANY = 0.2, 0.35
"""Width of a cell in units of 1/sd: finer, and β in the ten-thousandths, where that takes fewer than CELLS_MANY."""
CELLS_MANY = 4_000
GROWTH = 0.1
LOOSE = 4e-3
SPARSE = 0.4
"""Points of the grid to a posterior sd below which `cells.py` serves better."""
_BLOCK = 8
_PARTS = 4
_ROUNDS = 3
_CHUNK_ELEMENTS = 120_000
_WORK_MAX = 24_000_000
_OUTSIDE_MAX = 1e-15
_NEGLIGIBLE = 1e-7
_TINY = 1e-300
_LOST = 1e-11
"""Of a sum of powers about the block's centre, what rounding may move a central moment by: 2⁻⁵³ times a few hundred."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """ψ″ ≤ the line from `left[i]` to `right[i]` on [nodes[i], nodes[i+1]]."""

    nodes: Array
    left: Array
    right: Array

    def mirrored(self) -> "Ceiling":
        return Ceiling(-self.nodes[::-1], self.right[::-1], self.left[::-1])


def curvature_ceiling(grid: PublicGrid, rows: int, ends: tuple[float, float]) -> Ceiling | None:
    """A ceiling of ψ″ on [ends]; none where the grid is much coarser than its posteriors or a window had no bound."""
    spread = points_per_sd(grid, float(rows))
    if spread < SPARSE:
        return None
    width_sds = CELL_SDS if grid.size <= CELLS_MANY * CELL_SDS * spread else CELL_SDS_MANY
    nodes = _nodes(grid, rows, ends, width_sds * spread)
    if len(nodes) <= _BLOCK:
        return None
    blocks = nodes[np.arange(0, len(nodes) - 1, _BLOCK)[:, None] + np.arange(_BLOCK + 1)]
    width = block_window(grid, rows, blocks)
    left_over = _WORK_MAX - blocks.size * width
    if left_over < 0:
        return None
    found = _bound(grid, rows, blocks, width)
    for _ in range(_ROUNDS):
        tallest = np.maximum(found.left, found.right)
        worth = tallest > _NEGLIGIBLE * np.max(tallest, where=np.isfinite(tallest), initial=0.0)
        chosen = ~(found.excess <= LOOSE) & worth
        left_over -= int(chosen.sum()) * (_PARTS + 1) * width
        if not chosen.any() or left_over < 0:
            break
        cut = np.linspace(found.starts[chosen], found.ends[chosen], _PARTS + 1, axis=1)
        found = found.replaced(chosen, _bound(grid, rows, cut, width))
    if np.isinf(found.left).any():
        return None  # what is undefined, unlike what is infinite, stays for the caller to refuse
    order = np.argsort(found.starts)
    return Ceiling(np.append(found.starts[order], found.ends[order[-1]]), found.left[order], found.right[order])


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Cells [start, end] with the ceiling at both, and how far it may lie above ψ″ between them, as a logarithm."""

    starts: Array
    ends: Array
    left: Array
    right: Array
    excess: Array

    def replaced(self, chosen: NDArray[np.bool_], finer: "_Bounds") -> "_Bounds":
        return _Bounds(*(np.concatenate([getattr(self, f)[~chosen], getattr(finer, f)]) for f in self.__slots__))


def _nodes(grid: PublicGrid, rows: int, ends: tuple[float, float], stride: float) -> Array:
    """Ends of cells that cover [ends], a multiple of _BLOCK of them: `stride` grid points apart where posteriors peak
    inside the trim, growing with the distance outside, where a posterior piles up and its sd falls like 1/distance.
    """
    count = max(2, int(np.ceil((grid.size - 1) / stride)) + 1)
    means = np.interp(np.linspace(0, grid.size - 1, count), np.arange(grid.size), grid.mean)
    inner = np.unique(means_peaking_at(grid, means, rows) * rows)
    if len(inner) < 2:
        return inner
    below = inner[0] - _outward(inner[0] - ends[0], inner[1] - inner[0])
    above = inner[-1] + _outward(ends[1] - inner[-1], inner[-1] - inner[-2])
    nodes = np.concatenate([below[::-1], inner, above])
    first = np.searchsorted(nodes, ends[0], side="right") - 1
    last = np.searchsorted(nodes, ends[1], side="left")
    nodes = nodes[first : last + 1]
    missing = -(len(nodes) - 1) % _BLOCK
    return np.append(nodes, nodes[-1] + (nodes[-1] - nodes[-2]) * np.arange(1, missing + 1))


def _outward(room: float, first: float) -> Array:
    """Distances to `room` and beyond, in steps of `first` or GROWTH of the distance."""
    distances = [first]
    while distances[-1] < room:
        distances.append(distances[-1] + max(first, GROWTH * distances[-1]))
    return np.array(distances)


def block_window(grid: PublicGrid, rows: int, blocks: Array) -> int:
    """A window outside which the blocks looked at keep no weight that matters."""
    some = blocks[:: max(1, len(blocks) // 64)]
    width = 32
    while width < grid.size and not block_tables(grid, rows, some, width)[2].max() < _OUTSIDE_MAX:
        width += width // 4
    return min(width, grid.size)


def _bound(grid: PublicGrid, rows: int, blocks: Array, width: int) -> _Bounds:
    """Bounds for every cell between neighbouring nodes of a block, one block to a row."""
    size = max(1, _CHUNK_ELEMENTS // (width * blocks.shape[1]))
    parts = [_bound_chunk(grid, rows, blocks[i : i + size], width) for i in range(0, len(blocks), size)]
    left, right, excess = (np.concatenate(column).ravel() for column in zip(*parts, strict=True))
    return _Bounds(blocks[:, :-1].ravel(), blocks[:, 1:].ravel(), left, right, excess)


def block_tables(grid: PublicGrid, rows: int, blocks: Array, width: int) -> tuple[Array, Array, Array]:
    """(x less its value at the peak, weights e^{log w − max}, bound on the weight outside) on one window a block."""
    width = min(width, grid.size)
    power, middle = grid.temperature, (blocks[:, 0] + blocks[:, -1]) / 2
    peak = np.searchsorted(grid.mean, (power * middle + grid.prior_sum) / (power * rows + grid.prior_rows))
    first = np.clip(peak - width // 2, 0, grid.size - width)
    columns = first[:, None] + np.arange(width)
    anchor = np.clip(peak, 0, grid.size - 1)[:, None]
    x = power * (grid.eta[columns] - grid.eta[anchor])
    base = grid.log_prior[columns] + x * middle[:, None]
    base -= power * rows * (grid.partition[columns] - grid.partition[anchor])
    log_w = (blocks - middle[:, None])[:, :, None] * x[:, None, :]
    log_w += base[:, None, :]
    log_w -= log_w.max(axis=2, keepdims=True)
    weights = np.exp(log_w)
    log_z = np.log(weights.sum(axis=2))
    return x, weights, beyond_edges(grid, columns, log_w, log_z)


def _bound_chunk(grid: PublicGrid, rows: int, blocks: Array, width: int) -> tuple[Array, Array, Array]:
    x, weights, outside = block_tables(grid, rows, blocks, width)
    middle = weights[:, weights.shape[1] // 2]
    middle = middle / middle.sum(axis=1, keepdims=True)
    x -= np.einsum("ij,ij->i", middle, x)[:, None]
    # Not so small that powers overflow where a table is all but a single point; any unit serves.
    unit = np.sqrt(np.einsum("ij,ij->i", middle, x**2))[:, None] + 1e-6 * (x[:, -1:] - x[:, :1])
    x /= unit
    powers = np.empty((len(x), 6, x.shape[1]))
    powers[:, 0] = 1.0
    for i in range(5):
        np.multiply(powers[:, i], x, out=powers[:, i + 1])
    nodes = _moments(weights @ powers.transpose(0, 2, 1))
    step = np.diff(blocks, axis=1) * unit
    q = nodes.variance
    top = np.maximum(q[:, :-1], q[:, 1:])
    with np.errstate(over="ignore", invalid="ignore"):
        highest = top * np.exp(step * np.diff(nodes.mean, axis=1) / 2)
        highest = np.fmin(highest, top * np.exp(step**2 * highest / 4))
        bump = step**2 / 8 * np.maximum(0.0, 2 * highest - _least_third(nodes, step))
        beyond = (outside[:, :-1] + outside[:, 1:]) * np.exp(step**2 * highest / 8)
        beyond = np.where(outside[:, :-1] + outside[:, 1:] == 0, 0.0, beyond)
        lifted = unit**2 * np.exp(bump)
        spill = beyond * (grid.temperature * (grid.eta[-1] - grid.eta[0])) ** 2
        left, right = lifted * q[:, :-1] + spill, lifted * q[:, 1:] + spill
        larger, smaller = np.maximum(left, right) + _TINY, np.minimum(left, right) + _TINY
        excess = bump + np.log(larger / smaller) ** 2 / 8 + spill / larger
    return left, right, excess


@dataclass(frozen=True, slots=True)
class _Nodes:
    """At every node, x in the block's unit: m, q, a = D/q², c = (log τ₂)′, (log a)′; `known` where a is computed well."""

    mean: Array
    variance: Array
    third: Array
    slope: Array
    third_slope: Array
    known: NDArray[np.bool_]


def _moments(sums: Array) -> _Nodes:
    """From Σ w·xʲ, j = 0 … 5. P = x² − (μ₃/μ₂)·x − μ₂ is the second orthogonal polynomial: D/q = E P²,
    (log τ₃)′ = 3m + μ₃/μ₂ + E[xP²]/E[P²] with x centred, and (log a)′ = E[xP²]/E[P²] − μ₃/μ₂.
    """
    _, m, r2, r3, r4, r5 = np.moveaxis(sums / sums[..., :1], 2, 0)
    q = np.maximum(r2 - m**2, 0.0) + _LOST * r2
    mu3 = r3 - 3 * m * r2 + 2 * m**3
    mu4 = r4 - 4 * m * r3 + 6 * m**2 * r2 - 3 * m**4
    mu5 = r5 - 5 * m * r4 + 10 * m**2 * r3 - 10 * m**3 * r2 + 4 * m**5
    known = (q > 1e-3 * r2) & (mu4 > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        skew = mu3 / q
        square = mu4 - skew * mu3 - q**2
        known &= square > 1e-3 * mu4
        lean = (mu5 - 2 * skew * mu4 + (skew**2 - 2 * q) * mu3 + 2 * skew * q**2) / square - skew
        third = square / q
    return _Nodes(m, q, third, 2 * m + skew, lean, known)


def _least_third(nodes: _Nodes, step: Array) -> Array:
    """A lower bound of a on every cell: 2 of the module's text, with what rounding may have moved taken off."""
    a, lean = nodes.third, nodes.third_slope
    most = np.maximum(a[:, :-1], a[:, 1:]) * np.exp(step * np.diff(nodes.slope, axis=1) / 2 + 1e-6)
    half = step / 2
    falls = np.minimum(0.0, lean[:, :-1] * half) - most * half**2
    rises = np.minimum(0.0, -lean[:, 1:] * half) - most * half**2
    least = np.minimum(a[:, :-1] * np.exp(falls), a[:, 1:] * np.exp(rises)) * (1 - 1e-6)
    known = nodes.known[:, :-1] & nodes.known[:, 1:]
    return np.where(known & (least > 0), least, 0.0)
