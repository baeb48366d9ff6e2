"""How long a chain of records is run, from public numbers only: equal on every worker, and said in plans.

A block of B records drawn afresh changes the log law of noise of scale s by about √(B·q)/s, q the sum of squared changes of the
noisy numbers that one record makes: B ≈ 6·s²/q is taken about two times in five. Where even one record is seldom taken (noise
of a row or less on a cell), or a chain would have too few turns or go through all records too few times, tables are taken one by
one: there, noise is small beside what counts vary by themselves, and tables have little to tell each other.
"""

import math
from dataclasses import dataclass

from app.core.kinds.networks.beliefs.pooled_prior import pooled_work
from app.core.kinds.networks.beliefs.table_shifts import SHIFTS
from app.core.kinds.networks.structure import Network

SETTLING = 300
TURNS_LEAST, TURNS_MOST = 1_500, 4_000
"""Ends of a 90 % interval that come from a chain worth m independent draws are off by chance, and it holds about 0.8/m less, of a
normal posterior: a chain that forgets in 50 turns wants some thousands. Of 37 nodes and 10,000 to 100,000 people chains of 870
to 500 turns held 72 to 88 %, and tables one by one 88 to 92 %."""
TURNS_EACH = 2
CHAIN_S = 8.0
TURN_S = 0.012
"""A turn takes no longer than this: of many records it draws some afresh, and the next turn others."""
BLOCK_LEAST = 0.5
ROUNDS_LEAST = 20
VARIABLES_MAX = 8_000_000
"""Records times nodes: what a chain keeps in memory."""
ROW_MOVES = 2

_FIXED_S, _NODE_S, _CELL_S, _VARIABLE_S, _BLOCK_S = 100e-6, 15e-6, 100e-9, 12e-9, 6e-6
GAMMA_S = 40e-9
"""lnΓ, for priors that are pooled."""
_SHIFT_S, _SHIFT_NODE_S, _SHIFT_ROW_S = 60e-6, 8e-6, 3e-9


@dataclass(frozen=True, slots=True)
class Pace:
    """`window` records drawn afresh in a turn; `turn_s` on the machine of reference. None of it where there is no chain."""

    chain: bool
    block: int
    window: int
    turns: int
    turn_s: float

    @property
    def seconds(self) -> float:
        return (SETTLING + self.turns) * self.turn_s if self.chain else 0.0


def pace(network: Network, rows: tuple[int, int], scale: float, moved: float, samples: int) -> Pace:
    """`moved` is q."""
    nodes = len(network.nodes)
    wished = 6 * scale**2 / moved
    block = max(1, math.floor(wished))
    passes = 1 + (ROW_MOVES if rows[0] < rows[1] else 0)
    fixed = _FIXED_S + passes * (nodes * _NODE_S + network.cell_count * _CELL_S)
    fixed += pooled_work(network) * GAMMA_S
    fixed += SHIFTS * (_SHIFT_S + nodes * _SHIFT_NODE_S + rows[1] * _SHIFT_ROW_S)
    each = nodes * _VARIABLE_S + _BLOCK_S / block
    window = max(min(rows[1], math.floor((TURN_S - fixed) / each)), min(rows[1], 100))
    turn_s = fixed + window * each
    wanted = min(max(TURNS_EACH * samples, TURNS_LEAST), TURNS_MOST)
    turns = min(wanted, math.floor(CHAIN_S / turn_s) - SETTLING)
    rounds = (SETTLING + turns) * window / max(rows[1], 1)
    long = turns >= TURNS_LEAST and rounds >= ROUNDS_LEAST
    return Pace(long and wished >= BLOCK_LEAST and rows[1] * nodes <= VARIABLES_MAX, block, window, turns, turn_s)
