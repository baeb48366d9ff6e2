"""p(records | R) for draws of a network's tables, θ integrated out: columns of made-up records drawn given their draws.

n records with every variable known have the weight Π B(α + s, β + f)·p(R | s, f) over the splits of all tables. A move takes some
of the records and a node, and draws its column and those of its descendants afresh for these records, parents first: how many
of a configuration's records take each value, given the draws (`split_draws.py`), then which, evenly. It is taken with probability
min(1, Π Z(new)/Π Z(old)): Z is all that the proposal leaves out of the weight, so this is exact whatever is chosen.

Z, the chance of a split's draws given how many records its configuration has, hardly depends on that number: one draw at
temperature 1 has the prior's law whatever it is. So all records can be drawn at once where draws are few; where they are many,
fewer records move at a time, and how many is settled for each node while the chains settle.

With several rows a person their number is unknown, uniform from one to k a person: moves of the whole network change it too.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.beliefs.drawn_chains import ALL, OPERATION_S, Bool, DrawnChains, Size
from app.core.kinds.networks.beliefs.drawn_law import Array, Whole
from app.core.kinds.networks.beliefs.split_draws import OpenNode
from app.core.kinds.networks.structure import Network

ROW_S, RECORD_S = 0.6e-6, 0.4e-6
"""On the machine of reference: each configuration of a column, and each record, for every split."""

Columns = NDArray[np.int16]


@dataclass(slots=True)
class _State:
    """Of all chains: the level of every record, (nodes, chains, rows), and how many rows are in use; counts of each node,
    (chains × configurations, levels)."""

    values: Columns
    rows: Whole
    counts: list[Whole]


@dataclass(slots=True)
class _Proposal:
    """Of the columns that change: what they become, and log Π Z(new)/Z(old) for each chain."""

    gain: Array
    values: list[Whole] = field(default_factory=list)
    counts: list[Whole] = field(default_factory=list)


class ColumnChains(DrawnChains):
    """Several chains at once, each begun with every column drawn given its own draws and its parents.

    Where there are more rows than can be kept, a record stands for `lump` of them, and a turn is another beginning.
    """

    def __init__(self, network: Network, nodes: list[OpenNode], size: Size, generator: np.random.Generator) -> None:
        self._generator = generator
        self._range, self._chains, self._lump = size.rows, size.chains, size.lump
        every = range(len(nodes))
        self._parents = [network.parents(i) for i in every]
        self._shapes = [(network.configurations(i), len(node.levels)) for i, node in enumerate(network.nodes)]
        self._moves = {ALL: list(every)} | {i: _descendants(self._parents, i) for i in every}
        super().__init__(nodes, [len(self._moves[i]) for i in every])
        self._state = self._begin()

    @property
    def renewed(self) -> bool:
        return self._lump > 1 or super().renewed

    def turn(self) -> None:
        if self._lump > 1:
            self._state = self._begin()
        else:
            super().turn()

    def look_for_strays(self) -> None:
        for node, counts in zip(self._nodes, self._state.counts, strict=True):
            node.look_for_strays(counts, self._generator)

    @property
    def counts(self) -> Whole:
        return np.concatenate([each.reshape(self._chains, -1) for each in self._state.counts], axis=1)

    def _begin(self) -> _State:
        least, most = (rows // self._lump for rows in self._range)
        chains = np.arange(self._chains)
        rows = least + (most - least) * chains // max(self._chains - 1, 1)
        empty = [np.zeros((self._chains * j, levels), dtype=np.int64) for j, levels in self._shapes]
        state = _State(np.zeros((len(self._nodes), self._chains, most), dtype=np.int16), rows, empty)
        inside = np.arange(most) < rows[:, None]
        proposal = self._propose(state, self._moves[ALL], np.zeros_like(inside), np.repeat(chains, rows))
        for i, values in enumerate(proposal.values):
            state.values[i, inside] = values
        state.counts = proposal.counts
        return state

    def _propose(self, state: _State, changed: list[int], gone: slice | Bool, owner: Whole) -> _Proposal:
        """The columns `changed` for one record of the chain `owner` each, in the place of those `gone`.

        `gone` is the same slice of every chain, or any records where all columns change.
        """
        found = _Proposal(np.zeros(self._chains))
        fresh: dict[int, Whole] = {}
        left_owner = owner if isinstance(gone, slice) else np.nonzero(gone)[0]
        at: tuple[Any, ...] = (slice(None), gone) if isinstance(gone, slice) else (gone,)
        for i in changed:
            count, levels = self._shapes[i]
            old = {k: state.values[k][at].ravel().astype(np.int64) for k in (i, *self._parents[i])}
            left = _table(self._given(i, left_owner, old), old[i], (count * self._chains, levels))
            given = self._given(i, owner, old | fresh)
            rest = state.counts[i] - left
            members = np.bincount(given, minlength=len(rest)) * self._lump
            drawn, gain = self._nodes[i].draw(rest, members, left, self._generator)
            fresh[i] = self._spread(given, drawn)
            found.gain += gain.reshape(self._chains, count).sum(axis=1)
            found.values.append(fresh[i])
            found.counts.append(rest + drawn)
            at_most = min(2 * len(owner), len(rest))
            self.work_s += OPERATION_S + (levels - 1) * (at_most * ROW_S + len(owner) * RECORD_S)
        return found

    def _given(self, i: int, owner: Whole, values: dict[int, Whole]) -> Whole:
        """The row of node i's counts that each record belongs to."""
        given = owner.copy()
        for parent in self._parents[i]:
            given *= self._shapes[parent][1]
            given += values[parent]
        return given

    def _try(self, move: int) -> Bool:
        if move == ALL and self._range[0] < self._range[1]:
            return self._try_rows()
        state, rows = self._state, int(self._state.rows.min())
        size = max(1, round(self._shares[move] * rows))
        first = int(self._generator.integers(0, rows - size + 1))
        part = slice(first, first + size)
        proposal = self._propose(state, self._moves[move], part, np.repeat(np.arange(self._chains), size))
        taken = proposal.gain > np.log(self._generator.random(self._chains))
        for values, i in zip(proposal.values, self._moves[move], strict=True):
            np.copyto(state.values[i, :, part], values.reshape(-1, size), where=taken[:, None], casting="unsafe")
        self._count(state, proposal, self._moves[move], taken)
        return np.asarray(taken)

    def _try_rows(self) -> Bool:
        """The last records of every chain go and others come, perhaps more or fewer: as likely as the other way round."""
        state, (least, most) = self._state, self._range
        base = max(1, round(self._shares[ALL] * least))
        more = self._generator.integers(-base, base + 1, self._chains)
        gone, come = base + np.maximum(-more, 0), base + np.maximum(more, 0)
        after = state.rows - gone + come
        possible = (gone <= state.rows) & (least <= after) & (after <= most)
        gone, come = np.where(possible, gone, 0), np.where(possible, come, 0)
        first, slots = state.rows - gone, np.arange(most)
        old = (slots >= first[:, None]) & (slots < state.rows[:, None])
        owner = np.repeat(np.arange(self._chains), come)
        proposal = self._propose(state, self._moves[ALL], old, owner)
        taken = possible & (proposal.gain > np.log(self._generator.random(self._chains)))
        state.rows = np.where(taken, after, state.rows)
        new = (slots >= first[:, None]) & (slots < state.rows[:, None]) & taken[:, None]
        for i, values in enumerate(proposal.values):
            state.values[i, new] = values[taken[owner]]
        self._count(state, proposal, self._moves[ALL], taken)
        for chain, rows in enumerate(state.rows.tolist()):  # so that the last ones are others the next time
            state.values[:, chain, :rows] = np.roll(state.values[:, chain, :rows], rows // 3 + 1, axis=1)
        return np.asarray(taken)

    def _count(self, state: _State, proposal: _Proposal, changed: list[int], taken: Bool) -> None:
        for i, counts in zip(changed, proposal.counts, strict=True):
            np.copyto(state.counts[i], counts, where=np.repeat(taken, self._shapes[i][0])[:, None])

    def _spread(self, given: Whole, drawn: Whole) -> Whole:
        """Which records of each configuration take which value: every way alike."""
        order = np.argsort(given + self._generator.random(len(given)))
        values = np.empty(len(given), dtype=np.int64)
        if self._lump > 1:
            ends = np.cumsum(drawn, axis=1) / self._lump + self._generator.random((len(drawn), 1)) * (1 - 1e-9)
            ends[:, -1] = drawn.sum(axis=1) // self._lump
            drawn = np.diff(np.minimum(np.floor(ends), ends[:, -1:]), axis=1, prepend=0).astype(np.int64)
        values[order] = np.repeat(np.tile(np.arange(drawn.shape[1]), len(drawn)), drawn.ravel())
        return values


def _table(given: Whole, values: Whole, shape: tuple[int, int]) -> Whole:
    return np.bincount(given * shape[1] + values, minlength=shape[0] * shape[1]).reshape(shape)


def _descendants(parents: list[tuple[int, ...]], start: int) -> list[int]:
    found = {start}
    for i in range(start + 1, len(parents)):
        if found.intersection(parents[i]):
            found.add(i)
    return sorted(found)
