"""Discrete Laplace noise on vectors of whole numbers, and what it costs when one person moves some of them."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.cost import Cost
from app.core.privacy.discrete_laplace import discrete_laplace_cost

Whole = NDArray[np.int64]
AddNoise = Callable[[Whole, float], Whole]

_SHIFTS_EACH = 32


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
