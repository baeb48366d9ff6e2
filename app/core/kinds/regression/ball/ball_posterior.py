"""Exact draws from a Gaussian restricted to a ball, by proposals from a tilted Gaussian.

The target ∝ exp(−½wᵀΛw + bᵀw) on ‖w‖ ≤ R. Propose from precision Λ + 2κI with the same linear term, accept inside the ball with
probability exp(κ(‖w‖² − R²)): exact for every κ ≥ 0. κ is the root of ‖m(κ)‖² + tr(Λ+2κI)⁻¹ = R², 0 if that is no more
than R² without a tilt. Everything is done in units of R.

**What doubles change.** Λ and b come from whole numbers; the factor of Λ + 2κI and the mean are found with 160 bits and rounded
once. u·2²⁶ is split into a whole and a rest, so 1 − ‖u‖² is right to 2⁻⁷⁰ however large κ is. An accepted u becomes the point
k·h of the public lattice h = 2^{−bits}, k = round(u/h + ℓ) with ℓ Laplace noise of scale 1; P(k|u) changes by at most
e^{±|Δu|₁/h}. A step is at most 1/64 of the narrowest sd the data can make, and 1/32 of 1/`outward`, the depth to which the
steepest posterior piles up on the sphere (but not below 2^{−OUTWARD_BITS}), so variances grow by less than a hundredth.
Points beyond the sphere are mirrored at it, a function of k alone: brought onto it, as by law 1, they would be an atom there.
Cutting u to cells would not do: those that the sphere cuts to slivers keep no digits. `log_ratio` is the declared
allowance: every lattice point's probability is within e^{±s} of the ideal one, but for tails of probability 2⁻¹⁰⁰.
  * rounding moves a coordinate of u by less than (d+4)·2⁻⁵²: d(d+4)·2^{bits−51} through the noise, and as much again for the
    grain of the normals, coarser by 1/√Λ_min where the posterior is wider than the ball;
  * a ball larger or smaller by as little is the same ball dilated: d(d+4)·2⁻⁵⁰ times the steepest log-density;
  * rounding the factor changes log-densities by at most r²·d·2⁻⁵³·√(Λ_max/Λ_min), with r² ≤ 2⁹ outside the tails.
Proposals run out with probability at most 2⁻⁴⁰ (`acceptance.py`); then a draw from the prior is given.
"""

import math
from dataclasses import dataclass

import mpmath
import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.ball.acceptance import FAILURE, proposals_cap, tilt_bound
from app.core.kinds.regression.perturbed.noisy_posterior import in_ball
from app.core.numerics.normals import RandomBytes, exponentials, standard_normals
from app.errors import InvalidModel, NumericalFailure

Array = NDArray[np.float64]

PRECISE = mpmath.MPContext()
PRECISE.prec = 160
"""Its own context: mpmath's shared one has the precision whoever set it last wanted."""

SPLIT = 2.0**26
BITS_MAX = 26
OUTWARD_BITS = 30
STEPS_PER_SD, STEPS_PER_DEPTH = 64, 32
SAMPLER_LAW = 2
"""1 had no finer lattice where posteriors pile up, and brought points beyond the sphere onto it."""
BATCH = 2**18
TAILS = 2.0**-100
ROOT_WIDTH = 1e-9
BUDGET_EPSILON_MAX = 40.0
"""Slack is charged for budgets up to this ε, far above any that means something; above it a release is refused."""


@dataclass(frozen=True, slots=True)
class PublicBounds:
    """Over all data, in units of the radius: Λ between `lowest`·I and `highest`·I, ‖b‖ ≤ `linear_norm`.

    `outward` bounds uᵀ(b − Λu) on the sphere, how steeply the log-density may rise towards it.
    """

    dimension: int
    lowest: float
    highest: float
    linear_norm: float
    outward: float = 0.0

    def __post_init__(self) -> None:
        if not self._bits_across <= BITS_MAX:
            raise InvalidModel(
                "model.radius", "less, or a larger noise_sd: draws would need more digits than doubles have"
            )

    @property
    def _bits_across(self) -> int:
        return max(10, math.ceil(math.log2(STEPS_PER_SD * math.sqrt(self.highest))))

    @property
    def bits(self) -> int:
        deep = math.ceil(math.log2(STEPS_PER_DEPTH * max(self.outward, 1.0)))
        return max(self._bits_across, min(deep, OUTWARD_BITS))

    @property
    def cap(self) -> int:
        return proposals_cap(self.dimension, self.linear_norm)

    @property
    def log_ratio(self) -> float:
        d, narrow = self.dimension, math.sqrt(min(1.0, self.lowest))
        rounding = d * (d + 4) * 2.0 ** (self.bits - 48) / narrow
        steepest = self.linear_norm + self.highest
        heaped = d * (d + 4) * 2.0**-50 * steepest
        return rounding + heaped + d * 2.0**-44 * math.sqrt(self.highest / self.lowest) + 2 * FAILURE

    @property
    def slack_delta(self) -> float:
        """Added to δ by one draw.

        Running out mixes the ideal law with at most 2⁻⁴⁰ of another. On the side that must not be too likely that adds
        2⁻⁴⁰; on the other it only takes a factor 1 − 2⁻⁴⁰, counted in `log_ratio`, so no e^ε. Tails count both ways.
        """
        return FAILURE + (1 + math.exp(BUDGET_EPSILON_MAX)) * TAILS


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BallPosterior:
    """Private: Λ and b with 160 bits, in units of the radius."""

    precision: list[list[mpmath.mpf]]
    linear: list[mpmath.mpf]
    bounds: PublicBounds

    def __repr__(self) -> str:
        return "BallPosterior(private)"

    def draw(self, samples: int, random_bytes: RandomBytes) -> Array:
        """(samples, d) points of the public lattice, mirrored into the unit ball."""
        found, missing = _accepted(_proposal(self), samples, self.bounds.cap, random_bytes)
        if missing.any():
            again = _proposal(_prior(self.bounds))
            found[missing] = _accepted(again, int(missing.sum()), self.bounds.cap, random_bytes)[0]  # else stays 0
        return on_lattice(found, self.bounds.bits, random_bytes)


def on_lattice(u: Array, bits: int, random_bytes: RandomBytes) -> Array:
    """A difference of two exponentials is Laplace."""
    first, second = (exponentials(u.size, random_bytes).reshape(u.shape) for _ in range(2))
    return mirrored(np.rint(u * 2.0**bits + (first - second)) / 2.0**bits)


def mirrored(u: Array) -> Array:
    """Points beyond the unit sphere at 2 − ‖u‖ in their direction, never beyond the centre."""
    norms = np.sqrt((u**2).sum(axis=1, keepdims=True))
    inside = np.where(norms > 1, np.maximum(2 - norms, 0.0) / np.maximum(norms, 1.0), 1.0)
    return in_ball(u * inside, 1.0)


def _prior(bounds: PublicBounds) -> BallPosterior:
    d, zero = bounds.dimension, PRECISE.mpf(0)
    rows = [[PRECISE.mpf(bounds.lowest) if i == j else zero for j in range(d)] for i in range(d)]
    return BallPosterior(rows, [zero] * d, bounds)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Proposal:
    """u = mean + factor·g, accepted with probability exp(κ(‖u‖² − 1)) inside the ball."""

    mean: Array
    factor: Array
    tilt: float

    def __call__(self, count: int, random_bytes: RandomBytes) -> tuple[Array, NDArray[np.bool_]]:
        u = standard_normals((count, len(self.mean)), random_bytes) @ self.factor.T + self.mean
        room = _room(u)
        return u, (room >= 0) & (exponentials(count, random_bytes) >= self.tilt * room)


def _room(u: Array) -> Array:
    """1 − ‖u‖², the large parts of the squares as whole numbers."""
    scaled = np.clip(u * SPLIT, -(2.0**29), 2.0**29)
    whole = np.rint(scaled)
    rest = scaled - whole
    left = 2**52 - (whole.astype(np.int64) ** 2).sum(axis=1)
    return np.asarray((left - ((2 * whole + rest) * rest).sum(axis=1)) / SPLIT**2)


def _accepted(propose: _Proposal, samples: int, cap: int, random_bytes: RandomBytes) -> tuple[Array, NDArray[np.bool_]]:
    """Draws, and which of them ran out. Each sample takes the first accepted of its own proposals, at most `cap`.

    Rounds give every unfinished sample 1, 2, 4, … more proposals; how many were needed does not leave this function.
    """
    d = len(propose.mean)
    found, missing = np.zeros((samples, d)), np.ones(samples, dtype=np.bool_)
    used, each = 0, 1
    while used < cap and missing.any():
        waiting = np.flatnonzero(missing)
        each = max(1, min(each, BATCH // (d * len(waiting)), cap - used))
        for part in np.array_split(waiting, -(-len(waiting) * each * d // BATCH)):
            u, accepted = propose(len(part) * each, random_bytes)
            accepted = accepted.reshape(len(part), each)
            got = np.flatnonzero(accepted.any(axis=1))
            found[part[got]] = u.reshape(len(part), each, d)[got, accepted[got].argmax(axis=1)]
            missing[part[got]] = False
        used, each = used + each, 2 * each
    return found, missing


def _proposal(posterior: BallPosterior) -> _Proposal:
    """Λ + 2κI = LLᵀ; factor L⁻ᵀ, mean L⁻ᵀL⁻¹b."""
    d, tilt = len(posterior.linear), tilt_of(posterior)
    L = [[PRECISE.mpf(0)] * d for _ in range(d)]
    inverse = [[PRECISE.mpf(0)] * d for _ in range(d)]
    for i in range(d):
        for j in range(i + 1):
            left = posterior.precision[i][j] - PRECISE.fdot(L[i][:j], L[j][:j])
            left += 2 * PRECISE.mpf(tilt) if i == j else 0
            if i == j and not left > 0:
                raise NumericalFailure("these sums belong to no rows")
            L[i][j] = PRECISE.sqrt(left) if i == j else left / L[j][j]
    for i in range(d):
        for j in range(i + 1):
            known = PRECISE.fdot(L[i][j:i], [inverse[k][j] for k in range(j, i)])
            inverse[i][j] = ((1 if i == j else 0) - known) / L[i][i]
    half = [PRECISE.fdot(row, posterior.linear) for row in inverse]
    mean = [PRECISE.fdot([row[j] for row in inverse], half) for j in range(d)]
    factor = np.array([[float(value) for value in row] for row in inverse]).T
    return _Proposal(np.array([float(value) for value in mean]), factor, tilt)


def tilt_of(posterior: BallPosterior) -> float:
    """κ from doubles: any κ is exact, and a relative error of 10⁻⁴ costs no proposals worth counting."""
    matrix = np.array([[float(value) for value in row] for row in posterior.precision])
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, posterior.bounds.lowest)
    square = (vectors.T @ np.array([float(value) for value in posterior.linear])) ** 2

    def excess(tilt: float) -> float:
        precision = values + 2 * tilt
        return float((square / precision**2 + 1 / precision).sum()) - 1

    if excess(0.0) <= 0:
        return 0.0
    low, high = 0.0, tilt_bound(len(values), posterior.bounds.linear_norm)
    while high - low > ROOT_WIDTH * high:
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high
