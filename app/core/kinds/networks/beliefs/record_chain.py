"""p(θ, records | R) for noisy tables of a network too wide for tables of counts, by turns θ | records and records | θ, R.

Records are made up: n of them with every variable known. Their tables agree about everything tables can agree about, are whole,
not negative and sum to n, because they are tables of records.

  θ | records       is Dirichlet, table by table, whatever R.
  records | θ, R    a block of records is drawn afresh from the network, p(x|θ), and taken with probability
                    min(1, p(R | new counts)/p(R | old counts)): the prior cancels (Ju, Awan, Gong and Rao 2022).

Both leave p(θ, records | R) as it is, for every structure and every noise. How many records a block has only decides how fast
the chain forgets where it began: it is chosen while the chain settles, and kept from then on. With several rows a person their
number is unknown, uniform from one to k a person, and of rows that meet a private condition from none to all: records drawn from
p(x|θ) come or the last ones go, taken likewise.

A network of I nodes is gone through in about I·n·12 ns. θ forgets in about σ²/(m·p·(1−p)) turns for noise of sd σ on a cell of m
rows, at most about m: tens where noise is large and a few where it is not. How many turns there are is in `pace.py`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.pace import ROW_MOVES, SETTLING, Pace
from app.core.kinds.networks.beliefs.pooled_prior import PooledPriors
from app.core.kinds.networks.beliefs.table_shifts import SHIFTS, TableShifts
from app.core.kinds.networks.structure import Network

Array = NDArray[np.float64]
Places = NDArray[np.int64]

CHANGES_MAX = 2_000_000
"""Changes of counts, blocks times cells, that are worked out at once."""
TAKEN_LEAST, TAKEN_MOST = 0.3, 0.5
_TINIEST = 1e-290


class Drawing:
    """A network as arrays: tables from counts, records from tables."""

    def __init__(self, network: Network, generator: np.random.Generator) -> None:
        self._generator = generator
        nodes = range(len(network.nodes))
        self._levels = [len(node.levels) for node in network.nodes]
        self._parents = [network.parents(i) for i in nodes]
        self._cells = [network.cells(i) for i in nodes]
        self.priors = PooledPriors(network, 1, generator)
        sizes = [np.full(network.configurations(i), self._levels[i]) for i in nodes]
        self._sizes = np.concatenate(sizes)
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])
        self.cell_count = network.cell_count
        self.nodes = len(network.nodes)

    def tables(self, counts: Array | NDArray[np.int64]) -> Array:
        """One draw of every table given its counts."""
        weights = self._generator.standard_gamma(self.priors.concentration[:, 0] + counts) + _TINIEST
        return np.asarray(weights / np.repeat(np.add.reduceat(weights, self._starts), self._sizes))

    def records(self, tables: Array, rows: int) -> Places:
        """(nodes, rows): the cell of its node's table that each record falls in."""
        values = np.empty((self.nodes, rows), dtype=np.int64)
        places = np.zeros((self.nodes, rows), dtype=np.int64)
        for i, levels in enumerate(self._levels):
            given, value = places[i], values[i]
            for parent in self._parents[i]:
                given *= self._levels[parent]
                given += values[parent]
            below = np.cumsum(tables[self._cells[i]].reshape(-1, levels), axis=1).astype(np.float32)
            uniform = self._generator.random(rows, dtype=np.float32)
            np.greater_equal(uniform, below[:, 0].take(given), out=value, casting="unsafe")
            for level in range(1, levels - 1):
                value += uniform >= below[:, level].take(given)
            given *= levels
            given += value
            given += self._cells[i].start
        return places

    def counted(self, places: Places) -> NDArray[np.int64]:
        return np.bincount(places.ravel(), minlength=self.cell_count)


@dataclass(slots=True)
class _State:
    places: Places
    counts: NDArray[np.int64]
    residual: Array
    height: float
    block: int
    step: int
    """How many rows come or go at once, at most."""
    first: int = 0


class RecordChain:
    def __init__(self, network: Network, measured: NoisyTables, pace: Pace, generator: np.random.Generator) -> None:
        self._drawing = Drawing(network, generator)
        self._shifts = TableShifts(network, measured, generator)
        self._measured = measured
        self._pace = pace
        self._generator = generator

    def samples(self, start: Array, kept: int) -> Array:
        """(kept, cells) draws of θ, evenly from all turns after settling down from the tables `start`."""
        state = self._begin(start)
        for _ in range(SETTLING):
            taken, changed = self._turn(state, settling=True)
            state.block = _resized(state.block, taken, state.places.shape[1])
            state.step = _resized(state.step, changed, state.places.shape[1])
        chosen = np.linspace(0, self._pace.turns, kept, endpoint=False).astype(np.int64)
        times = np.bincount(chosen, minlength=self._pace.turns)
        found = []
        for each in times.tolist():
            self._turn(state)
            found += [self._drawing.tables(state.counts) for _ in range(each)]
        return np.array(found)

    def _begin(self, start: Array) -> _State:
        least, most = self._measured.rows
        seen = float(self._measured.near.sum()) / self._drawing.nodes
        rows = round(min(max(seen, least), most))
        places = self._drawing.records(start, rows)
        counts = self._drawing.counted(places)
        residual = self._measured.observed - self._measured.numbers(counts)
        return _State(places, counts, residual, self._measured.log_law(residual), self._pace.block, self._pace.block)

    def _turn(self, state: _State, *, settling: bool = False) -> tuple[float, float]:
        """θ, then records. Returns the shares of blocks and of changes of their number that were taken."""
        self._drawing.priors.turn(state.counts[:, None], settling=settling)
        tables = self._drawing.tables(state.counts)
        for _ in range(SHIFTS):
            tables = self._shift(state, tables)
        changed = 0.0
        if self._measured.rows[0] < self._measured.rows[1]:
            changed = float(np.mean([self._come_or_go(state, tables) for _ in range(ROW_MOVES)]))
        rows = state.places.shape[1]
        window = min(rows, self._pace.window)
        begin = min(state.first, rows - window)
        end = begin + window
        step = state.block * max(1, CHANGES_MAX // self._drawing.cell_count)
        shares = [
            self._redraw(state, tables, slice(first, min(first + step, end))) for first in range(begin, end, step)
        ]
        state.first = 0 if end == rows else end
        return float(np.mean(shares)) if shares else 0.0, changed  # of no records no block is drawn

    def _shift(self, state: _State, tables: Array) -> Array:
        proposal = self._shifts.propose(tables, state.places, self._drawing.priors.concentration[:, 0])
        if proposal is None:
            return tables
        shifted, moved, places, ratio = proposal
        change = self._drawing.counted(places) - self._drawing.counted(state.places[:, moved])
        residual = state.residual - self._measured.numbers(change)
        height = self._measured.log_law(residual)
        if not height - state.height + ratio > np.log(self._generator.random()):
            return tables
        state.places[:, moved] = places
        state.counts, state.residual, state.height = state.counts + change, residual, height
        return shifted

    def _redraw(self, state: _State, tables: Array, part: slice) -> float:
        rows, cells = part.stop - part.start, self._drawing.cell_count
        old, new = state.places[:, part], self._drawing.records(tables, rows)
        blocks = -(-rows // state.block)
        block_of = np.repeat(np.arange(blocks), state.block)[:rows]
        change = _by_block(new, block_of, blocks, cells) - _by_block(old, block_of, blocks, cells)
        moved = self._measured.numbers(change)
        taken = np.zeros(blocks, dtype=bool)
        heights = np.log(self._generator.random(blocks)).tolist()
        log_law = self._measured.log_law
        for b, least in enumerate(heights):
            residual = state.residual - moved[b]
            height = log_law(residual)
            if height - state.height > least:
                state.residual, state.height, taken[b] = residual, height, True
        state.counts = state.counts + change[taken].sum(axis=0)
        np.copyto(old, new, where=taken[block_of])
        return float(taken.mean())

    def _come_or_go(self, state: _State, tables: Array) -> bool:
        least, most = self._measured.rows
        rows = state.places.shape[1]
        by = int(self._generator.integers(1, state.step + 1))
        if self._generator.random() < 0.5:
            by = -by
        if not least <= rows + by <= most:
            return False
        changed = self._drawing.records(tables, by) if by > 0 else state.places[:, rows + by :]
        change = self._drawing.counted(changed) * (1 if by > 0 else -1)
        residual = state.residual - self._measured.numbers(change)
        height = self._measured.log_law(residual)
        if not height - state.height > np.log(self._generator.random()):
            return False
        kept = np.concatenate([state.places, changed], axis=1) if by > 0 else state.places[:, : rows + by].copy()
        state.places, state.counts = kept, state.counts + change
        state.residual, state.height = residual, height
        return True


def _by_block(places: Places, block_of: Places, blocks: int, cells: int) -> NDArray[np.int64]:
    found = np.bincount((places + block_of * cells).ravel(), minlength=blocks * cells)
    return found.reshape(blocks, cells)


def _resized(block: int, taken: float, rows: int) -> int:
    if taken < TAKEN_LEAST:
        return max(1, int(block * 0.8))
    return min(max(rows, 1), int(block * 1.25) + 1) if taken > TAKEN_MOST else block
