"""Which random number leads to which output, at every place where the output changes.

A draw takes U of 256 bits and gives the first k with c_k > (U·ΣW) >> 256: it rises with U, and jumps from k to k+1 between

    ⌈c_k·2²⁵⁶/ΣW⌉ − 1   and   ⌈c_k·2²⁵⁶/ΣW⌉.

Both of every pair, 0 and 2²⁵⁶ − 1, put through the mechanism's own `draw` in a shuffled order, fix the map everywhere, given that
it rises and that each draw uses 32 bytes of its own: both are seen to by one bisection of a sorted list, and by the shuffle. That
finds what samples would need 10⁷ draws for: uniforms of 32 bits, or tails cut off.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.integer_table import DRAW_BYTES

Places = NDArray[np.int64]

_SHUFFLE = 20_261_118


@dataclass(frozen=True, slots=True, eq=False)
class Jumps:
    """What to feed, and what has to come out."""

    fed: bytes
    places: Places


def jumps_of(weights: Sequence[int], *, every: int = 1) -> Jumps:
    """Of a table with those whole weights; with `every` above 1 only one jump in so many."""
    if not min(weights) > 0:
        raise ValueError("every point of a table can be drawn")
    total, bits, reached = sum(weights), 8 * DRAW_BYTES, 0
    words, places = [0, (1 << bits) - 1], [0, len(weights) - 1]
    for place, weight in enumerate(weights[:-1]):
        reached += weight
        if place % every == 0:
            first_after = -((-reached << bits) // total)
            words += [first_after - 1, first_after]
            places += [place, place + 1]
    order = np.random.Generator(np.random.PCG64(_SHUFFLE)).permutation(len(words))
    fed = b"".join(words[i].to_bytes(DRAW_BYTES, "little") for i in order.tolist())
    return Jumps(fed, np.array(places, dtype=np.int64)[order])


class Feed:
    """Stands in for the operating system's randomness; `used_up` only if exactly what was prepared was taken."""

    def __init__(self, fed: bytes) -> None:
        self._fed, self._at = fed, 0

    def __call__(self, count: int) -> bytes:
        taken = self._fed[self._at : self._at + count]
        self._at += count
        return taken

    @property
    def used_up(self) -> bool:
        return self._at == len(self._fed)


def draws_right(jumps: Jumps, draw: Callable[[Feed, int], Places]) -> bool:
    """`draw(random_bytes, count)` gives the places of so many draws."""
    feed = Feed(jumps.fed)
    drawn = draw(feed, len(jumps.places))
    return feed.used_up and np.array_equal(drawn, jumps.places)
