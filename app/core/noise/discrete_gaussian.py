"""Discrete Gaussian noise on sums of whole numbers, and how much of it (ε, δ) asks for.

The discrete Gaussian of parameter s on ℤ satisfies, like the continuous one, D_α ≤ α·m²/(2s²) for a shift by m (Canonne,
Kamath and Steinke 2020, Proposition 5). Coordinates with noise s_j of their own add up to ρ-zCDP, ρ = ½·Σ_j m_j²/s_j²:
a *weighted* sensitivity Δ² = sup Σ_j m_j²/r_j² with s_j = s·r_j gives ρ = Δ²/(2s²). The pure cost is infinite.

Noise is calibrated by its own law (`app/core/privacy/gaussian.py`), since law 2; law 1 went through the best Rényi order, which
takes 6 to 9 % more noise.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.cost import ORDERS, Cost, budget_order
from app.core.privacy.gaussian import SCALE_MIN, gaussian_capacity
from app.core.privacy.release_cost import chargeable
from app.errors import InvalidMechanism

Whole = NDArray[np.int64]
AddNoise = Callable[[Whole, NDArray[np.float64]], Whole]

DELTA_MIN, DELTA_MAX = 1e-15, 0.1
MARGIN = 2e-9
"""So that a charge rounded up fits a budget of the same ε rounded down."""
KEPT = 4e-9
"""Of a Gaussian capacity at the account's order: a charge is rounded up to whole 10⁻⁹, the capacity down by up to two."""
ROUNDING = 1 + 1e-12


def zcdp_cost(rho: float, *, smallest_scale: float = 0.0) -> Cost:
    """`smallest_scale`: of all coordinates, in steps; from `SCALE_MIN` on the law of the noise itself may be used."""
    return Cost(math.inf, tuple(order * rho for order in ORDERS), gaussian=smallest_scale >= SCALE_MIN)


def largest_gaussian_rho(epsilon: float, delta: float) -> float:
    """The largest ρ that an empty account of exactly (ε, δ) admits as Gaussian noise; 0 where none fits its units."""
    return max(0.0, gaussian_capacity(epsilon, delta) - KEPT / budget_order(epsilon, delta))


@lru_cache(maxsize=256)
def largest_rho(epsilon: float, delta: float) -> float:
    """The largest ρ whose own ε at δ, converted at its best Rényi order, is at most ε, to nine digits."""
    goal = chargeable(epsilon) - MARGIN
    low, high = 0.0, 2 * epsilon + 1.0
    if not zcdp_cost(1e-300).epsilon(delta) <= goal:
        raise InvalidMechanism("mechanism.epsilon", "more, or a larger delta: no amount of noise reaches this pair")
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_cost(middle).epsilon(delta) <= goal else (low, middle)
    return low


def release_rho(epsilon: float, delta: float) -> float:
    """The largest ρ of one release at (ε, δ): by the law of the noise, `scaled_up` until that is certified, or by the best
    Rényi order where that allows more. Raises InvalidMechanism where no noise is enough."""
    own = largest_gaussian_rho(epsilon, delta)
    try:
        return max(own, largest_rho(epsilon, delta))
    except InvalidMechanism:
        if own > 0:
            return own
        raise


def scaled_up(scale: float) -> int:
    """A power of two by which to multiply whole numbers so that their noise is at least `SCALE_MIN` steps wide: the same
    measurement on a finer lattice, at the same ρ."""
    return 1 << max(0, math.ceil(math.log2(SCALE_MIN / scale)))


def noise_scale(sensitivity: float, rho: float) -> float:
    """s with Δ²/(2s²) ≤ ρ, rounded up."""
    return sensitivity / math.sqrt(2 * rho) * ROUNDING


def add_noise(values: Whole, scales: NDArray[np.float64]) -> Whole:
    """OpenDP's exact sampler on whole numbers, seeded by the operating system, one call for each different scale."""
    # Not the prelude: where scikit-learn is installed, that loads all of it.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    noisy = values.copy()
    for scale in np.unique(scales).tolist():
        chosen = scales == scale
        measurement = make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), scale=scale)
        noisy[chosen] = measurement(values[chosen].tolist())
    return noisy


def seeded_noise(generator: np.random.Generator) -> AddNoise:
    """For simulations only: rounded continuous noise, indistinguishable at the scales in use here."""

    def add(values: Whole, scales: NDArray[np.float64]) -> Whole:
        return values + np.rint(generator.normal(0.0, scales)).astype(np.int64)

    return add
