"""How many chains over tables of counts there are and how long they run, from public numbers only: equal on every worker.

A turn redraws every node once and shifts configurations, all of them where that takes no longer than `TURN_S` and otherwise some,
the next turn others. Where noise is so large that it outweighs what counts vary by themselves a chain forgets in five to twelve
turns, else in one to three: `SETTLING` and `TURNS_EACH` were chosen by that. Networks so wide that this would take longer than
`CHAIN_S` have chains of records instead (`pace.py`).

Where little noise lies on characters of many rows chains find what was measured more slowly, as all configurations of a node are
taken together or not at all: after 50 turns intervals were too wide, and held .917/.523 at n = 200,000 and ε = 5, after 200
.903/.504.
"""

import math
from dataclasses import dataclass

from app.core.kinds.networks.beliefs.chordal import Place, chordal
from app.core.kinds.networks.beliefs.made_up_tables import ROWS_MAX
from app.core.kinds.networks.beliefs.pace import BLOCK_LEAST, GAMMA_S
from app.core.kinds.networks.beliefs.pooled_prior import pooled_work
from app.core.kinds.networks.structure import Network

CHAINS = 64
SETTLING, SETTLING_SLOWLY = 50, 200
TURNS_EACH = 2
TURNS_LEAST = 32
"""Unless fewer are wanted: networks that cannot afford them have no such chains."""
CHAIN_S, TURN_S = 8.0, 0.07
SHIFTS_LEAST = 8
HEATED = 4.0

_TABLE_S, _ENTRY_S = 110e-6, 70e-9
"""On the machine of reference: a table that a move changes, and each of its entries in each chain."""


@dataclass(frozen=True, slots=True)
class CountPace:
    chains: int
    settling: int
    turns: int
    shifts: int
    turn_s: float

    @property
    def seconds(self) -> float:
        return (self.settling + self.turns) * self.turn_s


def count_pace(network: Network, rows: tuple[int, int], scale: float, moved: float, samples: int) -> CountPace | None:
    """None: not affordable, or noise so small that even one record is seldom redrawn (`pace.py`)."""
    places = chordal(network)
    if not places or rows[1] > ROWS_MAX or 6 * scale**2 / moved < BLOCK_LEAST:
        return None
    chains = min(CHAINS, max(samples, 8))
    redrawn = sum(_move_s(places, place, chains) for place in places)
    redrawn *= 1 + 2 * (rows[0] < rows[1]) / len(places)
    redrawn += pooled_work(network) * chains * GAMMA_S
    shifts = [
        place for place in places for _ in range(1 if len(place.below) == 1 else network.configurations(place.node))
    ]
    shifting = sum(_move_s(places, place, chains) for place in shifts)
    fitting = math.floor(len(shifts) * (TURN_S - redrawn) / shifting)
    count = min(len(shifts), max(fitting, SHIFTS_LEAST))
    turn_s = redrawn + shifting * count / len(shifts)
    characters = moved > 2 * len(network.nodes)  # of counts a record moves two a node
    slowly = characters and first_heat(rows, scale) > HEATED
    settling = SETTLING_SLOWLY if slowly else SETTLING
    wanted, affordable = TURNS_EACH * -(-samples // chains), math.floor(CHAIN_S / turn_s) - settling
    if affordable < min(wanted, TURNS_LEAST):
        return None
    return CountPace(chains, settling, min(wanted, affordable), count, turn_s)


def first_heat(rows: tuple[int, int], scale: float) -> float:
    """How much wider than it is noise is taken to be at first: as wide as counts vary by themselves."""
    return max(1.0, 0.5 * math.sqrt(rows[1]) / scale)


def _move_s(places: tuple[Place, ...], place: Place, chains: int) -> float:
    changed = [places[j] for j in place.below]
    return sum(_TABLE_S + _ENTRY_S * each.size * each.levels * chains for each in changed)
