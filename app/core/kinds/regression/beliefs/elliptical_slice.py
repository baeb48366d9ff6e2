"""Elliptical slice sampling (Murray, Adams and MacKay 2010), many chains at once.

The target is N(x; centre, sds²)·L(x). A step moves along the ellipse through the state and a fresh draw of the Gaussian, to a
point whose L is above a uniform share of the state's own: no step size, and exact whatever the Gaussian is, since L is what the
target has beside it. The nearer the Gaussian is to the target, the farther a step goes.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.seeded_stream import SeededStream

Array = NDArray[np.float64]
LogFactor = Callable[[Array, NDArray[np.int64]], Array]
"""(states, which chains they are of) → log L, −∞ where the target has no mass."""

SHRINKS_MAX = 60


class SliceChains:
    def __init__(self, centre: Array, sds: Array, start: Array, log_factor: LogFactor, stream: SeededStream) -> None:
        """`start` is (chains, coordinates), each with mass; `centre` and `sds` are of every chain, or one for all."""
        self._log_factor, self._stream = log_factor, stream
        self.states = start.copy()
        self.levels = np.zeros(len(start))
        self.around(centre, sds)

    def around(self, centre: Array, sds: Array) -> None:
        """Another Gaussian from now on, after whatever it and L depend on has changed."""
        self._centre, self._sds = (np.broadcast_to(each, self.states.shape) for each in (centre, sds))
        self.refresh()

    def refresh(self) -> None:
        """After whatever L depends on beside the state has changed."""
        self.levels = self._log_factor(self.states, np.arange(len(self.states)))

    def propose(self, tried: Array, log_volume: Array) -> None:
        """A Metropolis step to points made by a move whose reverse is as likely; `log_volume` is the log of its Jacobian."""
        found = self._log_factor(tried, np.arange(len(tried)))
        gaussian = ((self.states - self._centre) ** 2 - (tried - self._centre) ** 2) / (2 * self._sds**2)
        gain = found - self.levels + gaussian.sum(axis=1) + log_volume
        taken = np.log(self._stream.uniforms(len(tried))) < gain
        self.states[taken], self.levels[taken] = tried[taken], found[taken]

    def step(self) -> None:
        count, stream = len(self.states), self._stream
        centred = self.states - self._centre
        fresh = stream.normals(*centred.shape) * self._sds
        level = self.levels + np.log(stream.uniforms(count))
        angle = 2 * math.pi * stream.uniforms(count)
        low, high = angle - 2 * math.pi, angle.copy()
        waiting = np.arange(count)
        for _ in range(SHRINKS_MAX):
            turn = angle[waiting, None]
            tried = self._centre[waiting] + centred[waiting] * np.cos(turn) + fresh[waiting] * np.sin(turn)
            found = self._log_factor(tried, waiting)
            taken = found > level[waiting]
            self.states[waiting[taken]], self.levels[waiting[taken]] = tried[taken], found[taken]
            waiting = waiting[~taken]
            if not len(waiting):
                return
            before = angle[waiting] < 0
            low[waiting] = np.where(before, angle[waiting], low[waiting])
            high[waiting] = np.where(before, high[waiting], angle[waiting])
            angle[waiting] = low[waiting] + (high[waiting] - low[waiting]) * stream.uniforms(len(waiting))
