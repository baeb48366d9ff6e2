"""ψ(L, c) = log ∫e^{−Lt²/2+ct}dt on [−1, 1], for curvatures of both signs and every tilt, to some 10⁻¹⁵ of its size.

With μ = c/L and r = √(|L|/2), c ≥ 0 (it is even in c), the integral is √π/2r times

    e^{cμ/2}·[erf r(1−μ) + erf r(1+μ)]                      mode inside, 0 ≤ μ < 1
    e^{c−L/2}·[erfcx r(μ−1) − e^{−2c}·erfcx r(μ+1)]         mode outside
    e^{c+|L|/2}·[F(r(μ+1)) − e^{−2c}·F(r(μ−1))]·2/√π        L < 0, μ = c/|L|, F Dawson's integral

of which none cancels where L or c is large; where both are small nodes are exact.
"""

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALL = 3.0
"""|L| and c up to which nodes are used."""


def log_integral(law: Array) -> Array:
    """ψ at laws (…, 2)."""
    curvature, tilt = law[..., 0].ravel(), np.abs(law[..., 1]).ravel()
    value = np.empty_like(tilt)
    small = (np.abs(curvature) < SMALL) & (tilt < SMALL)
    inside = ~small & (curvature > tilt)
    outside = ~small & (curvature > 0) & ~inside
    bent = ~small & (curvature <= 0)
    for where, form in ((small, _by_nodes), (inside, _mode_inside), (outside, _mode_outside), (bent, _bent)):
        if where.any():
            value[where] = form(curvature[where], tilt[where])
    return np.asarray(value.reshape(law.shape[:-1]))


def _by_nodes(curvature: Array, tilt: Array) -> Array:
    t, weight = np.polynomial.legendre.leggauss(24)
    return np.asarray(np.log(np.exp(np.multiply.outer(curvature, -(t**2) / 2) + np.multiply.outer(tilt, t)) @ weight))


def _mode_inside(curvature: Array, tilt: Array) -> Array:
    from scipy.special import erf

    root, middle = np.sqrt(curvature / 2), tilt / curvature
    mass = erf(root * (1 - middle)) + erf(root * (1 + middle))
    return np.asarray(tilt * middle / 2 + np.log(mass * math.sqrt(math.pi) / 2 / root))


def _mode_outside(curvature: Array, tilt: Array) -> Array:
    from scipy.special import erfcx

    root, middle = np.sqrt(curvature / 2), tilt / curvature
    mass = erfcx(root * (middle - 1)) - np.exp(-2 * tilt) * erfcx(root * (middle + 1))
    return np.asarray(tilt - curvature / 2 + np.log(mass * math.sqrt(math.pi) / 2 / root))


def _bent(curvature: Array, tilt: Array) -> Array:
    from scipy.special import dawsn

    curvature = np.maximum(-curvature, 1e-12)
    root, middle = np.sqrt(curvature / 2), tilt / curvature
    mass = dawsn(root * (middle + 1)) - np.exp(-2 * tilt) * dawsn(root * (middle - 1))
    return np.asarray(tilt + curvature / 2 + np.log(mass / root))
