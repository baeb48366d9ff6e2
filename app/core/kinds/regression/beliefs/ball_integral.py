"""ψ(b) = log ∫ exp(−½uᵀΛu + bᵀu) du over the unit ball, Λ diagonal, with its gradient and Hessian: E u and Cov u.

The ball is the Laplace transform of a step: 1{‖u‖ ≤ 1} = (1/2πi)·∫ e^{κ(1−‖u‖²)} dκ/κ along a line right of 0, so that

    e^ψ = (1/2πi)·∫ e^{g(κ)} dκ,   g(κ) = κ − log κ + Σ_i ½·log(2π/(Λ_i + 2κ)) + ½·b_i²/(Λ_i + 2κ).

All that is singular lies on the negative axis and at 0. The path leaves the saddle point κ₀ > 0 along the steepest descent, to
third order, and ends in a wedge, x = −y/2, that keeps away from where b²/(Λ + 2κ) grows; nodes are even in asinh of y over the
saddle's width, on which the trapezoidal rule converges geometrically: 10⁻¹² takes some sixty.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

STEP = 0.09
NODES = np.arange(0, 61) * STEP
HALVINGS = 30


@dataclass(frozen=True, slots=True)
class BallMoments:
    """For every b: ψ, (N,); E u, (N, d); and Cov u, (N, d, d)."""

    log_integral: Array
    mean: Array
    covariance: Array


def log_integral(curvature: Array, linear: Array) -> Array:
    """ψ for (N, d) linear terms."""
    top, _, weights = _path(curvature, linear)
    return np.asarray(top + np.log(weights.real.sum(axis=1)))


def ball_moments(curvature: Array, linear: Array) -> BallMoments:
    top, kappa, weights = _path(curvature, linear)
    total = weights.real.sum(axis=1)
    inverse = 1 / (curvature + 2 * kappa[:, :, None])  # (N, nodes, d)
    centres = linear[:, None, :] * inverse
    mean = np.einsum("nk,nki->ni", weights, centres).real / total[:, None]
    second = np.einsum("nk,nki,nkj->nij", weights, centres, centres).real
    places = np.arange(linear.shape[1])
    second[:, places, places] += np.einsum("nk,nki->ni", weights, inverse).real
    covariance = second / total[:, None, None] - mean[:, :, None] * mean[:, None, :]
    return BallMoments(np.asarray(top + np.log(total)), mean, np.asarray(covariance))


def _path(curvature: Array, linear: Array) -> tuple[Array, NDArray[np.complex128], NDArray[np.complex128]]:
    """(g(κ₀), nodes κ, weights whose real parts add up to e^{ψ − g(κ₀)}); the lower half of the path is the mirrored upper."""
    saddle = _saddle(curvature, linear)
    away = curvature + 2 * saddle[:, None]
    second = saddle**-2 + (2 / away**2 + 4 * linear**2 / away**3).sum(axis=1)
    third = -2 * saddle**-3 - (8 / away**3 + 24 * linear**2 / away**4).sum(axis=1)
    y = second[:, None] ** -0.5 * np.sinh(NODES)
    bent = -third[:, None] / (6 * second[:, None]) * y
    kappa = saddle[:, None] + 1j * y - bent * y / (1 + 2 * bent)
    slope = (1j - (2 * bent + 2 * bent**2) / (1 + 2 * bent) ** 2) * second[:, None] ** -0.5 * np.cosh(NODES)
    top = _exponent(curvature, linear, saddle[:, None].astype(np.complex128))[:, 0].real
    weights = np.exp(_exponent(curvature, linear, kappa) - top[:, None]) * slope / (1j * np.pi) * STEP
    weights[:, 0] /= 2
    return top, kappa, weights


def _exponent(curvature: Array, linear: Array, kappa: NDArray[np.complex128]) -> NDArray[np.complex128]:
    away = curvature + 2 * kappa[:, :, None]
    each = 0.5 * (np.log(2 * np.pi) - np.log(away) + linear[:, None, :] ** 2 / away)
    return np.asarray(kappa - np.log(kappa) + each.sum(axis=2))


def _saddle(curvature: Array, linear: Array) -> Array:
    """The root of g′, which rises from −∞ to 1: between 0 and 1 + d/2 + ‖b‖/2, by halving."""
    low = np.full(len(linear), 1e-9)
    high = 2 + linear.shape[1] / 2 + np.sqrt((linear**2).sum(axis=1))
    for _ in range(HALVINGS):
        middle = np.sqrt(low * high)
        away = curvature + 2 * middle[:, None]
        rising = 1 - 1 / middle - (1 / away + linear**2 / away**2).sum(axis=1) > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    return np.asarray(np.sqrt(low * high))
