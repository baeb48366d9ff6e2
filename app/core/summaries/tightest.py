"""The highest-density interval of a sample: the narrowest interval that holds a share of it."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.regret import rank_of


def tightest_interval(ordered: NDArray[np.float64], level: Fraction) -> tuple[float, float]:
    """[x_(i), x_(i+m−1)] with m = ⌈level·k⌉ and the least width over i; of several as narrow, the lowest.

    It holds at least the share `level` of the k ordered samples, and no interval with ends among them that does is
    narrower. Where a density has one peak this is the set of its highest values; where it has several it is not.
    """
    held = max(rank_of(level, len(ordered)), 1)
    widths = ordered[held - 1 :] - ordered[: len(ordered) - held + 1]
    first = int(np.argmin(widths))
    return float(ordered[first]) + 0.0, float(ordered[first + held - 1]) + 0.0
