"""Networks in plain tuples, their records and how levels are split, for oracles that share no code with `app`."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
