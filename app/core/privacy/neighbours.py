"""Which datasets are neighbours, in blocks: (Σ T, rows) of people with one to several rows each, one person replaced.

A person of j rows can be taken out of (t, m) if the others can have the rest: n − 1 people, m − j rows with 1 to k each, a sum of
0 … s a row. Who comes in has j + m′ − m rows, between 1 and k, and any sum they can have. So the sums with m′ rows that are
reached from t are an interval for every j,

    t − min(sj, t)  …  t − max(0, t − s(m − j)) + s(j + m′ − m),

whose first end falls with j and whose last rises: the largest possible j has all of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]

BLOCK_LEAST = 24


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Datasets (Σ T, rows) of `people` with 1 to `unit_rows` rows each, a row adding 0 … `steps`: by rows, then by sums."""

    steps: int
    people: int
    unit_rows: int

    @property
    def rows(self) -> range:
        return range(self.people, self.people * self.unit_rows + 1)

    @property
    def count(self) -> int:
        return self.first(self.rows.stop)

    def first(self, rows: int) -> int:
        """The place of (0, rows)."""
        more = rows - self.people
        return more + self.steps * more * (rows + self.people - 1) // 2

    @property
    def block(self) -> int:
        """How many neighbouring sums are a block."""
        return max(BLOCK_LEAST, 2 * self.unit_rows * self.steps)

    def reached(self, t: Places, rows: int, other: int) -> tuple[Places, Places] | None:
        """(the smallest, the largest sum) of `other` rows from `t` of `rows`; None if no person can be so exchanged."""
        n, k = self.people, self.unit_rows
        old = min(k, k - other + rows, rows - n + 1)
        if old < max(1, 1 - other + rows, rows - (n - 1) * k):
            return None
        low = t - np.minimum(self.steps * old, t)
        high = t - np.maximum(0, t - self.steps * (rows - old)) + self.steps * (old + other - rows)
        return low, high


@dataclass(frozen=True, slots=True)
class Block:
    """Datasets of `rows` rows at `here`, their neighbours of `other` rows among those at `there`: which, by a mask."""

    rows: int
    other: int
    here: slice
    there: slice
    mask: Mask


def blocks_of(neighbours: Neighbours) -> list[Block]:
    masks: dict[tuple[int, ...], Mask] = {}
    return [block for rows in neighbours.rows for block in _blocks_at(neighbours, rows, masks)]


def others_of(neighbours: Neighbours, rows: int) -> range:
    """Rows that one person's change can lead to."""
    n, k = neighbours.people, neighbours.unit_rows
    return range(max(n, rows - k + 1), min(n * k, rows + k - 1) + 1)


def _blocks_at(neighbours: Neighbours, rows: int, masks: dict[tuple[int, ...], Mask]) -> Iterator[Block]:
    """`masks` keeps those that are the same anywhere but next to an end of the sums."""
    far, size, end = neighbours.unit_rows * neighbours.steps, neighbours.block, neighbours.steps * rows
    for start in range(0, end + 1, size):
        t = np.arange(start, min(start + size, end + 1))
        for other in others_of(neighbours, rows):
            reached = neighbours.reached(t, rows, other)
            if reached is None:
                continue
            low, high = reached
            there = slice(int(low[0]), int(high[-1]) + 1)
            key = len(t), int(low[0]) - start, int(high[-1]) - start
            inner = start >= far and t[-1] <= end - far
            mask = masks.get(key) if inner else None
            if mask is None:
                sums = np.arange(there.start, there.stop)
                mask = (sums >= low[:, None]) & (sums <= high[:, None])
            if inner:
                masks[key] = mask
            yield Block(rows, other, slice(start, start + len(t)), there, mask)


def equally_far(places: Places, ends: Places) -> Iterator[tuple[Places | slice, Places | slice]]:
    """The same pairs; many that are equally far apart, and in a row, as slices, which need no copy."""
    if not len(places):
        return
    apart = ends - places
    same = np.flatnonzero(apart == apart[len(apart) // 2])
    first, last = int(same[0]), int(same[-1])
    if places[last] - places[first] >= len(same):
        yield places, ends
        return
    yield slice(int(places[first]), int(places[last]) + 1), slice(int(ends[first]), int(ends[last]) + 1)
    rest = np.r_[0:first, last + 1 : len(places)]
    if len(rest):
        yield places[rest], ends[rest]


def by_change(t: Places, low: Places, high: Places) -> Iterator[tuple[Places, Places]]:
    """(sums, sums of neighbours), by how much a sum changes."""
    for change in range(int((low - t).min()), int((high - t).max()) + 1):
        places = np.flatnonzero((t + change >= low) & (t + change <= high))
        yield places, places + change
