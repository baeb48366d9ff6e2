"""What chains over made-up records given draws have in common, however the records are kept: their turns and how long moves are.

A move draws the columns of a node and its descendants, or of all nodes, afresh for some of the records; how many is settled for
each while the chains settle.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.beliefs.drawn_law import Whole
from app.core.kinds.networks.beliefs.split_draws import OpenNode

TAKEN_LEAST, TAKEN_MOST = 0.25, 0.5
ALL = -1
"""The move of the whole network."""
OPERATION_S = 400e-6
"""On the machine of reference: a column of some records, for every split."""
TURN_S = 0.5
"""Of moves of single nodes: of a network of 37 all of them take some ten seconds."""

Bool = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Size:
    """From public numbers: the fewest and the most rows there may be, how many chains, and how many rows a record stands for; or
    whether counts are kept instead of records."""

    rows: tuple[int, int]
    chains: int
    lump: int = 1
    by_tables: bool = False


class DrawnChains(ABC):
    """Several chains at once. `work_s` is how long they took on the machine of reference: counted, not measured."""

    def __init__(self, nodes: Sequence[OpenNode], changed: Iterable[int]) -> None:
        """`changed`: by node, in how many nodes its move changes columns."""
        self._nodes = nodes
        self._shares = {move: min(1.0, 2 / count) for move, count in enumerate(changed)} | {ALL: 1.0}
        self._taken = {ALL: 0.0}
        self._next = 0
        self.work_s = 0.0

    @property
    @abstractmethod
    def counts(self) -> Whole:
        """(chains, cells): by (node, configuration, level), in the order of the network's cells."""

    @abstractmethod
    def look_for_strays(self) -> None: ...

    @abstractmethod
    def _try(self, move: int) -> Bool:
        """Which chains took it."""

    def settle(self) -> None:
        """A turn, after which those of its moves that were seldom taken have fewer records, and those that mostly were more."""
        self.turn()
        for move, taken in self._taken.items():
            if taken < TAKEN_LEAST:
                self._shares[move] *= 0.4 if taken < TAKEN_LEAST / 4 else 0.7
            elif taken > TAKEN_MOST:
                self._shares[move] = min(1.0, self._shares[move] * 1.4)

    @property
    def renewed(self) -> bool:
        """Whether the last turn renewed most chains altogether."""
        return self._shares[ALL] == 1 and self._taken[ALL] >= TAKEN_MOST

    def turn(self) -> None:
        """The move of the whole network; unless that renews all records and is mostly taken those of nodes in turn, as many as
        take `TURN_S`: the next turn goes on from there."""
        self._taken = {ALL: float(self._try(ALL).mean())}
        until = self.work_s + TURN_S
        while not self.renewed and len(self._taken) <= len(self._nodes) and self.work_s < until:
            self._taken[self._next] = float(self._try(self._next).mean())
            self._next = (self._next + 1) % len(self._nodes)
