"""Tables of counts of made-up records in many chains at once, and what moves of records do to them.

Every table counts the same records (`chordal.py`), so a record that changes its value at one node changes the tables below that
node: those that leave are any of the records with the same values in the scope, and those that come are drawn from θ. All
arrays have the chains last.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.beliefs.chordal import ROOT, Place, chordal
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.structure import Network

Array = NDArray[np.float64]
Whole = NDArray[np.int64]
Bool = NDArray[np.bool_]
Changes = dict[int, Whole]
"""By place, in their order: what a table gains, (scope configurations, levels, chains)."""

TINIEST = 1e-290
ROWS_MAX = 500_000_000
"""What numpy draws hypergeometric numbers of."""


class MadeUpTables:
    """As many chains for every release, of what was measured of it. `heat` widens the noise.

    `theta` and `counts` are (cells of the network, chains); `tables` by place, (scope configurations, levels, chains). `residual`
    is what was measured less what would be of these counts without noise, (numbers, chains).
    """

    def __init__(
        self, network: Network, releases: Sequence[NoisyTables], start: Array, generator: np.random.Generator
    ) -> None:
        """`start` are the probabilities that the first records are drawn from, (chains, cells)."""
        self._generator, self._measured = generator, releases[0]
        self.places: tuple[Place, ...] = chordal(network)
        self.chains = len(start)
        self.heat = 1.0
        self.theta: Array = np.ascontiguousarray(start.T)
        self.tables = [np.zeros((p.size, p.levels, self.chains), dtype=np.int64) for p in self.places]
        self.counts = np.zeros(self.theta.shape, dtype=np.int64)
        self._cells_below = [self._cells(place.below) for place in self.places]
        self._all_cells = self._cells(range(len(self.places)))
        near, observed = (np.stack([getattr(each, name) for each in releases]) for name in ("near", "observed"))
        each = self.chains // len(releases)
        self.residual: Array = np.repeat(observed.T, each, axis=1)
        seen = np.rint(np.clip(near.sum(axis=1) / len(self.places), *self._measured.rows)).astype(np.int64)
        self.rows = np.repeat(seen, each)
        self.take(self.exchanged(np.zeros_like(self.rows), self.rows), np.ones(self.chains, dtype=bool))

    def exchanged(self, gone: Whole, come: Whole) -> Changes:
        """Any `gone` records leave every table, and `come` others enter: numbers by chain."""
        changes: Changes = {}
        for at, place in enumerate(self.places):
            if place.link == ROOT:
                changes |= self.carried(
                    at, any_of(self.tables[at], gone[None], self._generator), self.levels(at, come[None])
                )
        return dict(sorted(changes.items()))

    def levels(self, at: int, rows: Whole) -> Whole:
        """`rows` records in each configuration of the scope, by levels drawn from θ."""
        place = self.places[at]
        table = self.theta[place.cells].reshape(-1, place.levels, self.chains)[place.given]
        found = np.empty(table.shape, dtype=np.int64)
        left, last = rows, place.levels - 1
        share = np.minimum(table[:, 0], 1.0)
        for level in range(last):
            found[:, level] = self._generator.binomial(left, share)
            left = left - found[:, level]
            if level + 1 < last:
                share = np.minimum(table[:, level + 1] / table[:, level + 1 :].sum(axis=1), 1.0)
        found[:, last] = left
        return found

    def carried(self, at: int, gone: Whole, come: Whole) -> Changes:
        """What records that leave the table at a place, and others that enter it, do to this and to the tables below it."""
        moved = {at: np.concatenate([gone, come], axis=-1)}
        changes = {at: come - gone}
        for j in self.places[at].below[1:]:
            place = self.places[j]
            link = self.places[place.link]
            both = place.scope_counts(moved[place.link], (*link.shape, link.levels))
            gone, come = (
                any_of(self.tables[j], both[:, : self.chains], self._generator),
                self.levels(j, both[:, self.chains :]),
            )
            moved[j] = np.concatenate([gone, come], axis=-1)
            changes[j] = come - gone
        return changes

    def take(self, changes: Changes, taken: Bool | None = None, log_odds: Array | float = 0.0) -> Bool:
        """Takes changes of all tables together, chain by chain: as `taken`, or by how likely they make what was measured."""
        first = next(iter(changes))
        cells = self._all_cells if len(changes) == len(self.places) else self._cells_below[first]
        change = np.concatenate([self.places[j].family_counts(each) for j, each in changes.items()])
        rows, moved = self._numbers(cells, change)
        old: Array = self.residual[rows]
        new = np.asarray(old - moved)
        if taken is None:
            gain = (self._height(new) - self._height(old)).sum(axis=0) + log_odds
            taken = np.asarray(gain > np.log(self._generator.random(self.chains)))
        self.residual[rows] = np.where(taken, new, old)
        self.counts[cells] += change * taken
        for j, each in changes.items():
            self.tables[j] += each * taken
        return taken

    def take_alone(self, at: int, change: Whole, log_odds: Array | float = 0.0) -> Bool:
        """The same of one table that has none below it: (configurations of the parents, chains), each by itself."""
        place = self.places[at]
        counted = place.family_counts(change)
        old: Array = self.residual[place.cells]
        new = np.asarray(old - counted)
        gain = (self._height(new) - self._height(old)).reshape(-1, place.levels, self.chains).sum(axis=1)
        taken = np.asarray(gain + log_odds > np.log(self._generator.random(gain.shape)))
        each = np.repeat(taken, place.levels, axis=0)
        self.residual[place.cells] = np.where(each, new, old)
        self.counts[place.cells] += counted * each
        self.tables[at] += change * taken[place.given][:, None]
        return taken

    def _numbers(self, cells: Whole, change: Whole) -> tuple[Whole | slice, Array | Whole]:
        """(which of the measured numbers change, by how much)."""
        if self._measured.linear is None:
            return cells, change
        whole = np.zeros_like(self.counts)
        whole[cells] = change
        return slice(None), self._measured.numbers(whole.T).T

    def _cells(self, places: Iterable[int]) -> Whole:
        parts = [self.places[j].cells for j in places]
        return np.concatenate([np.arange(part.start, part.stop) for part in parts])

    def _height(self, residual: Array) -> Array:
        """The log law of every number."""
        scale = self.heat * self._measured.scale
        return residual * residual / (-2 * scale**2) if self._measured.gaussian else np.abs(residual) / -scale


def any_of(table: Whole, rows: Whole, generator: np.random.Generator) -> Whole:
    """Any `rows` of the records in each configuration, by level: (configurations, levels, chains) of as many."""
    found = np.empty_like(table)
    left, last = rows, table.shape[1] - 1
    for level in range(last):
        after = table[:, last] if level + 1 == last else table[:, level + 1 :].sum(axis=1)
        found[:, level] = generator.hypergeometric(table[:, level], after, left)
        left = left - found[:, level]
    found[:, last] = left
    return found
