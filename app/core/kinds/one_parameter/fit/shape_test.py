"""Whether a noisy histogram looks like the model's: two discrepancies, and how large data of the model would make them.

At θ, with m rows and noise of variance s², count b has mean m·p_b(θ) and variance about V_b = m·p_b + s². Divide what is left of
the counts by √V, and let A be the direction in which p moves with θ (and, where people may have several rows and m is private,
that in which it moves with m), D the one in which a wider family moves it. What A explains is taken away from both. Then

    z = ⟨D, e⟩/|D|      how far the rows vary more (or less) than the model says, in sds
    X² = ⟨e, e⟩         the χ² distance of the shapes

at the θ that fits best. Having no part along A, both have nearly the same law whatever θ is, so that what is simulated from
p(θ|counts), with the noise, has tails as often as they say: on data of the model, about as often as `LEVEL` or less
(tests/statistical/test_fit_check.py).
"""

import hashlib
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.fit_check import FitCheck
from app.core.kinds.one_parameter.beliefs.untrimmed import Untrimmed, untrimmed
from app.core.kinds.one_parameter.fit.wider_law import model_shares, wider_shares
from app.core.statistics.histograms import HistogramRequest

Array = NDArray[np.float64]

LEVEL = 0.05
SIMULATED = 1_999
TESTS = 2.5
"""Two of them, and a quarter more: the law of a discrepancy is only nearly the same at every θ."""
WIDER_BY = 0.05
LEAST_VARIANCE = 0.25
_PLACES = 33
_COARSE = 257
_FAR = 18.0
_ZOOMS = 24


@dataclass(frozen=True, slots=True)
class Discrepancies:
    """One of each for every histogram."""

    spread: Array
    distance: Array


@dataclass(frozen=True, slots=True)
class Histograms:
    """What is public about the noisy histogram of one release; `rows` is its number of rows, or nearly."""

    model: NaturalModel
    request: HistogramRequest
    check: FitCheck
    unit_rows: int
    rows: int

    @property
    def noise_variance(self) -> float:
        """At least a quarter, that of a rounded count: bins without rows would weigh without end under hardly any noise."""
        return max(self.check.sd(self.unit_rows) ** 2, LEAST_VARIANCE)

    def simulated(self, generator: np.random.Generator, shares: Array) -> Array:
        """Noisy counts of rows with these shares, a histogram for each row of `shares`."""
        exact = shares / shares.sum(axis=1, keepdims=True)
        return self.check.simulated(generator, self.unit_rows, generator.multinomial(self.rows, exact))


@dataclass(frozen=True, slots=True)
class Places:
    """Values of θ around the best, with their weights given the counts, and what the two discrepancies need at each."""

    of: Histograms
    theta: Array
    weights: Array
    shares: Array = field(repr=False)
    bases: tuple[Array, ...] = field(repr=False)
    directions: Array = field(repr=False)

    @property
    def best(self) -> int:
        return int(np.argmax(self.weights))

    def discrepancies(self, noisy: Array) -> Discrepancies:
        """Of every row of `noisy`, each at the place that fits it best."""
        expected = self.of.rows * self.shares
        variance = expected + self.of.noise_variance
        fits, spreads, distances = [], [], []
        for place, basis in enumerate(self.bases):
            left = (noisy - expected[place]) / np.sqrt(variance[place])
            fits.append((left**2).sum(axis=1) + np.log(variance[place]).sum())
            spreads.append(left @ self.directions[place])
            distances.append((left**2).sum(axis=1) - ((left @ basis) ** 2).sum(axis=1))
        chosen = np.argmin(fits, axis=0)
        every = np.arange(len(noisy))
        return Discrepancies(np.array(spreads)[chosen, every], np.array(distances)[chosen, every])


def places(of: Histograms, noisy: Array) -> Places:
    """θ given the noisy counts, by its untrimmed prior: where it may be, found by looking closer and closer."""
    prior = untrimmed(of.model)
    inset = (prior.last - prior.first) / (2 * _COARSE)
    low, high, count = prior.first + inset, prior.last - inset, _COARSE
    for _ in range(_ZOOMS):
        phi = np.linspace(low, high, count)
        heights = _heights(of, prior, noisy, phi)
        near = np.flatnonzero(heights >= heights.max() - _FAR)
        first, last = max(near[0] - 1, 0), min(near[-1] + 1, count - 1)
        if last - first >= count // 2 or phi[last] - phi[first] <= 1e-12 * max(abs(low), abs(high)):
            break
        low, high, count = float(phi[first]), float(phi[last]), _PLACES
    phi = np.linspace(phi[first], phi[last], _PLACES)
    heights = _heights(of, prior, noisy, phi)
    weights = np.exp(heights - heights.max())
    shares = model_shares(of.model, of.request, prior.theta(phi))
    return _with_directions(of, prior, phi, weights / weights.sum(), shares)


def _heights(of: Histograms, prior: Untrimmed, noisy: Array, phi: Array) -> Array:
    expected = of.rows * model_shares(of.model, of.request, prior.theta(phi))
    variance = expected + of.noise_variance
    fit = -((noisy - expected) ** 2 / variance + np.log(variance)).sum(axis=1) / 2
    return np.where(np.isfinite(fit), fit, -np.inf) + prior.log_weight(phi)


def _with_directions(of: Histograms, prior: Untrimmed, phi: Array, weights: Array, shares: Array) -> Places:
    theta = prior.theta(phi)
    near = 1e-4 * (prior.last - prior.first) if len(phi) < 2 else float(phi[1] - phi[0]) / 2
    moved = model_shares(of.model, of.request, prior.theta((phi + near).clip(prior.first, prior.last)))
    moved = moved - model_shares(of.model, of.request, prior.theta((phi - near).clip(prior.first, prior.last)))
    mean = of.model.sums.mean(theta, 1)
    wider = wider_shares(of.model, of.request, mean, np.full(len(theta), 1 + WIDER_BY)) - shares
    spread = np.sqrt(of.rows * shares + of.noise_variance)
    bases, directions = [], []
    for place in range(len(theta)):
        along = [moved[place], shares[place]] if of.unit_rows > 1 else [moved[place]]
        basis = _orthonormal(np.array(along).T / spread[place][:, None])
        direction = wider[place] / spread[place]
        direction = direction - basis @ (basis.T @ direction)
        length = float(np.linalg.norm(direction))
        bases.append(basis)
        directions.append(direction / length if length > 0 else direction)
    return Places(of, theta, weights, shares, tuple(bases), np.array(directions))


def _orthonormal(columns: Array) -> Array:
    """Directions of no length are left out."""
    lengths = np.linalg.norm(columns, axis=0)
    kept = columns[:, lengths > 0] / lengths[lengths > 0]
    return np.asarray(np.linalg.qr(kept)[0]) if kept.size else np.zeros((len(columns), 0))


@dataclass(frozen=True, slots=True)
class Null:
    """What data of the model would look like, sorted; and how odd others are beside it."""

    spread: Array = field(repr=False)
    distance: Array = field(repr=False)

    def spread_tail(self, values: Array) -> Array:
        """Two-sided."""
        size = len(self.spread)
        at_most = np.searchsorted(self.spread, values, side="right")
        at_least = size - np.searchsorted(self.spread, values, side="left")
        return np.minimum(1.0, 2 * (1 + np.minimum(at_most, at_least)) / (size + 1))

    def distance_tail(self, values: Array) -> Array:
        size = len(self.distance)
        return np.asarray((1 + size - np.searchsorted(self.distance, values, side="left")) / (size + 1))

    def tail(self, found: Discrepancies) -> Array:
        """Of both together: the smaller, times the number of tests and a little more."""
        smaller = np.minimum(self.spread_tail(found.spread), self.distance_tail(found.distance))
        return np.minimum(1.0, TESTS * smaller)


def null_of(around: Places, generator: np.random.Generator) -> Null:
    chosen = generator.choice(len(around.theta), SIMULATED, p=around.weights)
    found = around.discrepancies(around.of.simulated(generator, around.shares[chosen]))
    return Null(np.sort(found.spread), np.sort(found.distance))


def seeded(*names: bytes) -> np.random.Generator:
    """Of public names: the same on every worker."""
    seed = hashlib.sha256(b"\0".join((b"postern check", *names))).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(seed, "little")))
