"""Moves of one conditional table together with the records that it made: what a chain of records lacks where noise is large.

θ given m records moves by √(pq/m) in a turn, though noisy counts of sd σ leave it open by σ/m: where σ is large, it takes turns
by the hundred. Here a share p of two levels of one configuration becomes p', and every record of the one level is moved to the
other with the probability that both shares, cut at the same uniform number, differ for it; variables below a record that moved
are drawn afresh. Pairs (records, new records) are as likely as the other way round, so the move is taken with probability

    min(1, p(R | new counts)/p(R | old counts) · (p'/p)^{α_a}·((1−p')/(1−p))^{α_b}),   logit p' normal around logit p.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.structure import Network

Array = NDArray[np.float64]
Places = NDArray[np.int64]

SHIFTS = 4
"""In a turn, one configuration after another."""
STEP_LEAST, STEP_MOST = 0.02, 2.0
REACH = 1.5
"""Of a step, in sds of the noise."""


class TableShifts:
    def __init__(self, network: Network, measured: NoisyTables, generator: np.random.Generator) -> None:
        self._generator = generator
        nodes = range(len(network.nodes))
        self._levels = [len(node.levels) for node in network.nodes]
        self._parents = [network.parents(i) for i in nodes]
        self._cells = [network.cells(i) for i in nodes]
        self._starts = [cells.start for cells in self._cells]
        self._below = [_descendants(self._parents, i) for i in nodes]
        self._places = [(i, j) for i in nodes for j in range(network.configurations(i))]
        self._steps = [self._step(measured, i, j) for i, j in self._places]
        self._next = 0

    def _step(self, measured: NoisyTables, node: int, configuration: int) -> float:
        """From what was measured, so that it is the same both ways: about as far as noise leaves open."""
        levels = self._levels[node]
        start = self._starts[node] + configuration * levels
        seen = np.maximum(measured.near[start : start + levels], 1.0)
        spread = float(measured.spread[start])
        information = float(1 / (1 / seen).sum())
        step = REACH * spread / (information + spread) / math.sqrt(1 + len(self._below[node]))
        return min(max(step, STEP_LEAST), STEP_MOST)

    def propose(
        self, tables: Array, places: Places, concentration: Array
    ) -> tuple[Array, Places, Places, float] | None:
        """(tables, which records change, their new places in all nodes, log ratio of the prior), or nothing to change."""
        at, self._next = self._next, (self._next + 1) % len(self._places)
        node, configuration = self._places[at]
        levels = self._levels[node]
        first, second = self._generator.choice(levels, 2, replace=False).tolist() if levels > 2 else (0, 1)
        start = self._starts[node] + configuration * levels
        a, b = start + first, start + second
        both = tables[a] + tables[b]
        share = tables[a] / both
        if not 0 < share < 1:
            return None  # of a weak prior, so near to 0 or 1 that doubles do not tell
        logit = math.log(share) - math.log1p(-share) + self._steps[at] * float(self._generator.standard_normal())
        new = 1 / (1 + math.exp(-logit))
        if not 0 < new < 1:
            return None
        source, target, chance = (a, b, (share - new) / share) if new < share else (b, a, (new - share) / (1 - share))
        moved = np.flatnonzero(places[node] == source)
        moved = moved[self._generator.random(len(moved)) < chance]
        changed = tables.copy()
        changed[a], changed[b] = new * both, (1 - new) * both
        ratio = concentration[a] * math.log(new / share) + concentration[b] * math.log((1 - new) / (1 - share))
        return changed, moved, self._redrawn(changed, places[:, moved], node, target), float(ratio)

    def _redrawn(self, tables: Array, old: Places, node: int, target: int) -> Places:
        found = old.copy()
        found[node] = target
        for i in self._below[node]:
            given = np.zeros(found.shape[1], dtype=np.int64)
            for parent in self._parents[i]:
                given = given * self._levels[parent] + (found[parent] - self._starts[parent]) % self._levels[parent]
            below = np.cumsum(tables[self._cells[i]].reshape(-1, self._levels[i]), axis=1)[given, :-1]
            value = (self._generator.random(len(given))[:, None] >= below).sum(axis=1)
            found[i] = self._starts[i] + given * self._levels[i] + value
        return found


def _descendants(parents: list[tuple[int, ...]], start: int) -> list[int]:
    found = {start}
    for i in range(start + 1, len(parents)):
        if found.intersection(parents[i]):
            found.add(i)
    return sorted(found - {start})
