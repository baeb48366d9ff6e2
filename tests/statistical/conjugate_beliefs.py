"""P(θ in a set | R) by conjugacy: a second way to p(θ|R) = Σ_t p(θ|t)·p(t|R) that shares nothing with the service's.

Where no row is clipped and rounding does not show, θ given the sum t is a Beta, Gamma or normal law and p(t) its predictive, in
closed form. p(R|t) is that of the noise, of the table a point is drawn from, or τ·t·Ση − N·ψ_τ(t) of N draws, which leaves out
the uniform share of 2⁻²⁴. The sum over t has nodes six to an sd of t given θ, and as many as it takes where R says more.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from app.core.kinds.one_parameter.families import Model

Array = NDArray[np.float64]
LogLikelihood = Callable[[Array], Array]

PER_SD = 6
FINE = 1_201
CUT = 40.0
TURNS = 10
RARE = 1e-8
REACH_SDS = 10.0


@dataclass(frozen=True)
class Conjugate:
    """Of `people` rows; sums t are in steps of the lattice."""

    model: Model
    people: int

    @property
    def rows(self) -> float:
        """n times trials, successes or shape a row."""
        return self.people * self.model.sums.size

    def value(self, t: Array) -> Array:
        return np.asarray(self.people * self.model.statistic.lower + self.model.statistic.step * t)

    def sum_of(self, value: Array) -> Array:
        return np.asarray((value - self.people * self.model.statistic.lower) / self.model.statistic.step)

    def below(self, theta: Array, t: Array) -> Array:
        """P(θ' ≤ θ | t), (len(θ), len(t))."""
        x, theta = self.value(t)[None, :], theta[:, None]
        prior, n = self.model.prior, self.rows
        match self.model.sums.kind:
            case "binomial":
                return np.asarray(
                    special.betainc(prior.value("alpha") + x, prior.value("beta") + n - x, theta.clip(0, 1))
                )
            case "negative_binomial":
                return np.asarray(special.betainc(prior.value("alpha") + n, prior.value("beta") + x, theta.clip(0, 1)))
            case "poisson":
                seen = (prior.value("rate") + n) * theta.clip(0)
                return np.asarray(special.gammainc(prior.value("shape") + x, seen))
            case "gamma":
                return np.asarray(special.gammainc(prior.value("shape") + n, (prior.value("rate") + x) * theta.clip(0)))
            case _:
                mean, sd = self._normal(x)
                return np.asarray(special.ndtr((theta - mean) / sd))

    def log_predictive(self, t: Array) -> Array:
        """log p(t), up to what no number of rows changes."""
        x, prior, n = self.value(t), self.model.prior, self.rows
        match self.model.sums.kind:
            case "binomial":
                seen = special.betaln(prior.value("alpha") + x, prior.value("beta") + n - x)
                return np.asarray(seen - special.gammaln(x + 1) - special.gammaln(n - x + 1) + special.gammaln(n + 1))
            case "negative_binomial":
                seen = special.betaln(prior.value("alpha") + n, prior.value("beta") + x)
                return np.asarray(seen + special.gammaln(x + n) - special.gammaln(x + 1) - special.gammaln(n))
            case "poisson":
                a, b = prior.value("shape"), prior.value("rate")
                seen = special.gammaln(a + x) - special.gammaln(x + 1) + x * math.log(n / (b + n))
                return np.asarray(seen - a * math.log(b + n))
            case "gamma":
                a, b = prior.value("shape"), prior.value("rate")
                seen = (n - 1) * np.log(x) - (a + n) * np.log(b + x)
                return np.asarray(seen + special.gammaln(a + n) - special.gammaln(n))
            case _:
                variance = self.people**2 * prior.value("sd") ** 2 + self.people * self.model.sums.size**2
                away = (x - self.people * prior.value("mean")) ** 2 / variance
                return np.asarray(-0.5 * (away + math.log(variance)))

    def _normal(self, x: Array) -> tuple[Array, float]:
        prior, variance = self.model.prior, self.model.sums.size**2
        precision = prior.value("sd") ** -2 + self.people / variance
        mean = (prior.value("mean") * prior.value("sd") ** -2 + x / variance) / precision
        return mean, precision**-0.5

    def even(self) -> Array:
        """Sums in which p(t|θ) is as wide everywhere, over all that the prior may bring about."""
        law, ends = self.model.sums, np.array(self._theta_ends())
        means, reach = np.sort(law.mean(ends, self.people)), REACH_SDS * law.sd(ends, self.people)
        forward, back = _STABLE[law.kind]
        if law.kind == "binomial":
            first, last = 0.0, self.rows
        elif law.kind == "gamma":
            apart = math.exp(REACH_SDS / math.sqrt(self.rows))
            first, last = means[0] / apart, means[1] * apart
        else:
            first, last = float(means[0] - reach.max()), float(means[1] + reach.max())
            first = first if law.kind == "normal" else max(first, 0.0)
        place = forward(np.array([first, last]), self.rows)
        count = PER_SD * math.ceil(float(np.ptp(place)) * self._sharpness()) + 1
        nodes = self.sum_of(back(np.linspace(place[0], place[1], count), self.rows))
        return self.snapped(nodes)

    def _sharpness(self) -> float:
        """Sds of t given θ to a unit of the stabilised sum."""
        return {"gamma": math.sqrt(self.rows), "normal": 1 / (math.sqrt(self.people) * self.model.sums.size)}.get(
            self.model.sums.kind, 2.0 if self.model.sums.kind == "poisson" else 2 * math.sqrt(self.rows)
        )

    def _theta_ends(self) -> tuple[float, float]:
        prior = self.model.prior
        match prior.kind:
            case "beta":
                ends = special.betaincinv(prior.value("alpha"), prior.value("beta"), [RARE, 1 - RARE])
            case "gamma":
                ends = special.gammaincinv(prior.value("shape"), [RARE, 1 - RARE]) / prior.value("rate")
            case _:
                ends = prior.value("mean") + prior.value("sd") * special.ndtri([RARE, 1 - RARE])
        return float(ends[0]), float(ends[1])

    def snapped(self, nodes: Array) -> Array:
        if not self.model.sums.discrete:
            return np.unique(nodes)
        last = self.people * self.model.statistic.steps if self.model.sums.kind == "binomial" else np.inf
        return np.unique(np.rint(nodes).clip(0, last))

    def masses(self, log_likelihood: LogLikelihood, start: Array) -> "Sums":
        """p(t)·p(R|t): `start` shows where to look, closer nodes are put there."""
        nodes = start
        for _ in range(TURNS):
            log_mass = self.log_predictive(nodes) + log_likelihood(nodes) + np.log(_stands_for(nodes, self.model))
            kept = np.flatnonzero(log_mass >= log_mass.max() - CUT)
            first, last = nodes[max(kept[0] - 1, 0)], nodes[min(kept[-1] + 1, len(nodes) - 1)]
            inside = start[(start > first) & (start < last)]
            closer = self.snapped(np.concatenate([np.linspace(first, last, FINE), inside]))
            if len(kept) >= FINE // 2 or len(closer) == len(nodes):
                break
            nodes = closer
        chosen = log_mass > log_mass.max() - CUT
        return Sums(self, nodes[chosen], log_mass[chosen])


@dataclass(frozen=True)
class Sums:
    """Sums of so many rows, with log p(t, R) of each."""

    of: Conjugate
    totals: Array
    log_mass: Array


def probability(given: Sequence[Sums], ends: Array) -> Array:
    """P(low ≤ θ ≤ high | R) for every (low, high); `given` has an element for each number of rows there may be."""
    top = max(float(each.log_mass.max()) for each in given)
    masses = [np.exp(each.log_mass - top) for each in given]
    below = sum(each.of.below(ends.ravel(), each.totals) @ mass for each, mass in zip(given, masses, strict=True))
    shares = np.asarray(below).reshape(ends.shape) / sum(mass.sum() for mass in masses)
    return np.asarray(np.diff(shares, axis=-1)[..., 0])


def _stands_for(nodes: Array, model: Model) -> Array:
    """How much of the line, or how many whole numbers, each node is for."""
    if len(nodes) == 1:
        return np.ones(1)
    middles = (nodes[:-1] + nodes[1:]) / 2
    if model.sums.discrete:
        return np.diff(np.concatenate([[nodes[0] - 1], np.floor(middles), [nodes[-1]]]))
    return np.diff(np.concatenate([[nodes[0]], middles, [nodes[-1]]]))


Stable = Callable[[Array, float], Array]
_STABLE: dict[str, tuple[Stable, Stable]] = {
    "binomial": (lambda x, n: np.arcsin(np.sqrt(x / n)), lambda y, n: n * np.sin(y) ** 2),
    "negative_binomial": (lambda x, n: np.arcsinh(np.sqrt(x / n)), lambda y, n: n * np.sinh(y) ** 2),
    "poisson": (lambda x, n: np.sqrt(x), lambda y, n: y**2),
    "gamma": (lambda x, n: np.log(x), lambda y, n: np.exp(y)),
    "normal": (lambda x, n: x, lambda y, n: y),
}
