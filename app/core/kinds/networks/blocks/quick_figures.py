"""Figures of many pairs of tables at a few multiplications a point: powers of P/Q made from one another, not one by one.

With r = P/Q, M = log max r and e = r·e^{−M} ≤ 1:  (α−1)·D_α = (α−1)·M + log Σ P·e^{α−1}, powers of e being products of two that
went before.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.blocks.block_terms import COLUMNS, KL, PURE, RANGE
from app.core.kinds.networks.blocks.convex_orders import power_sums
from app.core.privacy.cost import ORDERS

Array = NDArray[np.float64]

_POWERS = [order - 1 for order in ORDERS]
_RELATIVE, _ABSOLUTE = 1e-9, 1e-14
_CHUNK = 200_000


def quick_figures(p: Array, q: Array) -> Array:
    """All columns, as `visited.py:drawn_figures`, and no smaller."""
    parts = np.array_split(np.arange(len(p)), max(1, p.size // _CHUNK))
    return np.concatenate([_figures(p[part], q[part]) for part in parts])


def _figures(p: Array, q: Array) -> Array:
    ratio = p / q
    most = ratio.max(axis=1, keepdims=True)
    pure = np.log(most[:, 0])
    rows = np.full((len(p), PURE + 1), np.inf)
    rows[:, KL] = np.maximum(np.einsum("ij,ij->i", p, np.log(ratio)), 0.0) * (1 + _RELATIVE) + _ABSOLUTE
    rows[:, PURE] = pure * (1 + _RELATIVE) + _ABSOLUTE
    for place, (power, total) in enumerate(zip(_POWERS, power_sums(p, ratio / most, _POWERS), strict=True)):
        rows[:, 1 + place] = np.maximum(pure + np.log(total) / power, 0.0) * (1 + _RELATIVE) + _ABSOLUTE * (
            1 + 1 / power
        )
    figures = np.zeros((len(p), COLUMNS))
    figures[:, : PURE + 1] = np.minimum(rows, rows[:, [PURE]])
    figures[:, RANGE] = figures[:, PURE]
    return figures
