"""One test for every claim: a gambler who bets on its being false, at odds it calls fair or worse.

W_t = Π (1 + λ·Y_i), 0 ≤ λ < 1/max(−Y), λ fixed before the draws: if the claim is true W is a supermartingale that starts at 1,
and P(sup_t W_t ≥ 1/b) ≤ b (Ville). So one may look after every draw and stop at any time. An average of such W is one again,
over functions, directions, orders and pairs; x_i and y_i may depend on each other. Never start again: multiply on.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.audits.claims import Claim, Score, loss_max, payoffs

Array = NDArray[np.float64]

STAKE_MAX = 0.95
"""Of what would risk everything."""
STAKE_MIN = 0.002
"""Of it, where draws seen before give no reason to bet: wealth hardly moves then, and is still there to be averaged."""
_HALVINGS = 60
_BOUND_STEPS = 400
POWER = 0.99


@dataclass(frozen=True, slots=True)
class Bet:
    """A claim, a function and how much of what may be staked is: all of it fixed before the draws that decide."""

    claim: Claim
    score: Score
    part: float
    swapped: bool = False
    """Whether it bets on the direction from y to x."""

    @property
    def stake(self) -> float:
        return self.part / loss_max(self.claim, self.score)

    def log_wealth(self, x: Array, y: Array) -> Array:
        """log W_t after each pair of scores."""
        return np.cumsum(np.log1p(self.stake * payoffs(self.claim, x, y, self.score)))


@dataclass(frozen=True, slots=True)
class Wealth:
    """`log_e`: the largest log W; `stopped`: the first pair after which it was refuted, 0 if it never was."""

    log_e: float
    draws: int
    stopped: int

    @property
    def p_value(self) -> float:
        return min(1.0, math.exp(-self.log_e))


def play(paths: Sequence[Array], level: float) -> Wealth:
    """The average of wealths that were staked side by side."""
    together = np.logaddexp.reduce(np.stack(paths), axis=0) - math.log(len(paths))
    if not np.isfinite(together).all():
        raise ValueError("wealth is a number: draws that are none have to be refused before")
    crossed = np.flatnonzero(together >= -math.log(level))
    top = max(0.0, float(together.max(initial=0.0)))
    return Wealth(top, together.size, int(crossed[0]) + 1 if crossed.size else 0)


def best_part(claim: Claim, x: Array, y: Array, score: Score, weights: tuple[Array, Array] | None = None) -> float:
    """The part of the largest stake at which wealth grows fastest on draws seen before, or under laws known to all: the root of
    E[Y/(1+λY)], which falls. `weights` are probabilities of all outcomes, x and y of product laws then."""
    if weights is None:
        gain, chance = payoffs(claim, x, y, score), np.full(x.size, 1.0 / max(x.size, 1))
    else:
        gain = payoffs(claim, *_every_pair(x, y), score)
        chance = np.outer(*weights).ravel()
    scaled = gain / loss_max(claim, score)
    if not float(chance @ scaled) > 0:
        return 0.0
    low, high = 0.0, STAKE_MAX
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(chance @ (scaled / (1 + middle * scaled))) > 0 else (low, middle)
    return low


def lower_bound(refutes: Callable[[float], bool], start: float) -> float:
    """The largest cost up to which every claim on a fixed list, from `start` by two per cent up, is refuted; 0 if not even that.

    With all smaller ones refuted, the smallest that is true would have to be among them, which has probability at most b.
    """
    found, step = 0.0, max(start, 1e-3)
    for _ in range(_BOUND_STEPS):
        if not refutes(step):
            break
        found, step = step, step * 1.02
    return found


def wealth_cap(mean: float, variance: float, level: float, power: float = POWER) -> float:
    """Pairs after which wealth has passed 1/level with that probability; log W grows by `mean` a pair, ± its sd.

    N·m − z·√(N·v) ≥ ln(1/b), solved for √N.
    """
    if not mean > 0:
        return math.inf
    from scipy.special import ndtri  # not at start

    z, goal = float(ndtri(power)), -math.log(level)
    root = (z * math.sqrt(variance) + math.sqrt(z * z * variance + 4 * mean * goal)) / (2 * mean)
    return root * root


def growth(claim: Claim, laws: tuple[Array, Array], scores: tuple[Array, Array], score: Score) -> tuple[float, float]:
    """(mean, variance) of log(1 + λY) at the best stake, for known laws of independent x and y."""
    part = best_part(claim, *scores, score, laws)
    gain = payoffs(claim, *_every_pair(*scores), score)
    grown, chance = np.log1p(part / loss_max(claim, score) * gain), np.outer(*laws).ravel()
    mean = float(chance @ grown)
    return mean, float(chance @ (grown - mean) ** 2)


def _every_pair(x: Array, y: Array) -> tuple[Array, Array]:
    return np.repeat(x, y.size), np.tile(y, x.size)


def normal_limit(mean: float, variance: float, level: float, power: float = POWER) -> float:
    """Pairs that the best test with a number of draws fixed in advance takes, of a payoff with that mean and variance."""
    if not mean > 0:
        return math.inf
    from scipy.special import ndtri

    z = float(ndtri(1 - level) + ndtri(power))
    return z * z * variance / mean**2
