"""Bounds from a matrix of influences between people: γ_ij = c_ij/4, c_ij the largest log cross-ratio of two people's values.

**C** (replaces Ghosh and Kleinberg, Theorem 4.2). For a strictly positive law and a secret about the people S,

    ν_S ≤ Σ_{i∈S} ε_i + Σ_{j∉S} k_j·ε_j,    k the greatest solution of k = min(1, Γ_{cS}·1 + Γ_cc·k),

and every iterate from k = 1 is a bound too. No spectral condition; never above Σε.

**D.** A function of log-range r in one coordinate, averaged over that coordinate under a law whose log-odds another person moves
by c, has log-range at most m(r, c) = 4·artanh(tanh(r/4)·tanh(c/4)) ≤ min(r, c, rc/4) in the other (the papers' Lemma B.1 before
it is loosened; attained). Averaging coordinates one by one moves what is left to pay towards S; k·r bounds the rest at any time.

**L.** The same recursion with tanh γ for γ bounds how likely two coupled laws differ in each person.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.bound import rounded_up

Array = NDArray[np.float64]

ROUNDS_MAX = 2_000
_LARGEST = 1e300
_NEAR = 1e-13
_PUSHES_EACH, _PUSHES_MAX = 12, 1_200


def attenuated(left: Array | float, right: Array | float) -> Array:
    """m(r, c) = 2·ln((1 + ab)/(a + b)) with a = e^{−r/2}, b = e^{−c/2}; either may be infinite."""
    r, c = np.broadcast_arrays(np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64))
    smaller = np.minimum(r, c)
    with np.errstate(invalid="ignore", over="ignore"):
        a, b = np.exp(-r / 2), np.exp(-c / 2)
        near = 2 * np.log1p(np.expm1(-r / 2) * np.expm1(-c / 2) / (a + b))
        far = 2 * np.log1p(np.exp(-(r + c) / 2)) - 2 * np.logaddexp(-r / 2, -c / 2)
    found = np.where(smaller < 1, near, far)
    return np.asarray(np.where(np.isinf(smaller), np.inf, np.minimum(found, smaller)))


def reach(gamma: Array, secret: list[int]) -> Array:
    """k of C for every person, 1 for those of the secret. Sound whenever it stops."""
    held = np.minimum(gamma, _LARGEST)
    k = np.ones(len(gamma))
    for _ in range(ROUNDS_MAX):
        following = np.minimum(1.0, np.minimum(held @ k, _LARGEST) * (1 + 1e-13))
        following[secret] = 1.0
        following = np.minimum(k, following)
        if (k - following).max(initial=0.0) <= _NEAR * following.max():
            return following
        k = following
    return k


def influence_bound(epsilons: Array, gamma: Array, secret: list[int]) -> float:
    """C."""
    return rounded_up(float(reach(gamma, secret) @ epsilons))


def pushed_bound(epsilons: Array, gamma: Array, secret: list[int]) -> float:
    """D, the largest residual first; the least of what was seen on the way."""
    k, cross = reach(gamma, secret), 4 * np.minimum(gamma, _LARGEST)
    to_secret = np.minimum(cross[:, secret].sum(axis=1), _LARGEST)
    others = np.ones(len(gamma), dtype=np.bool_)
    others[secret] = False
    paid, residual = float(epsilons[secret].sum()), np.where(others, epsilons, 0.0)
    best = paid + float(k @ residual)
    for _ in range(min(_PUSHES_EACH * len(gamma), _PUSHES_MAX)):
        place = int(np.argmax(residual * k))
        r = float(residual[place])
        if r * k[place] <= 1e-9 * best:
            break
        moved = attenuated(r, cross[place])
        moved[place] = 0.0
        residual[place] = 0.0
        paid += float(attenuated(r, to_secret[place]))
        residual += np.where(others, moved, 0.0)
        best = min(best, paid + float(k @ residual))
    return rounded_up(best)


def coupled_reach(gamma: Array, secret: list[int]) -> Array:
    """k of L: at most how likely each person differs, in a coupling of the two laws given two values of the secret."""
    return reach(np.tanh(np.minimum(gamma, 400.0)), secret)
