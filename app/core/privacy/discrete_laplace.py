"""Discrete Laplace noise of scale b on a whole number: P(z) ∝ q^{|z|}, q = e^{−1/b}. Cost of a shift by m ≥ 1.

    D_α = ln{ (1−q)/(1+q) · [ (q^{αm} + q^{(1−α)m})/(1−q) + Σ_{z=1}^{m−1} q^{αm+(1−2α)z} ] } / (α−1),   pure ε = m/b

The continuous Laplace curve under-charges this by up to a fifth (PRIVACY §2). Everything in logarithms.
"""

import math

import numpy as np

from app.core.privacy.cost import Cost
from app.core.privacy.orders import ORDERS

_MARGIN = 1e-12


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
