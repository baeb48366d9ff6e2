"""Tables of points chosen by their posterior probability, r_k ∝ e^{g·p_k}, and how much their logarithms L bend along a sum t.

With x = τη_k − m: p′ = p·x, p″ = p·(x² − ψ″), p‴ = p·(x³ − 3xψ″ − ψ‴). From the table at u, for every t within H of it and
ψ″ ≤ S there

    p_k(t) ≤ p̂ = p_k(u)·e^{H|x|},   |x_k(t)| ≤ y = |x| + H·S,   |ψ‴| ≤ Z = Σ p̂·y³,   Q_j = max_k p̂·yʲ

(log p_k is concave with slope x, and x′ = −ψ″). So g·p_k moves by at most gH·p̂y,

    r_k(t) ≤ r̂ = e^{g·p_k(u) + gH·p̂y}/Σ e^{g·p_j(u) − gH·p̂y},

and means under r(t) of what is not negative are at most sums with r̂: V of p′², P of p·x², D of |p′|. With L = g·p − log N,

    L′ = g(p′ − E p′),   L″ = g(p″ − E p″) − g²·Var p′,   L‴ = g(p‴ − E p‴) − 3g²·Cov(p′, p″) − g³·κ₃(p′):
    |L′| ≤ g(Q₁ + D),   −g(Q₀S + P) − g²V ≤ L″ ≤ g(Q₂ + Q₀S),
    |L‴| ≤ 2g(Q₃ + 3Q₁S + Q₀Z) + 3g²·√V·(Q₂ + Q₀S) + 2g³·Q₁V,

and Σ r(t)·L′(s)² ≤ g²(√V + min(√V, D))² for t and s within H, as E p′ is under r(s). Beyond a window of points p_k ≤ o/K
(`windows.py`): to p̂yʲ adds o·Rʲ, R the width of τη, o at most that of both ends together times e^{H²S/2} in between, and all
those points have the same r up to g·o/K.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import PublicGrid
from app.core.privacy.curvature import Ceiling
from app.core.privacy.sums.tails import Tails
from app.core.privacy.windows import beyond_edges, points_per_sd

Array = NDArray[np.float64]
Index = NDArray[np.int64]

_WINDOW_SDS = 21.0
_CHUNK_ELEMENTS = 60_000
_EDGES = [0, 1, -2, -1]


@dataclass(frozen=True, slots=True)
class Bends:
    """−low ≤ L″ ≤ high, |L‴| ≤ third, |L′| ≤ slope, Σ r(t)·L′(s)² ≤ square."""

    low: Array
    high: Array
    third: Array
    slope: Array
    square: Array

    def finite(self) -> "Bends":
        """With large numbers in place of what is not bounded."""
        return Bends(*(np.minimum(getattr(self, field), 1e100) for field in self.__slots__))

    def take(self, chosen: NDArray[np.bool_] | Index) -> "Bends":
        return Bends(*(getattr(self, field)[chosen] for field in self.__slots__))


class ScoreTables:
    """`error`: how far a log-weight beyond a window may be off, wherever a table was looked at.

    `log_many`: logarithms of how many points each column stands for.
    """

    def __init__(self, grid: PublicGrid, people: int, steps: float, gain: float, ceiling: Ceiling) -> None:
        self._grid, self._people, self._gain = grid, people, gain
        self.tails = Tails(ceiling, grid.size)
        spread = max(points_per_sd(grid, float(people)), 1.0)
        moved = 2 * steps * np.sqrt(self.tails.highest)
        self.width = min(grid.size, int((_WINDOW_SDS + moved) * spread) + 2)
        self.error = 0.0
        self.log_many = np.append(np.zeros(self.width), np.log(max(grid.size - self.width, 1e-300)))

    def columns(self, t: Array) -> Index:
        """A window to each sum."""
        grid = self._grid
        mean = (grid.temperature * t + grid.prior_sum) / (grid.temperature * self._people + grid.prior_rows)
        first = np.clip(np.searchsorted(grid.mean, mean) - self.width // 2, 0, grid.size - self.width)
        return np.asarray(first[:, None] + np.arange(self.width))

    def _posterior(self, t: Array, columns: Index) -> tuple[Array, Array, Array]:
        """(p, log-weights at the edges, log of their sum)."""
        grid = self._grid
        log_w = grid.log_prior[columns] + grid.temperature * (
            t[:, None] * grid.eta[columns] - self._people * grid.partition[columns]
        )
        log_w -= log_w.max(axis=1, keepdims=True)
        edges = log_w[:, _EDGES]
        p = np.exp(log_w, out=log_w)
        total = p.sum(axis=1, keepdims=True)
        p /= total
        return p, edges, np.log(total)

    def _beyond(self, columns: Index, edges: Array, log_z: Array) -> Array:
        if self.width == self._grid.size:
            return np.zeros(len(columns))
        return beyond_edges(self._grid, columns[:, _EDGES], edges[:, None, :], log_z)[:, 0]

    def log_scored(self, t: Array, columns: Index) -> Array:
        """log r on windows, the last column for each of the other points."""
        p, edges, log_z = self._posterior(t, columns)
        self.error = max(self.error, self._gain * float(self._beyond(columns, edges, log_z).max()))
        scores = np.concatenate([self._gain * p, np.zeros((len(t), 1))], axis=1)
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores + self.log_many).sum(axis=1, keepdims=True))
        return scores

    def bends(self, t: Array, reach: Array) -> Bends:
        """Within `reach` of sums `t`."""
        size = max(1, _CHUNK_ELEMENTS // self.width)
        parts = [self._bends(t[i : i + size], reach[i : i + size]) for i in range(0, len(t), size)]
        return Bends(*(np.concatenate([getattr(part, field) for part in parts]) for field in Bends.__slots__))

    def _bends(self, t: Array, reach: Array) -> Bends:
        grid, gain, columns = self._grid, self._gain, self.columns(t)
        p, edges, log_z = self._posterior(t, columns)
        x = grid.temperature * grid.eta[columns]
        x -= (p * x).sum(axis=1, keepdims=True)
        top = self.tails.top(t - reach, t + reach)
        far = reach[:, None] * x[:, _EDGES]
        outside = self._beyond(columns, edges + far, log_z) + self._beyond(columns, edges - far, log_z)
        with np.errstate(over="ignore", invalid="ignore"):
            outside = np.where(outside > 0, outside * np.exp(reach**2 * top / 2), 0.0)
            y = np.abs(x) + (reach * top)[:, None]
            moments = [p * np.exp(reach[:, None] * np.abs(x))]
            for _ in range(3):
                moments.append(moments[-1] * y)
            extent = grid.temperature * float(grid.eta[-1] - grid.eta[0])
            away = outside[:, None] * extent ** np.arange(4)
            q0, q1, q2, q3 = (np.stack([each.max(axis=1) for each in moments], axis=1) + away).T
            cubes = moments[3].sum(axis=1) + grid.size * away[:, 3]
            moved, others = gain * reach[:, None] * moments[1], grid.size - self.width
            least = np.exp(gain * p - moved).sum(axis=1) + others * np.exp(-gain * reach * away[:, 1])
            r = np.exp(gain * p + moved - np.log(least)[:, None])
            square = np.minimum(q1**2, (r * moments[1] ** 2).sum(axis=1) + away[:, 1] ** 2)
            inside = np.minimum(q2, (r * moments[2]).sum(axis=1) + away[:, 2])
            mean = (r * moments[1]).sum(axis=1) + away[:, 1]
            slope = gain * (q1 + np.minimum(q1, mean))
            bent = gain * (q2 + q0 * top)
            low = gain * (q0 * top + inside) + gain**2 * square
            third = 2 * gain * (q3 + 3 * q1 * top + q0 * cubes)
            third += 3 * gain**2 * np.sqrt(square) * (q2 + q0 * top) + 2 * gain**3 * q1 * square
            spread = gain**2 * (np.sqrt(square) + np.minimum(np.sqrt(square), mean)) ** 2
        undefined = ~np.isfinite(low + bent + third + slope + spread)
        return Bends(*(np.where(undefined, np.inf, each) for each in (low, bent, third, slope, spread)))
