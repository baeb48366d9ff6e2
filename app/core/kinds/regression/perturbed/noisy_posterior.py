"""The posterior of regression weights given *noisy* moments: post-processing, so doubles and estimates are free.

With A = Σzzᵀ and v = Σzỹ the model says v − Aw ~ N(0, σ²A). Observed are Â = A + E and v̂ = v + e, so

    v̂ − Âw = (v − Aw) + e − Ew ~ N(0, C(w)),   C(w) = σ²A + s_v²I + Cov(Ew),
    Cov(Ew)_ii = Σ_j V_ij w_j²,   Cov(Ew)_ij = V_ij w_i w_j   for symmetric E with independent entries of variance V.

Generalised least squares with W = C(ŵ)⁻¹ and the prior: precision ÂWÂ + λI, mean (ÂWÂ + λI)⁻¹ÂWv̂, ŵ iterated. The naive
posterior, σ²-precision Â and mean Â⁻¹v̂, takes noisy moments for exact ones and is too narrow where noise matters.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDS = 8
SD_FLOOR = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMoments:
    """In scaled units: sums of zzᵀ, zỹ, ỹ² with noise, and the variances of that noise (0 where the entry is public)."""

    products: Array
    products_variance: Array
    cross: Array
    cross_variance: float
    square: float
    rows: float


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    mean: Array
    precision: Array

    def transform(self, normals: Array) -> Array:
        """(N, d) standard normals to draws."""
        values, vectors = np.linalg.eigh(self.precision)
        return np.asarray(self.mean + (normals / np.sqrt(values)) @ vectors.T)


def noise_aware_posterior(noisy: NoisyMoments, sd: float | None, prior_precision: float, radius: float) -> Gaussian:
    """`sd` σ in scaled units, None to estimate it from the same noisy moments."""
    A = semidefinite(noisy.products)
    identity = np.eye(len(A))
    first: Array = np.linalg.solve(A + prior_precision * identity, noisy.cross).astype(np.float64)
    w = in_ball(first[None, :], radius)[0]
    posterior = Gaussian(w, identity)
    for _ in range(ROUNDS):
        variance = (sd if sd is not None else residual_sd(noisy, A, w)) ** 2
        C = variance * A + noisy.cross_variance * identity + product_noise(noisy.products_variance, w)
        weighted = np.linalg.solve(C + 1e-12 * np.trace(C) * identity, np.column_stack([A, noisy.cross]))
        precision = A @ weighted[:, :-1] + prior_precision * identity
        precision = (precision + precision.T) / 2
        mean: Array = np.linalg.solve(precision, A @ weighted[:, -1]).astype(np.float64)
        posterior = Gaussian(mean, precision.astype(np.float64))
        w = in_ball(posterior.mean[None, :], radius)[0]
    return posterior


def product_noise(variance: Array, w: Array) -> Array:
    """Cov(Ew)."""
    cov = variance * np.outer(w, w)
    np.fill_diagonal(cov, variance @ w**2)
    return np.asarray(cov)


def residual_sd(noisy: NoisyMoments, A: Array, w: Array) -> float:
    """σ² ≈ (Σỹ² − 2wᵀv̂ + wᵀÂw)/n."""
    left = noisy.square - 2 * float(w @ noisy.cross) + float(w @ A @ w)
    return float(np.sqrt(max(left / noisy.rows, SD_FLOOR**2)))


def semidefinite(matrix: Array) -> Array:
    """The nearest positive semi-definite matrix in Frobenius norm."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def in_ball(w: Array, radius: float) -> Array:
    """Rows no longer than `radius`, directions kept."""
    norms = np.sqrt((w**2).sum(axis=1, keepdims=True))
    return np.asarray(w * np.minimum(1.0, radius / np.maximum(norms, 1e-300)))
