"""A variable with k levels as k − 1 Bernoulli splits of its levels, halved again and again or taken off one by one.

A Dirichlet(a₁ … a_k) prior on the levels is exactly a Beta prior on each split, with the parameters on either side summed,
all independent; and the probability of a level is the product over the splits on its path (PRIVACY §4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Splits = Literal["tree", "chain"]

LEAF = -1
SUCCESS, FAILURE = 0, 1
"""The two sides of a split: levels [low, middle) count as successes, [middle, high) as failures."""


@dataclass(frozen=True, slots=True)
class Split:
    """Levels [low, middle) against [middle, high); `below` are the splits of either side, LEAF for a single level."""

    low: int
    middle: int
    high: int
    below: tuple[int, int]


@lru_cache(maxsize=256)
def level_splits(levels: int, kind: Splits) -> tuple[Split, ...]:
    """The first is the root; a split comes before those below it."""
    if levels < 2:
        raise ValueError("a variable has two or more levels")
    ranges = [(0, levels)]
    for low, high in ranges:  # grows while it is walked
        middle = (low + high + 1) // 2 if kind == "tree" else low + 1
        ranges += [part for part in ((low, middle), (middle, high)) if part[1] - part[0] > 1]
    place = {part: i for i, part in enumerate(ranges)}
    splits = []
    for low, high in ranges:
        middle = (low + high + 1) // 2 if kind == "tree" else low + 1
        splits.append(Split(low, middle, high, (place.get((low, middle), LEAF), place.get((middle, high), LEAF))))
    return tuple(splits)


def path(splits: Sequence[Split], level: int) -> list[tuple[int, int]]:
    """[(split, side)] from the root to the level."""
    steps: list[tuple[int, int]] = []
    at = 0
    while at != LEAF:
        side = SUCCESS if level < splits[at].middle else FAILURE
        steps.append((at, side))
        at = splits[at].below[side]
    return steps


def deepest(splits: Sequence[Split]) -> int:
    """The longest path: how many splits one record is an observation in, at most."""
    depth = [1] * len(splits)
    for i in range(len(splits) - 1, -1, -1):
        depth[i] = 1 + max((depth[child] for child in splits[i].below if child != LEAF), default=0)
    return depth[0]


def side_totals(splits: Sequence[Split], per_level: Array) -> tuple[Array, Array]:
    """Sums over the levels of either side, along the last axis: (…, levels) → two of (…, splits).

    Whole numbers below 2⁵³ in, exact sums out.
    """
    running = np.concatenate([np.zeros((*per_level.shape[:-1], 1)), np.cumsum(per_level, axis=-1)], axis=-1)
    low, middle, high = (np.array([getattr(split, edge) for split in splits]) for edge in ("low", "middle", "high"))
    return running[..., middle] - running[..., low], running[..., high] - running[..., middle]


def level_probabilities(splits: Sequence[Split], success: Array) -> Array:
    """(…, splits) probabilities of the success side → (…, levels) products along the paths."""
    levels = len(splits) + 1
    probability = np.empty((*success.shape[:-1], levels))
    reach = np.empty_like(success)
    reach[..., 0] = 1.0
    for i, split in enumerate(splits):
        for side, first in ((SUCCESS, split.low), (FAILURE, split.middle)):
            share = success[..., i] if side == SUCCESS else 1 - success[..., i]
            if split.below[side] == LEAF:
                probability[..., first] = reach[..., i] * share
            else:
                reach[..., split.below[side]] = reach[..., i] * share
    return probability
