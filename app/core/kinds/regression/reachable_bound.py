"""How far the posteriors of n rows on a ball can be apart: what few people cannot reach is not charged.

`needle_bound.py` lets the other rows be any log-concave function. With T = τ/σ² times the number of rows, those of n people have
a tilt of at most t = T − s: the weights stay near the centre. In its notation, b = log P/Q, P_u ∝ Q·e^{ub}, |y| ≤ 1; p, q are the
lengths of z, z', and v = (u−1)⁺. P_u is e^{−wᵀΛw/2 + c·w} on the ball, Λ ≥ κ₀ = λ − svq². On a line Λ ≥ κ = λ + s((1−u)q² +
up²), else κ = κ₀.

1. **Middle.** At c = 0 the law is even, so E w = Mc, M = ∫₀¹ Cov_{θc}dθ, and ‖E w‖ ≤ |c|σ², |c| ≤ t + s(|1−u|q + up), σ² the
   largest variance of a coordinate: that of e^{−κt²/2} on |t| ≤ R (`segment_variance.py`, localized). Where κ₀ > 0 also M ≤ Λ⁻¹
   (Brascamp and Lieb), Λ ≥ κ₀ + ZᵀZ, c = Zᵀy + svy'z' with Z the rows of positive weight, t' = t + s·max(u, 1) together. With N
   = M^{½}, v = NZᵀy = |v|·e and θ = κ₀eᵀMe ≤ 1: |v|² ≤ t'·eᵀNZᵀZNe ≤ t'(1−θ), since NΛN ≤ 1, and |v|² ≤ t'²θ/κ₀, so ‖MZᵀy‖ =
   |v|·‖Ne‖ ≤ √(θ/κ₀)·min(√(t'(1−θ)), t'√(θ/κ₀)) ≤ max_{x≤t'} √(t'x)/(κ₀+x) (the way in which rows pull is the one they narrow),
   and svq/κ₀ for the rest. Or, on a line, max_{x≤t} √(tx)/(κ+x) for the others and s(|1−u|q + up)/κ for the two rows.
2. **Variance.** Var_u b ≤ C·E‖∇b‖² with C = 1/κ (Brascamp and Lieb) or 4R²/π² (Payne and Weinberger; κ ≥ 0). ∇b = s(Aw − a), A =
   z'z'ᵀ − zzᵀ, a = y'z' − yz, so E‖∇b‖² ≤ s²[(‖A‖r + ‖a‖)² + σ²‖A‖²_F] for ‖E w‖ ≤ r. With x the cosine of the rows: ‖a‖² ≤ p² +
   q² + 2pqx; ‖A‖²_F = p⁴ + q⁴ − 2p²q²x² and d = √((p²+q²)² − 4p²q²x²), A's eigenvalues being (q² − p² ± d)/2, fall with x and
   are largest at an end of p and of q; ‖A‖ falls with x and with the shorter row and rises with the longer.
   *Or* ∇b = s(z'ρ' − zρ), ρ = zᵀw − y: Λ ≥ κ₀ + s·u·zzᵀ and, for u ≤ 1, Λ ≥ λ + s(1−u)z'z'ᵀ, so zᵀΛ⁻¹z ≤ g = p²/(κ₀ + sup²) and
   z'ᵀΛ⁻¹z' ≤ g' = q²/(λ + s(1−u)q²) or q²/κ₀; Var_u b ≤ s²[√g'·‖ρ'‖ + √g·‖ρ‖]² with ‖ρ‖² ≤ (1 + pr)² + g.
   *Or*, in 2 and 3 dimensions, P_u is at most e^ω times the prior ν tilted by c, ω = (T + 2sv)R²/2 the range of the rows'
   squares; under that law every coordinate has at most its variance σ_d² at c = 0 (`coordinate_law.py`), and ½wᵀAw a range of
   R²d/2. So Var_u b ≤ e^ω·s²(‖a‖σ_d + R²d/4)², and σ² ≤ e^ω·σ_d².
   *Or* P_u is at most e^Ω times ν itself. By Jensen's inequality Ω is at most the mean under ν of what the rows add to the
   exponent less its least: ½(T + sv)·h + ½sv·h' with h = 1 + σ_d² − (1−R)₊² and h' = (1+R)² − 1 − σ_d², the most that (y −
   zᵀw)² can be in the mean above its least and at most above its mean. ν is even, so that Var_u b ≤ e^Ω·s²(‖a‖²σ_d² + ¼Var
   wᵀAw), and by its symmetry Var wᵀAw = ‖A‖²_F·(m₄ − m₂²) + 2p²q²(1−x²)·(m₂² − m₄/3), m_j the moments of a coordinate.
   *Or* the largest over segments (`needle_bound.py`, 3).
3. **Cap.** N(x), the difference of two means of b, is at most sup b − E_Q b. With f(w̄) + ½Var zᵀw for the mean of f that is
   at most s/2·[(1+R)² − (1−R)₊² + (1+r)² − (1−r)₊² + σ²], r at u = 0.
4. D_α = ∫₀¹ N(x)dx, N(x) at most the cap and the integral over [1−x, 1+x(α−1)] of 2., a step function of u, for boxes of (p, q).

k rows a person count in s. Then b is a sum over pairs of rows, its sd and ‖∇b‖ at most the sums: the largest over pairs is taken
at every u, with p = q = 1 in κ and c, and without the second bound of 2.
"""

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.coordinate_law import coordinate_moments, coordinate_variance
from app.core.kinds.regression.needle_bound import capped, largest_needle_variances, loss_range
from app.core.kinds.regression.segment_variance import truncated_variances

Array = NDArray[np.float64]
Ends = tuple[Array, Array]

ROUNDING = 1 + 1e-9
LENGTHS, COSINES, BEFORE, AFTER = 12, 12, 6, 48


@dataclass(frozen=True, slots=True)
class _Rows:
    """s and T; λ, R and d of the ball; and whether a person has several rows."""

    strength: float
    total: float
    prior: float
    radius: float
    dimension: int
    several: bool


@lru_cache(maxsize=512)
def reachable_bounds(
    orders: tuple[float, ...],
    strength: float,
    total: float,
    prior: float,
    radius: float,
    dimension: int,
    several: bool = False,
) -> tuple[float, ...]:
    """Upper bounds of D_α (KL at order 1) where all rows together have strength `total` = nτ/σ², targets of size 1."""
    rows = _Rows(strength, max(total, strength), prior, radius, dimension, several)
    spread = float(_spread(rows, np.array([prior]), np.array([0.0]))[0])
    r = min(farthest_mean(rows.total, prior), rows.total * spread) * ROUNDING
    cap = strength * loss_range(radius, dimension)
    if r >= radius:
        return (cap,) * len(orders)
    halves = sum((1 + x) ** 2 - max(1 - x, 0.0) ** 2 for x in (radius, r))
    cap = min(cap, strength / 2 * (halves + spread) * ROUNDING)
    u = np.concatenate([np.linspace(0, 1, BEFORE + 1), 1 + _places(strength, prior, max(orders) - 1)[1:]])
    variance = _variances(rows, u)
    return tuple(min(cap, _divergence(order - 1, u, variance, cap)) * ROUNDING for order in orders)


def _places(strength: float, prior: float, most: float) -> Array:
    """Nodes of u − 1, many where the curvature is used up."""
    turn = prior / strength
    near = turn * (1 + np.array([-1, 1])[:, None] * 2.0 ** -np.arange(0, 12)).ravel()
    wide = 10.0 ** np.linspace(-2, math.log10(max(most, 1e-1)), AFTER)
    nodes = np.unique(np.concatenate([[0.0], near, [turn], wide]))
    return np.append(nodes[nodes < most], most) if most > 0 else np.zeros(1)


def farthest_mean(weight: float, curvature: float) -> float:
    """How far rows of that strength together can pull the mean, max_{x≤t} √(tx)/(κ+x)."""
    return float(_pull(np.array(weight), np.array(curvature)))


def _pull(weight: Array, curvature: Array) -> Array:
    x = np.minimum(weight, curvature)
    return np.asarray(np.sqrt(weight * x) / (curvature + x))


def _close(rows: _Rows, beyond: Array) -> Array:
    """e^ω, infinite where it is not used."""
    if rows.dimension not in (2, 3):
        return np.full_like(beyond, np.inf)
    return np.exp(np.minimum((rows.total + 2 * rows.strength * beyond) * rows.radius**2 / 2, 600.0))


def _above_prior(rows: _Rows, beyond: Array) -> Array:
    """e^Ω."""
    R, s = rows.radius, rows.strength
    square = coordinate_variance(rows.prior * R**2, rows.dimension) * R**2
    added = (rows.total + s * beyond) * (1 + square - max(1 - R, 0.0) ** 2) + s * beyond * ((1 + R) ** 2 - 1)
    return np.exp(np.minimum(added / 2, 600.0)) * ROUNDING


def _spread(rows: _Rows, curvature: Array, beyond: Array) -> Array:
    """σ² of a coordinate."""
    R = rows.radius
    ball = _close(rows, beyond) * coordinate_variance(rows.prior * R**2, rows.dimension)
    return np.asarray(np.minimum(truncated_variances(curvature * R**2), ball) * R**2 * ROUNDING)


def _variances(rows: _Rows, u: Array) -> Array:
    """(boxes of (p, q), cells of u): the least of the bounds of step 2, each at its largest there."""
    s, R, prior, low, high = rows.strength, rows.radius, rows.prior, u[:-1], u[1:]
    ends = np.linspace(0, 1, LENGTHS + 1)
    p0, q0 = (each.ravel()[:, None] for each in np.meshgrid(ends[:-1], ends[:-1], indexing="ij"))
    p1, q1 = p0 + 1 / LENGTHS, q0 + 1 / LENGTHS
    longest = (np.ones_like(p1), np.ones_like(q1)) if rows.several else (p1, q1)
    beyond = np.maximum(high - 1, 0)
    plain = prior - s * beyond * longest[1] ** 2
    line = rows.dimension == 1 and not rows.several
    kappa = plain
    if line:
        kappa = np.minimum(*(prior + s * (p0**2 * x + np.where(x <= 1, q0, q1) ** 2 * (1 - x)) for x in (low, high)))
    spread = _spread(rows, kappa, beyond)
    r = _middle(rows, u, longest, (plain, kappa), spread)
    squares, near, at_prior = _squares(rows, (p0, p1), (q0, q1), r, spread)
    safe, bound = np.maximum(kappa, 1e-12 * prior), np.maximum(plain, 1e-12 * prior)
    found = np.where(kappa > 0, squares * np.minimum(1 / safe, 4 * R**2 / math.pi**2), np.inf)
    if not rows.several:
        g = p1**2 / (bound + s * low * p1**2)
        other = q1**2 / np.where(high <= 1, prior + s * np.maximum(1 - high, 0) * q1**2, bound)
        by_rows = sum(np.sqrt(x * ((1 + length * r) ** 2 + x)) for x, length in ((g, p1), (other, q1))) ** 2
        found = np.minimum(found, np.where(plain > 0, by_rows, np.inf))
    found = np.minimum(found, _close(rows, beyond) * near)
    found = np.minimum(found, _above_prior(rows, beyond) * at_prior) * s**2 * ROUNDING
    needles = largest_needle_variances(tuple(u[u >= 1] - 1), s, prior, R, rows.dimension)
    needles = np.concatenate([np.full(BEFORE, needles[0]), np.maximum(needles[1:], needles[:-1])])
    return np.minimum(found.max(axis=0, keepdims=True) if rows.several else found, needles)


def _middle(rows: _Rows, u: Array, longest: Ends, curvatures: tuple[Array, Array], spread: Array) -> Array:
    """r of step 1, in every box and cell."""
    s, low, high, rest = rows.strength, u[:-1], u[1:], rows.total - rows.strength
    (p, q), (plain, kappa) = longest, curvatures
    own = s * (np.where(high <= 1, 1 - low, high - 1) * q + high * p)
    safe = np.maximum(plain, 1e-12 * rows.prior)
    pulled = _pull(rest + s * np.maximum(high, 1), safe) + s * np.maximum(high - 1, 0) * q / safe
    r = np.minimum((rest + own) * spread, np.where(plain > 0, pulled, np.inf))
    if rows.dimension == 1:
        safe = np.maximum(kappa, 1e-12 * rows.prior)
        pulled = _pull(np.full_like(high, rest), safe) + own / safe
        r = np.minimum(r, np.where(kappa > 0, pulled, np.inf))
    return np.asarray(np.minimum(r, rows.radius) * ROUNDING)


def _squares(rows: _Rows, p: Ends, q: Ends, r: Array, spread: Array) -> tuple[Array, Array, Array]:
    """(‖A‖r + ‖a‖)² + σ²‖A‖²_F, (‖a‖σ_d + R²d/4)², and ‖a‖²σ_d² + ¼Var wᵀAw under ν, the largest over cosines."""
    ends = np.linspace(0, 1, COSINES + 1) if rows.dimension > 1 else np.ones(2)
    short, long = np.minimum(p[0], q[0]) ** 2, np.maximum(p[1], q[1]) ** 2
    sd = math.sqrt(coordinate_variance(rows.prior * rows.radius**2, rows.dimension)) * rows.radius * ROUNDING
    second, fourth = (each * ROUNDING for each in coordinate_moments(rows.prior * rows.radius**2, rows.dimension))
    own, mixed = (rows.radius**4 / 4 * each for each in (fourth - second**2, max(second**2 - fourth / 3, 0.0)))
    best, near, at_prior = np.zeros_like(r), np.zeros_like(short), np.zeros_like(short)
    for x0, x1 in itertools.pairwise(ends):
        norm = (long - short + np.sqrt(np.maximum((long + short) ** 2 - 4 * long * short * x0**2, 0))) / 2
        a = np.sqrt(p[1] ** 2 + q[1] ** 2 + 2 * p[1] * q[1] * x1)
        corners = [(x**2, y**2) for x in p for y in q]
        frobenius = np.max([x**2 + y**2 - 2 * x * y * x0**2 for x, y in corners], axis=0)
        d = np.sqrt(np.max([(x + y) ** 2 - 4 * x * y * x0**2 for x, y in corners], axis=0))
        best = np.maximum(best, (norm * r + a) ** 2 + spread * frobenius)
        near = np.maximum(near, (a * sd + rows.radius**2 * d / 4) ** 2)
        crossed = 2 * (p[1] * q[1]) ** 2 * (1 - x0**2)
        at_prior = np.maximum(at_prior, (a * sd) ** 2 + own * frobenius + mixed * crossed)
    return best, near, at_prior


def _divergence(more: float, u: Array, variance: Array, cap: float) -> float:
    """∫₀¹ min(cap, N(x))dx at the worst box, N piecewise linear."""
    total = np.concatenate([np.zeros((len(variance), 1)), np.cumsum(variance * np.diff(u), axis=1)], axis=1)
    before = 1 - u[u <= 1]
    after = (u[u > 1] - 1) / more if more > 0 else before
    x = np.unique(np.concatenate([before, after[after < 1], [0.0, 1.0]]))
    mass = _at(1 + x * more, u, total) - _at(1 - x, u, total)
    rise, widths = np.maximum(np.diff(mass, axis=1), 0), np.diff(x)
    return float((capped(rise, np.array(cap)) * widths).sum(axis=1).max())


def _at(place: Array, u: Array, total: Array) -> Array:
    """Linear between nodes."""
    left = np.clip(np.searchsorted(u, place, side="right") - 1, 0, len(u) - 2)
    share = (place - u[left]) / (u[left + 1] - u[left])
    return np.asarray(total[:, left] * (1 - share) + total[:, left + 1] * share)
