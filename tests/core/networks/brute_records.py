"""Record-level privacy of network posteriors straight from the definition; shares no formula with `app/core/kinds/networks`.

A dataset is a multiset of records. For each, every block's posterior table is built from its counts; blocks are
independent, so the divergence of two datasets is the sum over blocks of theirs. All neighbouring datasets are visited.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Record = tuple[int, ...]


@dataclass(frozen=True)
class PlainNetwork:
    """`levels[i]` of node i, its `parents[i]`, and how its levels are split: nested pairs down to single levels."""

    levels: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    nested: tuple[object, ...]


def halves(levels: Sequence[int]) -> object:
    """(0, 1, 2, 3, 4) → (((0, 1), 2), (3, 4)): the larger half first."""
    if len(levels) == 1:
        return levels[0]
    middle = (len(levels) + 1) // 2
    return (halves(levels[:middle]), halves(levels[middle:]))


def one_by_one(levels: Sequence[int]) -> object:
    return levels[0] if len(levels) == 1 else (levels[0], one_by_one(levels[1:]))


def leaves(part: object) -> tuple[int, ...]:
    if isinstance(part, tuple):
        return leaves(part[0]) + leaves(part[1])
    assert isinstance(part, int)
    return (part,)


def pairs_of(part: object) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Levels on either side of every split."""
    if isinstance(part, tuple):
        yield leaves(part[0]), leaves(part[1])
        yield from pairs_of(part[0])
        yield from pairs_of(part[1])


def all_records(network: PlainNetwork) -> list[Record]:
    return list(itertools.product(*(range(k) for k in network.levels)))


def block_counts(network: PlainNetwork, dataset: Sequence[Record]) -> dict[object, tuple[int, int]]:
    """(successes, failures) of every block some record falls in; blocks left out have none."""
    counts: dict[object, tuple[int, int]] = {}
    for record in dataset:
        for i, parents in enumerate(network.parents):
            given = tuple(record[p] for p in parents)
            for yes, no in pairs_of(network.nested[i]):
                if record[i] in yes + no:
                    s, f = counts.get((i, given, yes, no), (0, 0))
                    counts[i, given, yes, no] = (s + 1, f) if record[i] in yes else (s, f + 1)
    return counts


class Blocks:
    """Divergences between two posteriors of one block, each computed once."""

    def __init__(self, points: dict[tuple[float, float], Array], temperature: float, orders: Sequence[float]) -> None:
        self._points, self._temperature, self._orders = points, temperature, orders
        self.between = lru_cache(maxsize=None)(self._between)

    def _log_table(self, prior: tuple[float, float], counts: tuple[int, int]) -> Array:
        theta = self._points[prior].astype(np.longdouble)
        yes = prior[0] - 0.5 + self._temperature * counts[0]
        no = prior[1] - 0.5 + self._temperature * counts[1]
        log = yes * np.log(theta) + no * np.log1p(-theta)
        log -= log.max()
        return np.asarray(log - np.log(np.exp(log).sum()))

    def _between(self, prior: tuple[float, float], first: tuple[int, int], second: tuple[int, int]) -> Array:
        """[KL, D_α …, D_∞]."""
        p, q = self._log_table(prior, first), self._log_table(prior, second)
        ratio = p - q
        values = [float((np.exp(p) * ratio).sum())]
        for order in self._orders:
            joint = p + (order - 1) * ratio
            values.append(float((joint.max() + np.log(np.exp(joint - joint.max()).sum())) / (order - 1)))
        return np.array([*values, float(ratio.max())])


def exact_suprema(
    network: PlainNetwork,
    strength: float,
    people: int,
    points: dict[tuple[float, float], Array],
    temperature: float,
    orders: Sequence[float],
) -> Array:
    """[KL, D_α …, D_∞], each the largest over all pairs of datasets that differ in one record, in both orders."""
    blocks = Blocks(points, temperature, orders)
    records = all_records(network)
    best = np.zeros(len(orders) + 2)
    for rest in itertools.combinations_with_replacement(records, people - 1):
        found = {record: block_counts(network, [*rest, record]) for record in records}
        for old, new in itertools.permutations(records, 2):
            total = np.zeros(len(orders) + 2)
            for block in found[old].keys() | found[new].keys():
                first, second = found[old].get(block, (0, 0)), found[new].get(block, (0, 0))
                if first != second:
                    yes, no = block[2], block[3]
                    total += blocks.between((strength * len(yes), strength * len(no)), first, second)
            best = np.maximum(best, total)
    return best
