"""Orders of D_α that are worked out, and what is known of those in between: F(α) = (α−1)·D_α is convex, F(1) = 0, F' ≤ D_∞."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_terms import PURE
from app.core.privacy.cost import ORDERS

Array = NDArray[np.float64]

_POWERS = np.array(ORDERS) - 1
POWERS_WORKED_OUT = np.array([0.25, 1, 3, 7, 11, 15, 23, 31, 63, 127, 255, 511])
PLACES = np.searchsorted(_POWERS, POWERS_WORKED_OUT)
_LEAST = 1e-40
"""Smaller powers are nothing: 10⁻⁴⁰ against a sum of at least γ/K."""


def power_sums(weight: Array, ratio: Array, powers: Sequence[float]) -> list[Array]:
    """Σ weight·ratioᵗ for every row and power t, ratios at most 1: powers that are sums of two that went before."""
    known: dict[float, Array] = {1.0: ratio, 0.5: np.sqrt(ratio)}
    known[0.25] = np.sqrt(known[0.5])
    between = {float(2**i) for i in range(1, 16) if 2**i < max(powers)}
    for power in sorted({*between, *powers} - known.keys()):
        part = max(other for other in known if power - other in known)
        made = known[part] * known[power - part]
        made[made < _LEAST] = 0.0
        known[power] = made
    return [np.einsum("ij,ij->i", weight, known[power]) for power in powers]


def convex_figures(figures: Array, worked_out: NDArray[np.int64] = PLACES) -> Array:
    """What F(1) = 0, convexity and a slope of at most D_∞ leave of bounds of F, known at the orders in those places."""
    pure = figures[:, PURE]
    places = np.append(0.0, _POWERS)
    powers = np.zeros((len(places), len(figures)))  # orders first: a row at a time
    powers[1:] = (figures[:, 1:PURE] * _POWERS).T
    for i in range(1, len(places)):
        np.minimum(powers[i], powers[i - 1] + (places[i] - places[i - 1]) * pure, out=powers[i])
    known = np.concatenate([[0], 1 + worked_out])
    for low, high in pairwise(known.tolist()):
        for between in range(low + 1, high):
            part = (places[between] - places[low]) / (places[high] - places[low])
            chord = powers[low] * (1 - part) + powers[high] * part
            np.minimum(powers[between], chord, out=powers[between])
    figures[:, 1:PURE] = powers[1:].T / _POWERS
    figures[:, :PURE] = np.minimum.accumulate(figures[:, :PURE][:, ::-1], axis=1)[:, ::-1]
    return figures
