"""People, or moments, in a row: a stationary Markov chain with any number of values.

Two values have the couplings and fields of a path (`trees.py`), and are exact. More are bounded by **E** with
c = max ln P_ac·P_bd/(P_ad·P_bc), and by a quilt:

**F** (Song, Wang and Chaudhuri 2017): if the people at distance a to the left and b to the right separate those between from the
rest, ν ≤ |between|·ε + max ln P(x_Q|z)/P(x_Q|z'). **K** is the same with Rényi divergences: R(α) is at most D_α of what the quilt
tells plus D_α of a change of everybody between.

**Coupling.** To the right two chains that differ go on differing with probability at most η, the largest distance of two rows of
P; to the left the same with the reversed chain. The number of others who differ is two runs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.dependence.bound import rounded_up
from app.core.privacy.cost import ORDERS

Array = NDArray[np.float64]

_QUILT_REACH = 40
"""How far from the secret a quilt is tried on either side."""


@dataclass(frozen=True, slots=True)
class Chain:
    """`transition[a, b]` from a to b, every state reached from every other; `steps` places, the secret at `position`."""

    transition: Array
    stationary: Array
    steps: int
    position: int

    @property
    def backward(self) -> Array:
        reversed_ = self.transition.T * self.stationary[None, :] / self.stationary[:, None]
        return np.asarray(reversed_ / reversed_.sum(axis=1, keepdims=True))

    @property
    def sides(self) -> tuple[int, int]:
        """Places to the left, to the right."""
        return self.position, self.steps - 1 - self.position

    @property
    def full(self) -> bool:
        return bool((self.transition > 0).all())

    @property
    def cross_ratio(self) -> float:
        """Infinite with zeros."""
        if not self.full:
            return math.inf
        logs = np.log(self.transition)
        rows = logs[:, None, :] - logs[None, :, :]
        return float((rows.max(axis=2) - rows.min(axis=2)).max()) * (1 + 1e-12) + 1e-12


def stationary_law(transition: Array) -> Array | None:
    """None unless it is the only one and gives every state some mass."""
    states = len(transition)
    system = np.vstack([transition.T - np.eye(states), np.ones(states)])
    found, _, rank, _ = np.linalg.lstsq(system, np.append(np.zeros(states), 1.0), rcond=None)
    if rank < states or not np.isfinite(found).all() or not (found > 1e-300).all():
        return None
    if float(np.abs(found @ transition - found).max()) > 1e-9:
        return None
    return np.asarray(found / found.sum())


def binary_path(chain: Chain) -> tuple[list[tuple[int, int, float]], list[float]]:
    """(edges with couplings, fields) of the same law, for two values and no zeros."""
    (p00, p01), (p10, p11) = np.log(chain.transition)
    coupling = float(p00 + p11 - p01 - p10) / 4
    before, after = float(p00 + p01 - p10 - p11) / 4, float(p00 + p10 - p01 - p11) / 4
    fields = [0.0] * chain.steps
    fields[0] += float(np.log(chain.stationary[0]) - np.log(chain.stationary[1])) / 2
    for i in range(chain.steps - 1):
        fields[i] += before
        fields[i + 1] += after
    return [(i, i + 1, coupling) for i in range(chain.steps - 1)], fields


def runs_differing(chain: Chain) -> Array:
    """The law of how many others differ, with places in a row."""
    left, right = chain.sides
    return np.convolve(_run(largest_distance(chain.backward), left), _run(largest_distance(chain.transition), right))


def largest_distance(transition: Array) -> float:
    """η: total variation between two rows."""
    apart = np.abs(transition[:, None, :] - transition[None, :, :]).sum(axis=2).max() / 2
    return min(1.0, float(apart) * (1 + 1e-12) + 1e-15)


def _run(survives: float, room: int) -> Array:
    law = survives ** np.arange(room + 1)
    law[:-1] *= 1 - survives
    return np.asarray(law)


def quilt_bound(epsilon: float, chain: Chain) -> float:
    """F, the best of many quilts and of none."""
    best = epsilon * chain.steps
    for near, sides in _quilts(chain):
        best = min(best, near * epsilon + sum(map(_spread, sides)))
    return rounded_up(best, 1e-12)


def _spread(logs: Array) -> float:
    """max ln P(x_Q|z)/P(x_Q|z')."""
    return float((logs.max(axis=0) - logs.min(axis=0)).max()) if np.isfinite(logs).all() else math.inf


def quilt_curves(chain: Chain, widest: int) -> Iterator[tuple[int, Array]]:
    """K: (how many people are between, D_α of what the quilt tells), for quilts of at most `widest` people between."""
    for near, sides in _quilts(chain):
        if near <= widest:
            yield near, sum((_row_divergences(side) for side in sides), np.zeros(len(ORDERS)))


def _quilts(chain: Chain) -> Iterator[tuple[int, list[Array]]]:
    """(people between, ln of the transition to each end), by equal and one-sided distances; an end may be missing."""
    left, right = chain.sides
    ahead, behind = (
        _powers(chain.transition, min(right, _QUILT_REACH)),
        _powers(chain.backward, min(left, _QUILT_REACH)),
    )
    for a in (*range(1, len(behind) + 1), 0):
        for b in sorted({a, a - 1, a + 1, 0, 1} & {0, *range(1, len(ahead) + 1)}):
            near = 1 + (a - 1 if a else left) + (b - 1 if b else right)
            yield near, ([behind[a - 1]] if a else []) + ([ahead[b - 1]] if b else [])


def _powers(transition: Array, count: int) -> list[Array]:
    found, power = [], np.eye(len(transition))
    for _ in range(count):
        power = power @ transition
        with np.errstate(divide="ignore"):
            found.append(np.log(power))
    return found


def _row_divergences(logs: Array) -> Array:
    """The largest D_α between two rows, at every order."""
    orders, found = np.array(ORDERS), np.zeros(len(ORDERS))
    if not np.isfinite(logs).all():
        return np.full(len(ORDERS), np.inf)
    for first in logs:
        for second in logs:
            whole = orders[:, None] * first[None, :] + (1 - orders[:, None]) * second[None, :]
            found = np.maximum(found, np.logaddexp.reduce(whole, axis=1) / (orders - 1))
    return np.asarray(np.maximum(found, 0.0) * (1 + 1e-9) + 1e-12)
