"""Posteriors of few people in a ball much wider than they are: the divergence of two normal laws, in closed form.

P and Q of `needle_bound.py` without the ball are normal laws P°, Q°, and P_u is P°_u ∝ Q°e^{ub}. In the ball B, P = P°/P°(B) and
Q = Q°/Q°(B), so the first; D_α is an integral of variances of b, which are E(b − E°b)² at most, so the second of

    D_α(P‖Q) ≤ D_α(P°‖Q°) + α/(α−1)·log 1/P°(B),    D_α(P‖Q) ≤ D_α(P°‖Q°)/min_{0≤u≤α} P°_u(B).

P°_u has precision at least κ = λ − s(u−1)⁺ and, of rows of strength T together, a mean of at most r = max_{x≤T'} √(T'x)/(κ+x) +
s(u−1)/κ (T' = T + s(u−1)⁺; `reachable_bound.py`, 1): 1 − P°_u(B) is at most the chance that a χ of d degrees of freedom exceeds
(R − r)√κ.

**Any dimension.** Let the other rows, of strength t, have precision M ≥ λ and mean μ. Whitened by M and times √s the two rows are
a, b with x = |a|², x' = |b|² ≤ s/λ and χ = a·b, and leave residuals ρ, ρ' at μ. With β = α − 1 and D = (1+αx)(1−βx') + αβχ² > 0,

    D_α = [α·log(1+x) − β·log(1+x') − log D]/2β + sα/2D·(E·ρ² − 2χρρ' + E'·ρ'²),
    E = [(1−βx')x + αχ²]/(1+x),   E' = [(1+αx)x' − βχ²]/(1+x').

A quadratic form in (ρ, ρ') = (y − m, y' − m'), at least 0: its root is at most its root at (1, ∓1) and at (m, m') = (a·v,
b·v)/√s, v = M^{½}μ = M^{−½}Zᵀy. There it is at most |v|²/s ≤ t²/(λ+t)/s times the trace of E·aaᵀ − χ(abᵀ+baᵀ) + E'·bbᵀ. And
with g = M^{−½}a, for which gᵀMg = x and gᵀM²g ≤ s, (a·v)² = (gᵀZᵀy)² ≤ t·gᵀZᵀZg = t(x − λ|g|²) ≤ tx(1 − λx/s), |g|² being at
least x²/s: rows that pull far leave less width. So |m|² ≤ (t/s)·x(1 − λx/s), the same of m' and x', and −2mm' ≤ |v|²/s·(√(xx')
− χ) for χ ≥ 0.

**On a line**, with x the curvature of the other rows, L = λ + x, k = L + sp², k' = L + sq² and k_α = αk − βk' > 0,

    D_α ≤ [α·log k − β·log k' − log k_α]/2β + αs²/2k_α·(A + √(tx)·|q²−p²|/√(kk'))²,   A = (p+q)·(L+spq)/√(kk').

Both are maximised by halving boxes, every part at its largest in a box: the first term rises with x and with x' and falls with
χ², on a line it falls with L and is largest at (p, q) farthest apart; E and E' rise with x and x' (E with x' or 1 − x' by the
sign of αχ²/xx' − β); A is (p+q)/√(1 + sL(p−q)²/(L+spq)²).
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.reachable_bound import farthest_mean

Array = NDArray[np.float64]

LEAST = 1.05
"""The order that stands for those below."""
FIRST = 6
LINE_BOXES_MAX, SPACE_BOXES_MAX = 6_000, 24_000
LINE_SIDES, SPACE_SIDES = (1.0, 1.0, 1.0), (1.0, 2.0, 0.6)
"""How much a side of a box counts when it is halved across its longest: in space the second moves the bound most."""
TOLERANCE = 1.03
WORTH = 0.95
ROUNDING = 1 + 1e-9


@lru_cache(maxsize=512)
def wide_ball_bounds(
    orders: tuple[float, ...],
    known: tuple[float, ...],
    strength: float,
    total: float,
    prior: float,
    radius: float,
    dimension: int,
) -> tuple[float, ...]:
    """Upper bounds of D_α, computed where they may be less than `known`, else infinite; `total` is nτ/σ², one row a person."""
    alpha = np.maximum(np.array(orders), LEAST)
    cut = -alpha / (alpha - 1) * np.log(_inside(0.0, strength, total, prior, radius, dimension))
    share = np.array([_inside(order - 1, strength, total, prior, radius, dimension) for order in alpha.tolist()])
    room = WORTH * np.maximum(np.array(known) - cut, np.array(known) * share)
    problem = (strength, max(total - strength, 0.0), prior)
    shape = _line if dimension == 1 else _space
    top, highest = np.full(len(orders), math.inf), np.zeros(len(orders))
    finite = (alpha - 1) * strength < prior  # else powers of the rows p = 0, q = 1 have no integral
    active, boxes, first = np.flatnonzero((room > 0) & finite), _first_boxes(), True
    left, sides = (LINE_BOXES_MAX, LINE_SIDES) if dimension == 1 else (SPACE_BOXES_MAX, SPACE_SIDES)
    found = np.zeros(len(orders))
    while len(active):
        centres = boxes.mean(axis=2, keepdims=True).repeat(2, axis=2)
        if first:
            centres = np.concatenate([centres, np.repeat(boxes[:, :, 1:], 2, axis=2)])
        highest[active] = np.maximum(highest[active], shape(centres, alpha[active], *problem).max(axis=0))
        active = active[highest[active] < room[active]]
        upper = shape(boxes, alpha[active], *problem)
        wide = upper > TOLERANCE * highest[active]
        left -= 2 * int(wide.any(axis=1).sum())
        if left < 0:
            wide[:] = False
        found[active] = np.maximum(found[active], np.where(wide, 0.0, upper).max(axis=0, initial=0.0))
        done = active[~wide.any(axis=0)]
        top[done] = np.minimum(found[done] + cut[done], found[done] / share[done]) * ROUNDING
        boxes, active, first = _halved(boxes[wide.any(axis=1)], sides), active[wide.any(axis=0)], False
    return tuple(top.tolist())


def _inside(beyond: float, s: float, total: float, prior: float, radius: float, dimension: int) -> float:
    """P°_u(B) at u = 1 + `beyond` and all below, rounded down; next to nothing where it may be nothing."""
    from scipy.special import gammainc

    least = prior - s * beyond
    if not least > 0:
        return 1e-300
    reach = radius - farthest_mean(total + s * beyond, least) - s * beyond / least
    return max(float(gammainc(dimension / 2, least * reach**2 / 2)) * (1 - 1e-6), 1e-300) if reach > 0 else 1e-300


def _first_boxes() -> Array:
    ends = np.linspace(0, 1, FIRST + 1)
    places = np.stack(np.meshgrid(*[np.arange(FIRST)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return np.stack([ends[places], ends[places + 1]], axis=2)


def _halved(boxes: Array, sides: tuple[float, float, float]) -> Array:
    each, axis = np.arange(len(boxes)), ((boxes[:, :, 1] - boxes[:, :, 0]) * sides).argmax(axis=1)
    low, high = boxes.copy(), boxes.copy()
    low[each, axis, 1] = high[each, axis, 0] = boxes[each, axis].mean(axis=1)
    return np.concatenate([low, high])


def _sides(boxes: Array) -> list[tuple[Array, Array]]:
    """(low, high) of each coordinate, as columns."""
    return [(boxes[:, axis, 0, None], boxes[:, axis, 1, None]) for axis in range(3)]


def _space(boxes: Array, alpha: Array, s: float, t: float, prior: float) -> Array:
    """(boxes, orders) of (√(λx/s), √(λx'/s), |cosine|)."""
    (p0, p1), (q0, q1), (c0, c1) = _sides(boxes)
    x0, x1, y0, y1 = (s / prior * each**2 for each in (p0, p1, q0, q1))
    beta = alpha - 1
    low, high = c0**2 * x0 * y0, c1**2 * x1 * y1  # χ²
    det = (1 + alpha * x0) * (1 - beta * y1) + alpha * beta * low
    least = (1 + alpha * x1) * (1 - beta * y1) + alpha * beta * low
    positive = (1 - beta * y1 > 0) & (det > 0)
    det, least = (np.where(positive, each, 1.0) for each in (det, least))
    logs = (alpha * np.log1p(x1) - beta * np.log1p(y1) - np.log(least)) / (2 * beta)
    turn = alpha * c1**2 - beta
    first = x1 / (1 + x1) * (1 + np.where(turn > 0, y1, y0) * turn)
    second = y1 / (1 + y1) * (1 + x1 * (alpha - beta * c0**2))
    whole = np.maximum(first + second + 2 * np.sqrt(high), 0)
    trace = first * x1 + second * y1 - 2 * low
    one, two = (t / prior * _largest_share(low_side, high_side) for low_side, high_side in ((p0, p1), (q0, q1)))
    square = t**2 / (prior + t) / s  # |v|²/s
    crossed = np.sqrt(high) * np.minimum(2 * np.sqrt(one * two), square * (np.sqrt(x1 * y1) - np.sqrt(low)))
    shifted = np.minimum(trace * square, first * one + second * two + crossed)
    apart = s * alpha / (2 * det) * (np.sqrt(whole) + np.sqrt(np.maximum(shifted, 0))) ** 2
    return np.where(positive, logs + apart, math.inf)


def _largest_share(low: Array, high: Array) -> Array:
    """Of θ(1−θ), θ between two squares."""
    theta = np.clip(0.5, low**2, high**2)
    return np.asarray(theta * (1 - theta))


def _line(boxes: Array, alpha: Array, s: float, t: float, prior: float) -> Array:
    """(boxes, orders) of (p, q, √(x/t))."""
    (p0, p1), (q0, q1), (z0, z1) = _sides(boxes)
    (x0, x1), beta = (t * each**2 for each in (z0, z1)), alpha - 1
    least, most = prior + x0, prior + x1
    last = least + s * (alpha * p0**2 - beta * q1**2)
    positive = last > 0
    logs = np.maximum(_line_logs(p0, q1, least, s, alpha), _line_logs(p1, q0, least, s, alpha))
    gap = np.maximum(np.maximum(p0 - q1, q0 - p1), 0)
    product = s * p1 * q1
    bent = s * gap**2 * np.minimum(least / (least + product) ** 2, most / (most + product) ** 2)
    apart = np.maximum(np.abs(q1**2 - p0**2), np.abs(p1**2 - q0**2))
    pulled = np.sqrt(t * x1) * apart / np.sqrt((least + s * p0**2) * (least + s * q0**2))
    slope = (p1 + q1) / np.sqrt(1 + bent) + pulled
    square = alpha * s**2 / 2 * slope**2 / np.where(positive, last, 1.0)
    return np.where(positive, logs + square, math.inf)


def _line_logs(p: Array, q: Array, least: Array, s: float, alpha: Array) -> Array:
    a, b, beta = s * p**2 / least, s * q**2 / least, alpha - 1
    last = alpha * a - beta * b
    logs = alpha * np.log1p(a) - beta * np.log1p(b) - np.log1p(np.maximum(last, -0.999999))
    return np.where(last > -0.999999, logs / (2 * beta), math.inf)
