"""The largest value on any run of neighbours in a row, from maxima over runs of 1, 2, 4, … of them (a sparse table).

Two runs of the largest power of two that fits, from either end, cover a run: two look-ups whatever its length.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Index = NDArray[np.int64]


class RangeMaximum:
    """Of `values`, rows by columns; runs are along a row."""

    def __init__(self, values: Array) -> None:
        levels = [values]
        length = 1
        while 2 * length <= values.shape[1]:
            older = levels[-1]
            joined = np.maximum(older[:, :-length], older[:, length:])
            levels.append(np.concatenate([joined, older[:, -length:]], axis=1))
            length *= 2
        self._levels = np.stack(levels)

    def between(self, row: Index | int, first: Index, last: Index) -> Array:
        level = np.frexp(last - first + 1)[1] - 1
        largest: Array = np.maximum(self._levels[level, row, first], self._levels[level, row, last - 2**level + 1])
        return largest
