"""p(θ, tables | R) for noisy tables of a whole network, by turns θ | tables and tables | θ, R: many short chains side by side.

Tables are those of n made-up records (`made_up_tables.py`): they agree about everything tables can agree about, are whole, not
negative and sum to n. A turn has three kinds of moves; each leaves p(θ, tables | R) as it is, whatever structure and noise:

  θ | tables    is Dirichlet, configuration by configuration, whatever R; of a pooled node after its prior has moved.
  redrawing     some records lose the value of a node and all that was drawn after it, and get others from p(x | θ); taken
                with probability min(1, p(R | new counts)/p(R | old counts)): the prior cancels (Ju, Awan, Gong and Rao 2022).
  shifting      a share p of two levels of one configuration becomes p', logit p' normal around logit p, and every record of the
                one level moves to the other with the probability that both shares, cut at the same uniform number, differ
                for it; what was drawn after it is drawn again. Pairs (records, new records) are as likely as the other way
                round, so it is taken with probability min(1, the same ratio · (p'/p)^{α_a}·((1−p')/(1−p))^{α_b}).

The first two alone move θ by √(pq/m) a turn, m the rows of a configuration, though noise of sd σ leaves it open by σ/m: where
σ is large, shifts matter. How many records are redrawn and how far shares are shifted is settled for each node, from all chains
together, before any point is kept. With several rows a person their number is unknown, uniform from one to k a person, and
of rows that meet a private condition from none to all: records drawn from p(x | θ) come, or any of them go, taken likewise.

Where nothing is drawn after a node, its configurations have nothing to tell each other, and all are moved at once, each taken or
not by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.core.kinds.networks.beliefs.count_pace import CountPace, first_heat
from app.core.kinds.networks.beliefs.made_up_tables import TINIEST, Array, Bool, MadeUpTables, Whole
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.pooled_prior import PooledPriors
from app.core.kinds.networks.structure import Network

TAKEN = 0.4
QUICKER, SLOWER = 1.3, 0.75
STEP_LEAST, STEP_MOST = 0.01, 3.0
REACH = 1.5
"""Of the first steps, in sds of the noise."""


@dataclass(slots=True)
class _Redrawing:
    """`part` is the share of all records, (configurations or one, chains); `owner` whose it is in configurations of the scope."""

    owner: Whole
    part: Array


@dataclass(slots=True)
class _Shifting:
    """Of the `configurations` of the node at a place; `step` is (configurations, chains)."""

    place: int
    configurations: slice
    step: Array


class CountChains:
    """`pace.chains` for each release. Several at once are for simulations: they are of one mechanism and as many people."""

    def __init__(
        self, network: Network, releases: Sequence[NoisyTables], pace: CountPace, generator: np.random.Generator
    ) -> None:
        self._network, self._releases, self._pace, self._generator = network, releases, pace, generator
        self._measured = releases[0]
        self._priors = PooledPriors(network, pace.chains * len(releases), generator, len(releases))
        sizes = [np.full(network.configurations(i), len(node.levels)) for i, node in enumerate(network.nodes)]
        self._sizes = np.concatenate(sizes)
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)[:-1]])

    def samples(self, start: Array, kept: int) -> Array:
        """(releases, kept, cells) draws of θ, of each chain evenly from its turns. It settles down from a row of `start`."""
        self._begin(start)
        self._settle(self._pace.settling)
        times = -(-kept // self._pace.chains)
        chosen = np.bincount(np.linspace(0, self._pace.turns, times, endpoint=False).astype(np.int64))
        found = []
        for each in chosen.tolist():
            self._turn()
            found += [self._drawn().T.reshape(len(self._releases), self._pace.chains, -1) for _ in range(each)]
        return np.concatenate(found, axis=1)[:, :kept]

    def _begin(self, start: Array) -> None:
        self._state = MadeUpTables(self._network, self._releases, start, self._generator)
        self._alone = [self._measured.linear is None and len(place.below) == 1 for place in self._state.places]
        places = range(len(self._state.places))
        self._redrawings = [self._redrawing(at) for at in places]
        self._shiftings = [each for at in places for each in self._own_shiftings(at)]
        self._next = 0
        self._come: Array = np.full(len(start), max(1.0, 6 * self._measured.scale**2 / self._measured.moved))

    def _redrawing(self, at: int) -> _Redrawing:
        place = self._state.places[at]
        wished = max(1.0, 3 * self._measured.scale**2 / len(place.below))
        owner = place.given if self._alone[at] else np.zeros_like(place.given)
        return _Redrawing(
            owner, np.full((int(owner.max()) + 1, self._state.chains), min(1.0, wished / self._rows_most))
        )

    def _own_shiftings(self, at: int) -> list[_Shifting]:
        place = self._state.places[at]
        steps = []
        for measured in self._releases:
            seen = np.maximum(measured.near[place.cells], 1.0).reshape(-1, place.levels)
            spread = measured.spread[place.cells].reshape(-1, place.levels)[:, 0]
            steps.append(REACH * spread / (1 / (1 / seen).sum(axis=1) + spread) / len(place.below) ** 0.5)
        step = np.repeat(np.clip(steps, STEP_LEAST, STEP_MOST).T, self._pace.chains, axis=1)
        if self._alone[at]:
            return [_Shifting(at, slice(0, len(step)), step)]
        return [_Shifting(at, slice(j, j + 1), step[j : j + 1]) for j in range(len(step))]

    @property
    def _rows_most(self) -> int:
        return self._measured.rows[1]

    def _settle(self, turns: int) -> None:
        """From noise as wide as counts vary by themselves down to the true one in half of the turns, so that tables made from
        first guesses of θ find what was measured however many records there are; then as it is."""
        heat = first_heat(self._measured.rows, self._measured.scale)
        for turn in range(turns):
            before, self._state.heat = self._state.heat, max(1.0, heat ** (1 - 2 * turn / turns))
            wider = self._state.heat / before
            for each in self._redrawings:
                each.part = np.minimum(1.0, each.part * wider**2)
            self._come *= wider
            self._turn(settling=True)

    def _turn(self, *, settling: bool = False) -> None:
        self._priors.turn(self._state.counts, settling=settling)
        self._state.theta = self._drawn()
        if self._measured.rows[0] < self._rows_most:
            taken = self._come_or_go()
            if settling:
                self._come = np.clip(self._come * self._factor(taken), 1.0, self._rows_most)
        for at, redrawing in enumerate(self._redrawings):
            taken = self._redraw(at)
            if settling:
                redrawing.part = np.clip(redrawing.part * self._factor(taken), 1 / self._rows_most, 1.0)
        for _ in range(self._pace.shifts):
            shifting, self._next = self._shiftings[self._next], (self._next + 1) % len(self._shiftings)
            taken = self._shift(shifting)
            if settling:
                shifting.step = np.clip(shifting.step * self._factor(taken), STEP_LEAST, STEP_MOST)

    def _factor(self, taken: Bool) -> Array:
        """(…, chains) of what was taken: by how much the next move is longer, the same for all chains of a release."""
        shares = taken.reshape(*taken.shape[:-1], len(self._releases), -1).mean(axis=-1)
        return np.repeat(np.where(shares > TAKEN, QUICKER, SLOWER), self._pace.chains, axis=-1)

    def _drawn(self) -> Array:
        """One draw of every table of probabilities given its counts, for each chain."""
        weights = self._generator.standard_gamma(self._priors.concentration + self._state.counts) + TINIEST
        return np.asarray(weights / np.repeat(np.add.reduceat(weights, self._starts, axis=0), self._sizes, axis=0))

    def _redraw(self, at: int) -> Bool:
        state, redrawing = self._state, self._redrawings[at]
        gone = self._generator.binomial(state.tables[at], redrawing.part[redrawing.owner][:, None])
        come = state.levels(at, gone.sum(axis=1))
        return state.take_alone(at, come - gone) if self._alone[at] else state.take(state.carried(at, gone, come))

    def _shift(self, shifting: _Shifting) -> Bool:
        """(configurations, chains) that took it."""
        at, part, state = shifting.place, shifting.configurations, self._state
        place = state.places[at]
        pair = self._generator.choice(place.levels, 2, replace=False).tolist() if place.levels > 2 else [0, 1]
        own = state.theta[place.cells].reshape(-1, place.levels, state.chains)[part]
        prior = self._priors.concentration[place.cells]
        prior = prior.reshape(-1, place.levels, prior.shape[1])[part]
        logit = np.log(own[:, pair[0]]) - np.log(own[:, pair[1]])
        new = logit + shifting.step * self._generator.standard_normal(logit.shape)
        shares, before = _log_shares(new), _log_shares(logit)
        grown = [after - old for after, old in zip(shares, before, strict=True)]
        log_odds = prior[:, pair[0]] * grown[0] + prior[:, pair[1]] * grown[1]
        down = new < logit
        chance = np.clip(-np.expm1(np.where(down, *grown)), 0.0, 1.0)
        inside = np.flatnonzero((part.start <= place.given) & (place.given < part.stop))
        which = place.given[inside] - part.start
        first, second = (state.tables[at][inside, level] for level in pair)
        moved = self._generator.binomial(np.where(down[which], first, second), chance[which])
        gone, come = np.zeros_like(state.tables[at]), np.zeros_like(state.tables[at])
        gone[inside, pair[0]] = come[inside, pair[1]] = np.where(down[which], moved, 0)
        gone[inside, pair[1]] = come[inside, pair[0]] = np.where(down[which], 0, moved)
        if self._alone[at]:
            taken = state.take_alone(at, come - gone, log_odds)
        else:
            taken = state.take(state.carried(at, gone, come), None, log_odds[0])[None]
        both = own[:, pair[0]] + own[:, pair[1]]
        for level, share in zip(pair, shares, strict=True):
            own[:, level] = np.where(taken, np.maximum(both * np.exp(share), TINIEST), own[:, level])
        return taken

    def _come_or_go(self) -> Bool:
        state, (least, most) = self._state, self._measured.rows
        by = self._generator.integers(1, np.rint(self._come).astype(np.int64) + 1)
        come = self._generator.random(state.chains) < 0.5
        after = state.rows + np.where(come, by, -by)
        possible = (least <= after) & (after <= most)
        by = np.where(possible, by, 0)
        changes = state.exchanged(np.where(come, 0, by), np.where(come, by, 0))
        taken = state.take(changes, None, np.where(possible, 0.0, -np.inf))
        state.rows = np.where(taken, after, state.rows)
        return taken


def _log_shares(logit: Array) -> tuple[Array, Array]:
    """log p and log(1 − p)."""
    return -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
