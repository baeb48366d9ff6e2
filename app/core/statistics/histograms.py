"""How many rows fall in each bin of one column's lattice, and the exact counts that come back."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.statistics.sums import RowRequest, StatisticRequest

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class HistogramRequest(RowRequest["ExactHistogram"]):
    """Rows by bins of T, clipped and rounded as `of` has it: bin i holds the lattice points from `firsts[i]` on, up to the next.

    The first bin begins at 0 and the last ends at `of.steps`: every row is in one of them.
    """

    of: StatisticRequest
    firsts: tuple[int, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.firsts, self.firsts[1:], strict=False))
        if not self.firsts or self.firsts[0] != 0 or not rising or self.firsts[-1] > self.of.steps:
            raise ValueError("bins begin at 0 and rise within the lattice")

    @property
    def bins(self) -> int:
        return len(self.firsts)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.of.columns

    @property
    def operations(self) -> int:
        return self.of.operations + self.bins

    def of_no_rows(self) -> "ExactHistogram":
        return ExactHistogram(np.zeros(self.bins, dtype=np.int64))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExactHistogram:
    """Private: whole numbers, one a bin. Does not print them."""

    counts: Counts

    def __repr__(self) -> str:
        return "ExactHistogram(private)"
