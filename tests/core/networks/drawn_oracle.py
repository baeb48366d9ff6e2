"""What networks really release, between all neighbouring datasets: tables as drawn, mixture included. Shares no formula and
no code with `app/core/kinds/networks` but the positions of the public points.

A dataset is a multiset of rows: n people with 1 to k rows each can bring every multiset of n to k·n rows, and neighbours
replace one person's rows. Blocks are independent given the data, so divergences of a pair of datasets add over blocks.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.core.networks.brute_records import PlainNetwork, Record, all_records, pairs_of

Array = NDArray[np.float64]
Counts = tuple[int, int]
Block = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]

SHARE = 2.0**-20
"""γ of the uniform table in every table drawn."""


@dataclass(frozen=True)
class Neighbours:
    """[pair, block] → counts before and after, as places in `places`; with the blocks' sides."""

    blocks: list[Block]
    places: list[Counts]
    first: NDArray[np.int64]
    second: NDArray[np.int64]


def all_blocks(network: PlainNetwork) -> list[Block]:
    return [
        (i, given, yes, no)
        for i, parents in enumerate(network.parents)
        for given in itertools.product(*(range(network.levels[p]) for p in parents))
        for yes, no in pairs_of(network.nested[i])
    ]


def observed(network: PlainNetwork, blocks: Sequence[Block], record: Record) -> NDArray[np.int64]:
    """(blocks, 2): the success or failure one row is in every block."""
    return np.array(
        [
            (record[i] in yes, record[i] in no) if tuple(record[p] for p in network.parents[i]) == given else (0, 0)
            for i, given, yes, no in blocks
        ],
        dtype=np.int64,
    )


def neighbours(network: PlainNetwork, people: int, unit_rows: int = 1) -> Neighbours:
    blocks = all_blocks(network)
    rows = [observed(network, blocks, record) for record in all_records(network)]

    def totals(least: int, most: int) -> NDArray[np.int64]:
        """Of all multisets of that many rows, each set of counts once."""
        found = {
            tuple(np.sum([rows[r] for r in chosen], axis=0, dtype=np.int64).ravel().tolist()) or (0,) * 2 * len(blocks)
            for size in range(least, most + 1)
            for chosen in itertools.combinations_with_replacement(range(len(rows)), size)
            if size
        }
        if least == 0:
            found.add((0,) * 2 * len(blocks))
        return np.array(sorted(found), dtype=np.int64).reshape(-1, len(blocks), 2)

    others, persons = totals(people - 1, unit_rows * (people - 1)), totals(1, unit_rows)
    together = others[:, None] + persons[None]
    most = unit_rows * people + 1
    codes = together[..., 0] * most + together[..., 1]
    old, new = (np.array(side) for side in zip(*itertools.permutations(range(len(persons)), 2), strict=True))
    known, places = np.unique(codes, return_inverse=True)
    places = places.reshape(codes.shape)
    counts = [(int(code) // most, int(code) % most) for code in known]
    return Neighbours(blocks, counts, places[:, old].reshape(-1, len(blocks)), places[:, new].reshape(-1, len(blocks)))


def posterior_table(theta: Array, prior: tuple[float, float], counts: Counts, temperature: float) -> Array:
    wide = theta.astype(np.longdouble)
    log = (prior[0] - 0.5 + temperature * counts[0]) * np.log(wide)
    log += (prior[1] - 0.5 + temperature * counts[1]) * np.log1p(-wide)
    weights = np.exp(log - log.max())
    return np.asarray(weights / weights.sum())


def sharpened(table: Array, gain: float) -> Array:
    weights = np.exp(gain * (table - table.max()))
    return np.asarray(weights / weights.sum())


def mixed(table: Array) -> Array:
    return np.asarray((1 - SHARE) * table + SHARE / len(table))


def between(p: Array, q: Array, orders: Sequence[float]) -> Array:
    """[KL, D_α …, D_∞] of rows of tables, in the longest floats there are."""
    gap = np.log(p) - np.log(q)
    values = [(p * gap).sum(axis=1)]
    for order in orders:
        joint = np.log(p) + (order - 1) * gap
        top = joint.max(axis=1)
        values.append((top + np.log(np.exp(joint - top[:, None]).sum(axis=1))) / (order - 1))
    return np.stack([*values, gap.max(axis=1)], axis=1).astype(np.float64)


def exact_suprema(
    found: Neighbours,
    strength: float,
    points: dict[tuple[float, float], Array],
    orders: Sequence[float],
    table: Callable[[Array, tuple[float, float], Counts], Array],
) -> Array:
    """[KL, D_α …, D_∞], each the largest over all pairs, of tables made by `table` and mixed."""
    total = np.zeros((len(found.first), len(orders) + 2))
    known: dict[tuple[float, float], dict[int, Array]] = {}
    for place, (_, _, yes, no) in enumerate(found.blocks):
        prior = (strength * len(yes), strength * len(no))
        tables = known.setdefault(prior, {})
        moved, where = np.unique(
            found.first[:, place] * len(found.places) + found.second[:, place], return_inverse=True
        )
        before, after = moved // len(found.places), moved % len(found.places)
        for code in {*before.tolist(), *after.tolist()} - tables.keys():
            tables[code] = mixed(table(points[prior], prior, found.places[code]))
        p, q = (np.stack([tables[code] for code in side.tolist()]) for side in (before, after))
        total += between(p, q, orders)[where.ravel()]
    return np.asarray(total.max(axis=0))


def converted(orders: Sequence[float], figures: Array, samples: int, delta: float) -> float:
    """ε at δ of so many draws that each cost [KL, D_α …, D_∞], by Canonne, Kamath and Steinke (2020), Proposition 12."""
    offsets = [math.log((a - 1) / a) - (math.log(delta) + math.log(a)) / (a - 1) for a in orders]
    by_order = min(samples * value + offset for value, offset in zip(figures[1:-1], offsets, strict=True))
    return float(min(max(0.0, by_order), samples * figures[-1]))
