"""D_∞ of two posteriors of one row each on a ball, which bounds every D_α: with nobody else, half the range is out of reach.

With F = 1 in `needle_bound.py`, ν the prior on the ball, M' = max f' and μ = min f over it, D_∞ = sup b + log Z_Q − log Z_P is at
most

    log E_ν e^{s(M'−f')} − log E_ν e^{−s(f−μ)},

one term a row, and each a function of the row's length ζ and target y alone, by the law of one coordinate t under ν.

- M' − f' = |y|ζ(R+t) + ½ζ²(R²−t²), up to the sign of t, rises with |y| and ζ: largest at |y| = ζ = 1.
- f − μ = ½(y−ζt)² − ½(y−ζR)₊² for y ≥ 0. Where ζR < y it rises with y; else E e^{−s(y−ζt)²/2} falls with y, the law of t being
  symmetric and unimodal (Wintner). So y = 1. As a function of ζ its second derivative is between −R² and R²: between nodes δ
  apart it is at most the larger end and δ²R²/8.

They are equalities for z' = −z where R ≤ 1: nothing is lost there but at small orders.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.coordinate_law import NARROW, coordinate_law

Array = NDArray[np.float64]

LENGTHS = 128
STEEP = 1e3
"""sR(1+R) up to which the nodes are enough: the exponent changes by 20 on a panel."""
ROUNDING = 1 + 1e-6


@lru_cache(maxsize=512)
def largest_divergence(strength: float, prior: float, radius: float, dimension: int) -> float:
    """The bound of D_∞, infinite where it is not computed; `strength` τ/σ², targets of size 1."""
    s, R = strength, radius
    if not (prior * R**2 <= NARROW and s * R * (1 + R) <= STEEP):
        return math.inf
    t, weights = coordinate_law(prior * R**2, dimension)
    t = t * R
    upper = _log_mean(s * (R + t + (R**2 - t**2) / 2), weights)
    lengths = np.linspace(0, 1, LENGTHS + 1)[:, None]
    left = ((1 - lengths * t) ** 2 - np.maximum(1 - lengths * R, 0) ** 2) / 2
    cells = np.maximum(left[1:], left[:-1]) + (R / LENGTHS) ** 2 / 8
    return float(upper.max() - _log_mean(-s * cells, weights).min()) * ROUNDING


def _log_mean(values: Array, weights: Array) -> Array:
    top = values.max(axis=-1)
    return np.asarray(top + np.log(np.exp(values - top[..., None]) @ weights))
