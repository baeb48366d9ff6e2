"""The largest argument whose cost fits an (ε, δ), with as few true costs as possible.

A true cost may take a third of a second, its prediction (`predicted_cost.py`) a hundredth. So the boundary is looked for among
predictions; a true cost there says by which factor each order was predicted wrongly, and near by that factor is the same. The
answer is always an argument whose own true cost fits. A prediction decides only where to look: that all fits, or nothing
does, is said after a true cost at that end.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from app.core.privacy import ORDERS, Cost, conversion_offset

Array = NDArray[np.float64]

WIDTH = 1.2e-3
"""An answer is as good as the boundary when that is predicted to be this near, and its ε is this near to the target's,"""
NEAR = 3e-4
"""or when its ε is as near as this: true costs themselves are rounded up by about as much (`kernel.TOLERANCE`)."""
END_NEAR = 5e-3
END_CLOSE = 0.06
"""How much dearer than the target the upper end may be predicted to be and still be tried."""
MARGIN = 4e-4
TURNS_MAX = 24
_PREDICTIONS_MAX = 16
_PREDICTIONS_FAST = 6
_PREDICTION_NEAR = 5e-5
_APART = 0.01
_SLOPES = 1e-3, 50.0


class BoundarySearch:
    """Arguments from `low` to `high` with costs that rise; `start` is between them. Both functions give whole releases."""

    def __init__(
        self,
        cost_at: Callable[[float], Cost],
        predicted_at: Callable[[float], Array],
        target: tuple[float, float],
        ends: tuple[float, float],
        start: float,
    ) -> None:
        self._cost_at, self._predicted_at = cost_at, predicted_at
        self._epsilon, self._delta = target
        self._low, self._high = ends
        self._start = start
        offsets = [conversion_offset(a, self._delta) if self._delta > 0 else math.inf for a in ORDERS]
        self._offsets = np.array([*offsets, 0.0])
        self._predicted: dict[float, Array] = {}
        self._true: dict[float, Array] = {}

    def largest(self) -> float | None:
        """None where not even `low` fits."""
        good: float | None = None
        bad: float | None = None
        margin = MARGIN
        aim = self._snapped(self._boundary(np.full(len(self._offsets), margin)))
        for turn in range(TURNS_MAX):
            cost = self._cost_at(aim)
            self._true[aim] = _logs([*cost.curve, cost.pure])
            epsilon = cost.epsilon(self._delta)
            if epsilon <= self._epsilon:
                good = aim
                if aim == self._high or epsilon >= self._epsilon * (1 - NEAR):
                    return aim
                if epsilon >= self._epsilon * (1 - WIDTH) and self._next(good, bad, 0.0) - aim <= WIDTH:
                    return aim
            elif aim == self._low:
                return None
            else:
                bad, margin = aim, 2 * margin
            if good is not None and bad is not None and bad - good <= WIDTH:
                return good
            aim = self._snapped(self._inside(good, bad, self._next(good, bad, margin), margin, turn % 4 == 3))
        return good if good is not None else self._lowest()

    def _snapped(self, aim: float) -> float:
        """An end where the aim, or the end's predicted cost, is next to it: what is said of an end is said by its true cost."""
        if self._high not in self._true:
            close = self._high in self._predicted and self._excess(self._high, self._error()) <= END_CLOSE
            if close or self._high - aim <= END_NEAR:
                return self._high
        return self._low if aim - self._low <= WIDTH and self._low not in self._true else aim

    def _error(self) -> Array:
        """log of true over predicted, order by order, at the last true cost."""
        if not self._true:
            return np.zeros(len(self._offsets))
        last = next(reversed(self._true))
        return self._true[last] - self._prediction(last)

    def _lowest(self) -> float | None:
        return self._low if self._cost_at(self._low).epsilon(self._delta) <= self._epsilon else None

    def _next(self, good: float | None, bad: float | None, margin: float) -> float:
        """Where the target is met: between two true costs by them alone, else by predictions set right by the one."""
        if good is not None and bad is not None:
            slopes = (self._true[bad] - self._true[good]) / (bad - good)
            return min(bad, good + self._way(self._true[good] + min(margin, MARGIN), slopes))
        predicted = self._boundary(self._error() + margin)
        lower = [x for x in self._true if good is not None and x < good]
        if good is None or not lower:
            return predicted
        # Costs that hardly rise, as pure ones of mixed tables may, are predicted to rise much sooner.
        slopes = (self._true[good] - self._true[max(lower)]) / (good - max(lower))
        return max(predicted, min(self._high, good + self._way(self._true[good] + margin, slopes)))

    def _inside(self, good: float | None, bad: float | None, aim: float, margin: float, halve: bool) -> float:
        """The aim, moved off what is known already."""
        if bad is None:
            return min(self._high, max(aim, (self._low if good is None else good) + WIDTH / 2))
        if good is None:
            return max(self._low, min(aim, bad - margin / 8))
        rim = (bad - good) / 2 if halve else min((bad - good) / 4, WIDTH / 4)
        return min(max(aim, good + rim), bad - rim)

    def _boundary(self, lift: Array) -> float:
        """Where predictions times e^lift meet the target, an end where they do not.

        Each order's cost is nearly a power of what is searched, so two predictions say where the next should be. Where that
        takes long, every other place halves what is left.
        """
        place = min(self._predicted, key=lambda x: abs(self._excess(x, lift)), default=self._start)
        for turn in range(_PREDICTIONS_MAX):
            self._prediction(place)
            if abs(self._excess(place, lift)) <= _PREDICTION_NEAR:
                break
            too_much = {x: self._excess(x, lift) > 0 for x in self._predicted}
            bad = min((x for x, much in too_much.items() if much), default=self._high)
            good = max((x for x, much in too_much.items() if not much and x <= bad), default=self._low)
            if bad - good <= _PREDICTION_NEAR and good in too_much:
                return good
            if too_much.get(self._low) or too_much.get(self._high) is False:
                return self._low if too_much.get(self._low) else self._high
            following = min(max(self._power_boundary(place, lift), good), bad)
            slow = turn >= _PREDICTIONS_FAST and turn % 2 == 0
            place = (good + bad) / 2 if slow or following in self._predicted else following
        return place

    def _power_boundary(self, place: float, lift: Array) -> float:
        """Where the first order meets the target, each a power through the prediction here and one some way off."""
        here = self._prediction(place)
        others = [x for x in self._predicted if abs(x - place) >= _APART]
        slopes = np.ones_like(here)
        if others:
            other = min(others, key=lambda x: abs(x - place))
            slopes = (self._prediction(other) - here) / (other - place)
        return place + self._way(here + lift, slopes)

    def _way(self, logs: Array, slopes: Array) -> float:
        """How far it is to where the first order meets the target."""
        room = np.maximum(self._epsilon - self._offsets, np.finfo(float).tiny)
        return float(((np.log(room) - logs) / slopes.clip(*_SLOPES)).max())

    def _excess(self, x: float, lift: Array) -> float:
        """log of predicted ε over the target's."""
        with np.errstate(over="ignore"):
            epsilon = float((np.exp(self._prediction(x) + lift) + self._offsets).min())
        return math.log(max(epsilon, np.finfo(float).tiny) / self._epsilon)

    def _prediction(self, x: float) -> Array:
        if x not in self._predicted:
            self._predicted[x] = _logs(np.nan_to_num(self._predicted_at(x)))
        return self._predicted[x]


def _logs(costs: Sequence[float] | Array) -> Array:
    logs: Array = np.log(np.maximum(costs, np.finfo(float).tiny))
    return logs
