"""One law of losses on a grid that is no better than any of many pairs, and stays so under composition.

Of a pair (P, Q) let L = ln P/Q under P and Y = e^{−L}. What an outcome can promise is a function of

    H(x) = E(1 − xY)⁺ for all x > 0;          δ(ε) of N independent draws is E(1 − e^ε·Y₁⋯Y_N)⁺.                    (1)

**Lemma.** Say that a law of Y* is *above* one of Y if E(1 − xY)⁺ ≤ E(1 − xY*)⁺ for every x > 0. If each Y*_i is above Y_i, all
independent, so is the product: exchange one factor at a time, the others together being one number x. The Y* need not belong to
a pair, nor its mass be 1. So one law above the draws of every pair of neighbours, both directions, bounds (1) for all of them:
N draws of one release are of one pair, fixed before they are drawn.

**On a grid** of losses, x_j = e^{jh}, a value between two points is shared by them so that the mean of Y stays; (1 − xy)⁺ is
convex in y, so the shared law is above. Larger shares for the point above are above too, and cover rounding. Of a law on the grid
H is linear in x between the x_j, and of many the largest H is convex and under its own chords: the law whose H has these largest
values at the x_j is above all of them; below the first point, where no mass is, all are lines from their mass at x = 0, and this
one's is at least 1. With S_j the mass of losses beyond jh,

    H_j = (1 − e^{−h})·S_j + e^{−h}·H_{j+1},

a sum of positive terms one way, and the other way how S is found from the largest H. It loses what H may be wrong by, over
1 − e^{−h}: that is added, and S made to fall. All this only raises S, and with S every H.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.errors import NumericalFailure

Array = NDArray[np.float64]

_EPS = 2.0**-52
_LOST = 4e-12
"""More than 10⁴ additions and an exponential can lose of a sum of positive terms, relatively."""


@dataclass(frozen=True, slots=True)
class LossGrid:
    """Losses jh for j from `first`; h has few enough bits for every jh to be a double."""

    step: float
    first: int
    count: int

    @classmethod
    def reaching(cls, furthest: float, step: float) -> "LossGrid":
        """As far as `furthest` and a little more, both ways, in steps of at most `step`."""
        rounded = math.ldexp(math.floor(math.ldexp(step, 9 - math.frexp(step)[1])), math.frexp(step)[1] - 9)
        places = math.ceil(furthest / rounded) + 2
        return cls(rounded, -places, 2 * places + 1)

    def beyond(self, losses: Array, mass: Array) -> Array:
        """S of every row: the mass of its losses beyond each point, once they are shared by points."""
        place = np.floor(losses / self.step)
        room = losses - place * self.step
        if not (place.min() >= self.first and place.max() < self.first + self.count - 1):
            raise NumericalFailure("a privacy loss lies beyond the pure cost")
        cell = place.astype(np.int64) - self.first
        above = np.expm1(-room) / math.expm1(-self.step) + _EPS * (16 + self.count)
        rows = len(losses)
        cell += (np.arange(rows) * self.count)[:, None]
        flat = cell.ravel()
        whole = np.bincount(flat, mass.ravel(), rows * self.count).reshape(rows, self.count)
        raised = np.bincount(flat, (mass * np.clip(above, 0, 1)).ravel(), rows * self.count).reshape(rows, self.count)
        raised[:, :-1] += np.cumsum(whole[:, :0:-1], axis=1)[:, ::-1]
        return np.asarray(raised)

    def profile(self, beyond: Array) -> Array:
        """H from S, of every row."""
        fallen = np.exp(-self.step * np.arange(self.count))
        sums = np.cumsum((beyond * fallen)[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(-math.expm1(-self.step) * sums / fallen)

    def above(self, profile: Array) -> Array:
        """S of a law whose H is at least this one."""
        width = -math.expm1(-self.step)
        after = np.append(profile[1:], 0.0)
        beyond = (profile - math.exp(-self.step) * after) / width + _LOST * profile / width
        return np.asarray(np.maximum.accumulate(beyond[::-1])[::-1])
