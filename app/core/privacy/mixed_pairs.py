"""The pure cost of the table really drawn, pair by pair: where one person moves the posterior by much of its own width.

Drawn is q_k = (1−γ)·p_k + γ/K, L_k = log q_k. For a fixed first dataset v the loss L_k(v) − L_k(v′) is largest at a vertex of
what v′ can be: log p_k is concave in the statistic, so q_k is smallest at a vertex. With one row a person v′ is then t ± Δ, or
an end of [0, nΔ] nearer than that.

Where t has too many values to visit, at nodes a whole part h of Δ apart. L″ = −wψ″ + w(1−w)ℓ′² lies in [−S, M] on a cell, so
a difference of L at two places has second derivative at least −(S + M), and lies above its larger value at the cell's ends by
at most (S + M)·h²/8. On [u₀, u₁]: ψ″ ≤ S = max(ψ₀″, ψ₁″)·e^{h(m₁−m₀)/2} (`curvature.py`, 1); p_k rises to its mode, then falls:
w(1−w) ≤ min(¼, larger w, 1 − smaller w) of the two ends for every point whose mode is not inside; ℓ′ is monotone, so |ℓ′| is at
most the larger of the two ends.

The same for the change of a point's own probability: p_k(v) − p_k(v′) is largest at a vertex too, and p″ = p·(ℓ′² − ψ″) lies in
[−p·S, p·ℓ′²], p at most the larger of the ends times e^{h²S/8}.
"""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE
from app.core.grids.public_grid import PublicGrid
from app.core.privacy.windows import beyond_edges

Array = NDArray[np.float64]

WORK_MAX = 1_200_000
"""Points of the grid times nodes."""
_EDGES = [0, 1, -2, -1]
NODE_SDS = 0.06
"""How far nodes are apart, in units of 1/sd: L is then straight between them to a few thousandths."""


@dataclass(frozen=True, slots=True)
class _Nodes:
    """At every node (a row) what is compared at every point, and what bounds its bend: p, w, ℓ′; m and ψ″."""

    value: Array
    p: Array
    share: Array
    away: Array
    mean: Array
    variance: Array


def log_drawn(log_p: Array, size: int) -> Array:
    """log q from log p on a grid of `size` points."""
    drawn: Array = np.log((1 - UNIFORM_SHARE) * np.exp(log_p) + UNIFORM_SHARE / size)
    return drawn


def log_window_drawn(grid: PublicGrid, rows: int, t: Array, columns: slice) -> tuple[Array, float]:
    """(log q at every sum in `t`, a row each, on some neighbouring points; a bound of what the others weigh in p)."""
    log_w = grid.log_prior[columns] - grid.temperature * rows * grid.partition[columns]
    log_w = log_w + t[:, None] * (grid.temperature * grid.eta[columns])
    log_w -= log_w.max(axis=1, keepdims=True)
    edges = log_w[:, None, _EDGES]
    p = np.exp(log_w, out=log_w)
    total = p.sum(axis=1, keepdims=True)
    places = np.tile(np.arange(grid.size)[columns][_EDGES], (len(t), 1))
    outside = beyond_edges(grid, places, edges, np.log(total))
    p *= (1 - UNIFORM_SHARE) / total
    p += UNIFORM_SHARE / grid.size
    return np.log(p, out=p), float(outside.max())


def pair_supremum(grid: PublicGrid, rows: int, step: int, sd: float, pointwise: bool = False) -> float:
    """sup |L_k(t) − L_k(t′)|, or of |p_k(t) − p_k(t′)|, for `rows` persons of one row in [0, step]; `sd` the largest of τη.

    Infinite where it would be too much work.
    """
    parts = min(step, max(1, ceil(step * sd / NODE_SDS)))
    if (rows * parts + 1) * grid.size > WORK_MAX:
        return np.inf
    nodes = _at(grid, rows, np.linspace(0.0, rows * step, rows * parts + 1), pointwise)
    value = nodes.value
    apart = value[parts:] - value[:-parts]
    ends = np.concatenate([value[: parts + 1] - value[0], value[-parts - 1 :] - value[-1]])
    if parts == step:
        return float(max(np.abs(apart).max(), ends.max()))
    sag, bulge = (_pointwise_bends if pointwise else _bends)(nodes, step / parts)
    cells = len(bulge) - parts
    up = np.maximum(apart[1:], apart[:-1]) + sag[parts:] + bulge[:cells]
    down = np.maximum(-apart[1:], -apart[:-1]) + sag[:cells] + bulge[parts:]
    return float(max(np.abs(apart).max(), up.max(initial=0.0), down.max(initial=0.0), ends.max() + sag.max()))


def _bends(nodes: _Nodes, h: float) -> tuple[Array, Array]:
    """(S·h²/8 for every cell, M·h²/8 for every cell and point) of L."""
    larger = np.maximum(nodes.share[1:], nodes.share[:-1])
    smaller = np.minimum(nodes.share[1:], nodes.share[:-1])
    weight = np.minimum(0.25, np.minimum(larger, 1 - smaller))
    weight[_turns(nodes)] = 0.25
    return _top(nodes, h) * h**2 / 8, weight * _slope(nodes) ** 2 * h**2 / 8


def _pointwise_bends(nodes: _Nodes, h: float) -> tuple[Array, Array]:
    """The same of p, both for every cell and point."""
    top = _top(nodes, h)
    largest = np.maximum(nodes.p[1:], nodes.p[:-1]) * np.exp(h**2 * top / 8)
    return largest * top * h**2 / 8, largest * _slope(nodes) ** 2 * h**2 / 8


def _top(nodes: _Nodes, h: float) -> Array:
    top: Array = np.maximum(nodes.variance[1:], nodes.variance[:-1]) * np.exp(h * np.diff(nodes.mean) / 2)
    return top[:, None]


def _turns(nodes: _Nodes) -> NDArray[np.bool_]:
    """Whether a point's mode lies inside the cell."""
    turns: NDArray[np.bool_] = nodes.away[1:] * nodes.away[:-1] < 0
    return turns


def _slope(nodes: _Nodes) -> Array:
    """|ℓ′| at most: it is monotone, so at an end of the cell, whether or not it turns its sign in between."""
    slope: Array = np.maximum(np.abs(nodes.away[1:]), np.abs(nodes.away[:-1]))
    return slope


def _at(grid: PublicGrid, rows: int, t: Array, pointwise: bool) -> _Nodes:
    x = grid.temperature * grid.eta
    log_w = grid.log_prior - grid.temperature * rows * grid.partition + t[:, None] * x
    log_w -= log_w.max(axis=1, keepdims=True)
    p = np.exp(log_w)
    p /= p.sum(axis=1, keepdims=True)
    drawn = p + UNIFORM_SHARE / ((1 - UNIFORM_SHARE) * grid.size)
    mean = p @ x
    away = x - mean[:, None]
    return _Nodes(p if pointwise else np.log(drawn), p, p / drawn, away, mean, (p * away**2).sum(axis=1))
