"""δ of N draws of one law of losses, never too small: a tilted convolution by Fourier transforms, its errors added.

With S the sum of N losses, M(λ) = E e^{λL} and the law tilted by λ > 0, dP_λ = e^{λS}/M(λ)^N dP,

    δ(ε) = E(1 − e^{ε−S})⁺ = M(λ)^N·e^{−λε}·E_λ[g(S)],      g(s) = (e^{−λ(s−ε)} − e^{−(λ+1)(s−ε)})⁺ ≤ 1.

Any λ is right; near the best order less one, sums near ε are common under P_λ, so E_λ g is no small number and what transforms
lose is small beside it. A cyclic convolution of M points is the law of S folded into a window. What was below the window comes
back inside it, where g ≥ 0: that is only too much. What was above adds at most its probability, e^{−34} by Chernoff's bound.

*Rounding.* A transform of 2^t points loses at most 16·2⁻⁵³·t of its length (Higham 2002, Theorem 24.2, has less than half of
that for each of t stages, and radix 4 loses no more). All transforms are at most 1 in modulus, so after N-th powers, by
squaring, N(16t + 4) of those units are lost in length, N small beside 10¹⁴/t; the way back adds 16t; and a sum of g times a
vector that is wrong by a length v is wrong by at most √M·v. The rest is relative: of masses, of exponentials and of N additions.
"""

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.losses.grid_laws import LossGrid

Array = NDArray[np.float64]

POINTS_MAX = 2**17
_TILTS = np.exp(np.linspace(math.log(0.02), math.log(5e4), 72))
_OUTSIDE = 34.0
_UNIT = 2.0**-53
_REACHES = np.exp(np.linspace(math.log(0.05), math.log(50), 24))
_HALVINGS = 34


class ComposedLaw:
    """`beyond`: the mass of losses beyond each point of the grid."""

    def __init__(self, grid: LossGrid, beyond: Array) -> None:
        mass = np.append(max(1.0, float(beyond[0])), beyond[:-1]) - beyond
        kept = np.flatnonzero(mass > 0)
        first, last = int(kept[0]), int(kept[-1]) + 1
        self._step, self._first = grid.step, grid.first + first
        self._mass: Array = mass[first:last]
        self._losses = np.asarray((self._first + np.arange(last - first)) * grid.step, dtype=np.float64)
        self._furthest = float(np.abs(self._losses).max())

    @cached_property
    def _log_moments(self) -> Array:
        """ln M at every tilt."""
        exponent = _TILTS[:, None] * self._losses
        top = exponent.max(axis=1)
        with np.errstate(under="ignore"):
            return np.asarray(top + np.log(np.exp(exponent - top[:, None]) @ self._mass))

    def by_moments(self, draws: int, delta: float) -> tuple[float, int]:
        """(ε of the law's own Rényi curve, the tilt it comes from): a bound of what `epsilon` finds, and where it starts."""
        order = _TILTS + 1
        offset = _TILTS * np.log(_TILTS) - order * np.log(order) - math.log(delta)
        found = (draws * self._log_moments + offset) / _TILTS
        place = int(found.argmin())
        return max(0.0, float(found[place])) * (1 + 1e-8) + 1e-12, place

    def epsilon(self, draws: int, delta: float) -> float:
        """The smallest ε known to hold for `draws` of them at `delta`, to a part in 10⁹."""
        bound, place = self.by_moments(draws, delta)
        composed = _Tilted(self, draws, float(_TILTS[place]), float(self._log_moments[place]))
        goal = math.log(delta)
        if not composed.log_delta(bound) <= goal:
            return bound
        if composed.log_delta(0.0) <= goal:
            return 0.0
        low, high = 0.0, bound
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if composed.log_delta(middle) <= goal else (middle, high)
        return high

    def tilted(self, tilt: float, log_moment: float) -> tuple[Array, Array, int]:
        """(losses, their masses under the tilt, the place of the first)."""
        with np.errstate(under="ignore"):
            return self._losses, np.exp(tilt * self._losses - log_moment) * self._mass, self._first

    @property
    def step(self) -> float:
        return self._step

    def lost(self, tilt: float, log_moment: float) -> float:
        """Of one factor's logarithm."""
        return 8 * _UNIT * (tilt * self._furthest + abs(log_moment) + 1_000)


class _Tilted:
    """The law of the sum of so many, tilted. `sums`: (its values, their masses), none where it would take too many points."""

    def __init__(self, law: ComposedLaw, draws: int, tilt: float, log_moment: float) -> None:
        losses, mass, first = law.tilted(tilt, log_moment)
        self._tilt, self._log_moment = tilt, draws * log_moment
        self.sums: tuple[Array, Array] | None = None
        mean = float(mass @ losses)
        sd = math.sqrt(float(mass @ (losses - mean) ** 2))
        up, down = (_reach(losses - mean, mass, draws, sd, sign) for sign in (1, -1))
        points = (up + down) / law.step + 16
        if not points <= POINTS_MAX:
            return
        size = 2 ** math.ceil(math.log2(points))
        start = math.floor((draws * mean - down) / law.step) - 2
        folded = np.bincount(np.arange(len(mass)) % size, mass, size)
        powered = np.fft.irfft(_power(np.fft.rfft(folded), draws), size)
        turned = np.roll(powered, -((start - draws * first) % size))
        self.sums = (start + np.arange(size)) * law.step, np.maximum(turned, 0)
        stages, length = math.log2(size), float(np.sqrt(folded @ folded))
        wrong = 1.2 * math.sqrt(size) * _UNIT * length * (draws * (16 * stages + 4) + 16 * stages)
        self._added = wrong + 1.01 * math.exp(-_OUTSIDE)
        furthest = float(np.abs(self.sums[0]).max())
        self._margin = draws * law.lost(tilt, log_moment) + 16 * _UNIT * (
            tilt * furthest + abs(self._log_moment) + size
        )

    def log_delta(self, epsilon: float) -> float:
        """A bound of ln δ(ε)."""
        if self.sums is None:
            return math.inf
        values, masses = self.sums
        first = int(np.searchsorted(values, epsilon, side="right"))
        over = values[first:] - epsilon
        with np.errstate(under="ignore"):
            inside = float((np.exp(-self._tilt * over) * -np.expm1(-over)) @ masses[first:])
        return float(self._log_moment - self._tilt * epsilon + math.log(inside + self._added) + self._margin)


def _reach(centred: Array, mass: Array, draws: int, sd: float, sign: int) -> float:
    """How far from its mean the sum goes on one side, but for a chance of e^{−34}: Chernoff's bound."""
    powers = sign * _REACHES / (sd * math.sqrt(draws) + 1e-300)
    exponent = powers[:, None] * centred
    top = exponent.max(axis=1)
    with np.errstate(under="ignore"):
        grown = top + np.log(np.exp(exponent - top[:, None]) @ mass + 1e-300)
    return float(((draws * grown + _OUTSIDE) / np.abs(powers)).min())


def _power(values: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    """By squaring."""
    found = np.ones_like(values)
    while count:
        if count & 1:
            found = found * values
        count >>= 1
        if count:
            values = values * values
    return found
