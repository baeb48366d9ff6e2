"""The chains of `column_chain.py` over tables of counts instead of records: nothing grows with how many records there are.

The records of `chordal.py`'s tables are any that agree with them, each as probable as any other, and the weight of a draw's law
depends on the counts of families alone. So records that a move takes out of one table are any of those with their values in the
next (hypergeometric); the levels of those that come are drawn configuration by configuration of the parents (`split_draws.py`),
and which of them have which values in the rest of the scope is even, hypergeometric again. All arrays have the chains last.
"""

import numpy as np

from app.core.kinds.networks.beliefs.chordal import ROOT, Place, chordal
from app.core.kinds.networks.beliefs.drawn_chains import ALL, OPERATION_S, Bool, DrawnChains, Size
from app.core.kinds.networks.beliefs.drawn_law import Array, Whole
from app.core.kinds.networks.beliefs.made_up_tables import ROWS_MAX, Changes, any_of
from app.core.kinds.networks.beliefs.split_draws import OpenNode
from app.core.kinds.networks.structure import Network

ENTRIES_EACH = 3
"""Entries of tables that take as long as the value of one record."""
ENTRY_S, NUMBER_S = 0.8e-6, 0.5e-6
"""On the machine of reference: an entry of a table in one chain, and each of the numbers that a split's draw sums over."""


def smaller_than_records(network: Network, rows: int) -> bool:
    places = chordal(network)
    entries = sum(place.size * place.levels for place in places)
    return 0 < ENTRIES_EACH * entries < rows * len(network.nodes) and rows <= ROWS_MAX


class TableChains(DrawnChains):
    """Each begun with every column drawn given its own draws and its parents, with numbers of rows spread over their range."""

    def __init__(self, network: Network, nodes: list[OpenNode], size: Size, generator: np.random.Generator) -> None:
        self._network, self._generator = network, generator
        self._range, self._chains = size.rows, size.chains
        self._places = chordal(network)
        self._at = {place.node: at for at, place in enumerate(self._places)}
        super().__init__(nodes, [len(self._places[self._at[i]].below) for i in range(len(nodes))])
        self._ranks = [_ranks(place) for place in self._places]
        self._tables = [np.zeros((p.size, p.levels, self._chains), dtype=np.int64) for p in self._places]
        least, most = self._range
        self._rows = least + (most - least) * np.arange(self._chains) // max(self._chains - 1, 1)
        changes, _ = self._exchanged(np.zeros_like(self._rows), self._rows)
        self._take(changes, np.ones(self._chains, dtype=bool))

    @property
    def counts(self) -> Whole:
        found = np.empty((self._network.cell_count, self._chains), dtype=np.int64)
        for place, table in zip(self._places, self._tables, strict=True):
            found[place.cells] = place.family_counts(table)
        return np.ascontiguousarray(found.T)

    def look_for_strays(self) -> None:
        for place, table in zip(self._places, self._tables, strict=True):
            own = _by_row(place, place.family_counts(table))
            self._nodes[place.node].look_for_strays(own, self._generator)

    def _try(self, move: int) -> Bool:
        if move == ALL:
            return self._try_rows()
        at = self._at[move]
        gone = self._generator.binomial(self._tables[at], self._shares[move])
        changes, gain = self._carried(at, gone, gone.sum(axis=1))
        taken = gain > np.log(self._generator.random(self._chains))
        self._take(changes, taken)
        return np.asarray(taken)

    def _try_rows(self) -> Bool:
        """Any records of every chain go and others come, perhaps more or fewer: as likely as the other way round."""
        least, most = self._range
        base = max(1, round(self._shares[ALL] * least))
        more = self._generator.integers(-base, base + 1, self._chains) if least < most else np.zeros_like(self._rows)
        gone, come = base + np.maximum(-more, 0), base + np.maximum(more, 0)
        after = self._rows - gone + come
        possible = (gone <= self._rows) & (least <= after) & (after <= most)
        changes, gain = self._exchanged(np.where(possible, gone, 0), np.where(possible, come, 0))
        taken = possible & (gain > np.log(self._generator.random(self._chains)))
        self._rows = np.where(taken, after, self._rows)
        self._take(changes, taken)
        return np.asarray(taken)

    def _exchanged(self, gone: Whole, come: Whole) -> tuple[Changes, Array]:
        """Any `gone` records leave every table, and `come` others enter: numbers by chain."""
        changes, gain = Changes(), np.zeros(self._chains)
        for at, place in enumerate(self._places):
            if place.link == ROOT:
                leaving = any_of(self._tables[at], gone[None], self._generator)
                found, own = self._carried(at, leaving, come[None])
                changes |= found
                gain += own
        return changes, gain

    def _carried(self, at: int, gone: Whole, come: Whole) -> tuple[Changes, Array]:
        """What records that leave the table at a place, and those that come to configurations of its scope, do to this table and
        to those below it; and log Π Z(new)/Z(old) for each chain."""
        moved, changes, gain = dict[int, Whole](), Changes(), np.zeros(self._chains)
        for j in self._places[at].below:
            place = self._places[j]
            if j != at:
                link = self._places[place.link]
                both = place.scope_counts(moved[place.link], (*link.shape, link.levels))
                gone = any_of(self._tables[j], both[:, : self._chains], self._generator)
                come = both[:, self._chains :]
            drawn, own = self._drawn(j, gone, come)
            moved[j] = np.concatenate([gone, drawn], axis=-1)
            changes[j] = drawn - gone
            gain += own
        return changes, gain

    def _drawn(self, j: int, gone: Whole, come: Whole) -> tuple[Whole, Array]:
        """Levels of the records that come, (configurations of the scope, levels, chains), and the log of the ratio of Z."""
        place, node = self._places[j], self._nodes[self._places[j].node]
        left = _by_row(place, place.family_counts(gone))
        rest = _by_row(place, place.family_counts(self._tables[j])) - left
        members = np.zeros((len(left) // self._chains, self._chains), dtype=np.int64)
        np.add.at(members, place.given, come)
        before = node.looked_at
        found, gain = node.draw(rest, members.T.ravel(), left, self._generator)
        self.work_s += OPERATION_S * (place.levels - 1) + NUMBER_S * (node.looked_at - before)
        self.work_s += ENTRY_S * come.size * place.levels
        levels = found.reshape(self._chains, -1, place.levels).transpose(1, 2, 0)
        return self._spread(j, levels, come), gain.reshape(self._chains, -1).sum(axis=1)

    def _spread(self, j: int, levels: Whole, come: Whole) -> Whole:
        """Of each configuration of the parents, over those of the scope that it is part of: every way alike."""
        place, left = self._places[j], levels.copy()
        found = np.empty((place.size, place.levels, self._chains), dtype=np.int64)
        for own in self._ranks[j][:-1]:
            found[own] = any_of(left[place.given[own]], come[own], self._generator)
            left[place.given[own]] -= found[own]
        last = self._ranks[j][-1]
        found[last] = left[place.given[last]]
        return found

    def _take(self, changes: Changes, taken: Bool) -> None:
        for j, each in changes.items():
            self._tables[j] += each * taken


def _by_row(place: Place, cells: Whole) -> Whole:
    """(cells of the node, chains) → (chains × configurations, levels), as splits have it."""
    return np.asarray(cells.reshape(-1, place.levels, cells.shape[-1]).transpose(2, 0, 1).reshape(-1, place.levels))


def _ranks(place: Place) -> list[Whole]:
    """Configurations of the scope, one of each configuration of the parents at a time."""
    order = np.argsort(place.given, kind="stable")
    return list(order.reshape(int(place.given.max()) + 1, -1).T)
