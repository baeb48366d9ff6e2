"""Discrete Laplace noise of scale b on a whole number: P(z) ∝ q^{|z|}, q = e^{−1/b}. Cost of a shift by m ≥ 1.

    D_α = ln{ (1−q)/(1+q) · [ (q^{αm} + q^{(1−α)m})/(1−q) + Σ_{z=1}^{m−1} q^{αm+(1−2α)z} ] } / (α−1),   pure ε = m/b

The continuous Laplace curve under-charges this by up to a fifth (PRIVACY §2). Everything in logarithms.
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


def discrete_laplace_cost(shift: int, scale: float) -> Cost:
    """Exact, rounded up by a part in 10¹²; the curve never exceeds the pure cost."""
    if not shift >= 1 or not scale > 0:
        raise ValueError("a whole shift of at least one and a positive scale")
    pure = shift / scale
    curve = [min(pure, _divergence(order, shift, 1 / scale)) * (1 + _MARGIN) for order in ORDERS]
    return Cost(pure * (1 + _MARGIN), tuple(curve))


def _divergence(order: float, shift: int, rate: float) -> float:
    """With q = e^{−rate}."""
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
