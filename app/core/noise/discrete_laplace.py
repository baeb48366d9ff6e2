"""Discrete Laplace noise of scale b on a whole number: P(z) ∝ q^{|z|}, q = e^{−r}, r = 1/b. Cost of a shift by m ≥ 1.

    D_α = ln{ (1−q)/(1+q) · [ (q^{αm} + q^{(1−α)m})/(1−q) + Σ_{z=1}^{m−1} q^{αm+(1−2α)z} ] } / (α−1),   pure ε = m/b

The continuous Laplace curve under-charges this by up to a fifth (PRIVACY §2). The braces are 1 + S, and for wide noise S is
far below a unit in the last place of 1, so S is computed by itself. With L = ln P(z)/P(z−m), odd about z = m/2 where √(PQ) is
even, 1 + S = Σ √(PQ)·cosh((α−½)L) and 1 = Σ √(PQ)·cosh(½L), hence

    S = Σ √(PQ)·2·sinh(αL/2)·sinh((α−1)L/2) = q^{m/2}/(1+q) · { 4·sinh(αrm/2)·sinh((α−1)rm/2) + (1−q)·[F((α−½)r) − F(r/2)] },
    F(c) = Σ_{z=1}^{m−1} [cosh(c(m−2z)) − 1] = sinh(Mc)/sinh(c) − M,   M = m − 1,

where nothing cancels but at most half of F (α ≥ 1¼). Where (α−½)rm is large the first formula is used, in logarithms.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.cost import ORDERS, Cost

Whole = NDArray[np.int64]
AddNoise = Callable[[Whole, float], Whole]

_SHIFTS_EACH = 32

_MARGIN = 1e-12
NOISE_S = 150e-6
_TINIEST = 1e-300
_LARGE = 18.0
_SMALL = 0.25
_LOG_SINH = tuple(1 / divisor for divisor in (6, -180, 2835, -37800, 467775, -3831077250 / 691, 127702575 / 2))
"""log(sinh(u)/u) = u²/6 − u⁴/180 + …; for u ≤ ¼ what is left out is under 10⁻¹⁶ of it."""


def discrete_laplace_cost(shift: int, scale: float) -> Cost:
    """Never below the exact value and at most 3·10⁻¹² of it above, for scales from 10⁻² to 10¹² and shifts to 10⁶ (held to
    mpmath at every order); values below 10⁻³⁰⁰ are only bounded by that. The curve never exceeds the pure cost."""
    if not shift >= 1 or not scale > 0:
        raise ValueError("a whole shift of at least one and a positive scale")
    pure = shift / scale
    curve = [
        min(pure, _divergence(order, shift, 1 / scale) * (1 + _MARGIN) + _TINIEST) * (1 + _MARGIN) for order in ORDERS
    ]
    return Cost(pure * (1 + _MARGIN), tuple(curve))


def _divergence(order: float, shift: int, rate: float) -> float:
    """With q = e^{−rate}."""
    if (order - 0.5) * rate * shift > _LARGE:
        return _log_divergence(order, shift, rate)
    tails = 4 * math.sinh(order * rate * shift / 2) * math.sinh((order - 1) * rate * shift / 2)
    between = _excess((order - 0.5) * rate, shift - 1) - _excess(rate / 2, shift - 1)
    whole = math.exp(-rate * shift / 2) / (1 + math.exp(-rate)) * (tails - math.expm1(-rate) * between)
    return math.log1p(whole) / (order - 1)


def _excess(step: float, count: int) -> float:
    """F: sinh(count·step)/sinh(step) − count."""
    if count <= 1:
        return 0.0
    if count * step > _SMALL:
        return math.sinh(count * step) / math.sinh(step) - count
    powers = ((step**2) ** (i + 1) * (float(count) ** (2 * i + 2) - 1) * c for i, c in enumerate(_LOG_SINH))
    return count * math.expm1(math.fsum(powers))


def _log_divergence(order: float, shift: int, rate: float) -> float:
    log_one_minus = math.log(-math.expm1(-rate))
    log_factor = log_one_minus - math.log1p(math.exp(-rate))
    outer = np.logaddexp(-rate * order * shift, rate * (order - 1) * shift) - log_one_minus
    terms = [outer]
    if shift > 1:
        terms.append(-rate * order * shift + _log_geometric((2 * order - 1) * rate, shift - 1))
    return max(0.0, float(log_factor + np.logaddexp.reduce(terms)) / (order - 1))


def _log_geometric(step: float, count: int) -> float:
    """log Σ_{z=1}^{count} e^{step·z}, step > 0."""
    top = step * count
    return top + math.log(-math.expm1(-step * count)) - math.log(-math.expm1(-step))


def noise_scale(sensitivity: int, epsilon: float) -> float:
    """b a little above sensitivity/ε, by more than all rounding here and in the cost: what is charged is at most ε."""
    return sensitivity / epsilon * (1 + 4e-12)


def add_noise(values: Whole, scale: float) -> Whole:
    """OpenDP's exact integer sampler, seeded by the operating system. Loaded when first needed."""
    # Not the prelude: where scikit-learn is installed, that loads all of it.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    measurement = make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)
    return np.array(measurement(values.tolist()), dtype=np.int64)


def seeded_noise(generator: np.random.Generator) -> AddNoise:
    """For simulations: a difference of two geometric numbers is discrete Laplace."""

    def add(values: Whole, scale: float) -> Whole:
        chance = -np.expm1(-1 / scale)
        first, second = (generator.geometric(chance, values.shape) for _ in range(2))
        return values + first - second

    return add


@lru_cache(maxsize=1024)
def moved_cost(total: int, largest: int, scale: float) -> Cost:
    """For any change of whole coordinates by at most `total` together and `largest` each.

    Divergences add over coordinates, so Σ_j D(m_j) ≤ Σ_j m_j · max_m D(m)/m, reached by equal shifts. Beyond 32 a group
    of shifts (m', m] is bounded by D(m)/(m'+1), D rising with m. For `largest` = 1 this is total·D(1), exactly.
    """
    rates = None
    last = 0
    while last < largest:
        m = min(largest, last + 1 if last < _SHIFTS_EACH else last + last // 16)
        found = np.array(discrete_laplace_cost(m, scale).curve) / (last + 1)
        rates = found if rates is None else np.maximum(rates, found)
        last = m
    pure = discrete_laplace_cost(1, scale).pure * total
    curve = np.zeros(0) if rates is None else np.minimum(rates * total, pure)
    return Cost(pure, tuple(curve.tolist()))


def noise_seconds(count: int) -> float:
    """Public: what noise on so many numbers takes on the machine of reference, with the library loaded."""
    return 0.005 + count * NOISE_S
