"""φ(x) = eˣ − 1 − x and the cumulant differences built from it, as sums of non-negative terms.

Subtracting two log-sum-exps loses everything once the posterior is narrow: at n = 10⁹ the difference is
smaller than the rounding of either. With g centred (Σ p·g = 0) the same number is

    C(h) = log Σ p·e^{h·g} = log(1 + Σ p·φ(h·g)),

in which every term is ≥ 0 and nothing cancels (PRIVACY §2, Computing it, 1).
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SERIES_BELOW = 1e-2


def phi(x: Array) -> Array:
    """eˣ − 1 − x, to relative accuracy near zero too; overflows to inf for large x."""
    series = x * x * (0.5 + x * (1 / 6 + x * (1 / 24 + x * (1 / 120 + x / 720))))
    with np.errstate(over="ignore"):
        direct = np.expm1(x) - x
    return np.where(np.abs(x) < _SERIES_BELOW, series, direct)


def centred_cumulant(log_p: Array, x: Array) -> Array:
    """log Σ p·eˣ along the last axis, for x with Σ p·x = 0 and Σ p = 1, both arrays of two dimensions.

    Large values come from a log-sum-exp, small ones from log1p of Σ p·φ(x); both branches agree to rounding
    where they meet, and neither cancels in its own range.
    """
    joint = log_p + x
    top = joint.max(axis=1)
    cumulant: Array = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    small = cumulant < 0.5
    if small.any():
        log_p, x, joint = log_p[small], x[small], joint[small]
        p = np.exp(log_p)
        far = np.exp(joint) - p * (1 + x)
        terms = np.where(np.abs(x) <= 1, p * phi(np.clip(x, -1, 1)), far)
        cumulant[small] = np.log1p(np.maximum(terms, 0).sum(axis=1))
    return cumulant
