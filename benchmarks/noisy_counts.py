"""The other side: every question answered by counting and adding OpenDP's integer noise, under the best composition.

Neighbours replace one person's record, n is public, as on our side. A conjunction is one count, which moves by at most one. A
conditional probability ½ + (A − B)/(2D) needs two numbers: A − B, how many of the D people given have the event less how many
have not, and D. A replaced record moves (A − B, D) by (±2, 0), or by (±1, ±1), or not at all. With noise of 2σ on the first and
2σ/√3 on the second both cost what a count with noise σ costs, (2/2σ)² = (1/2σ)² + 3·(1/2σ)² = 1/σ²: the smallest ellipse
around the six moves, up to a third less variance than two equally noisy counts. For Laplace noise of scale b a count, 2b on
both. So every question has the same share of the budget, whatever its kind; or conditional ones have four times that of counts,
as if it were known beforehand how many will come (`weighted`).

Accounting, for k questions chosen adaptively, k known in advance:

    gaussian         k Gaussians of noise σ are, exactly, one of noise σ/√k (Dong, Roth, Su 2019): σ = √k/μ with μ the root
                     of Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) = δ (Balle and Wang 2018). Nothing composes better.
    laplace          b = k/ε, pure
    laplace, tight   the least b whose k-fold privacy loss distribution has δ(ε) ≤ δ (dp-accounting, optimistic rounding)

`zcdp` and `advanced` are what two well-known theorems would need; they are never better and only shown. Answers come from the
noisy numbers in two ways: `clipped` to [0, 1], or `mean`, the posterior mean under flat priors with the noise known (the
shrinkage which Postern's answers have too). Whichever noise and way errs less at a k is taken for that k.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from benchmarks.adaptive_analyst import Asked
from benchmarks.clinic_network import People, mass
from benchmarks.noisy_estimates import Noise, clipped_ratio, clipped_share, mean_ratio, mean_share

Array = NDArray[np.float64]
WAYS = ("clipped", "mean")


@lru_cache
def gaussian_mu(epsilon: float, delta: float) -> float:
    def excess(mu: float) -> float:
        return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu) - delta)

    return float(brentq(excess, 1e-4, 100.0, xtol=1e-12))


def zcdp_sigma(epsilon: float, delta: float) -> float:
    """ρ = 1/(2σ²) with ε = min over α of ρα + ln(1−1/α) − ln(δα)/(α−1) (Canonne, Kamath, Steinke 2020)."""
    alphas = 1 + np.geomspace(1e-3, 1e5, 20_001)
    offsets = np.log1p(-1 / alphas) - (math.log(delta) + np.log(alphas)) / (alphas - 1)
    rho = brentq(lambda rho: float((rho * alphas + offsets).min()) - epsilon, 1e-9, 100.0)
    return 1 / math.sqrt(2 * float(rho))


def advanced_scale(epsilon: float, delta: float, questions: int) -> float:
    """Dwork, Rothblum and Vadhan (2010): ε = ε₀·√(2k·ln(1/δ)) + k·ε₀·(e^{ε₀} − 1)."""

    def excess(own: float) -> float:
        return own * math.sqrt(2 * questions * -math.log(delta)) + questions * own * math.expm1(own) - epsilon

    return 1 / float(brentq(excess, 1e-9, epsilon + 1))


@lru_cache
def tight_laplace_scale(epsilon: float, delta: float, questions: int) -> float:
    """To one per mille; the grid of losses shrinks with their size, and rounds in favour of less noise."""
    from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism

    def enough(scale: float) -> bool:
        step = 1 / scale / max(50.0, 5 * math.sqrt(questions))
        loss = from_laplace_mechanism(
            scale, value_discretization_interval=step, pessimistic_estimate=False, use_connect_dots=False
        )
        return float(loss.self_compose(questions).get_delta_for_epsilon(epsilon)) <= delta

    low, high = 0.5 * math.sqrt(questions) / epsilon, 1.001 * questions / epsilon
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return min(high, questions / epsilon)


def noises(epsilon: float, delta: float, questions: int, conditional: int = 0) -> list[Noise]:
    """What may be best at k questions: beyond a hundred basic composition, beyond a thousand Laplace noise, is far behind.

    With both kinds asked, also Gaussians that halve the noise on conditional questions against that on counts:
    c/σ_c² + (k − c)/(2σ_c)² = μ². For least mean error noise should be as the cube root of the group's share, and groups
    are about an eighth of all people.
    """
    mu = gaussian_mu(epsilon, delta)
    made = [Noise("gaussian", math.sqrt(questions) / mu, True)]
    if 0 < conditional < questions:
        finer = math.sqrt(conditional + (questions - conditional) / 4) / mu
        made.append(Noise("gaussian, weighted", 2 * finer, True, finer))
    if questions <= 100:
        made.append(Noise("laplace", questions / epsilon, False))
    if 1 < questions <= 1_000:
        made.append(Noise("laplace, tight", tight_laplace_scale(epsilon, delta, questions), False))
    return made


def drawn(count: int, scale: float, gaussian: bool) -> Array:
    """OpenDP's exact integer samplers on zeros: the noise added does not depend on what it is added to."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=dp.i64))
    if gaussian:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=dp.f64), scale=scale)
    else:
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T=dp.i64), scale=scale)
    return np.array(measurement([0] * count), dtype=np.float64)


class NoisyCounter:
    """Noise for `questions` questions, drawn once; the i-th question gets the i-th of each kind, and uses one kind only."""

    def __init__(self, people: People, noise: Noise, questions: int) -> None:
        self._people, self._noise = people, noise
        scales = (noise.scale, noise.of_difference, noise.of_given)
        self._drawn = [drawn(questions, scale, noise.gaussian) for scale in scales]

    def numbers(self, asked: Sequence[Asked], first: int = 0) -> tuple[Array, Array, Array]:
        """(count, A − B, D), noisy, of consecutive questions from number `first` on."""
        counts = self._people.counts
        both = np.array([mass(counts, (*question.event, *question.given)) for question in asked])
        given = np.array([mass(counts, question.given) for question in asked])
        part = slice(first, first + len(asked))
        count, difference, size = (noise[part] for noise in self._drawn)
        return both + count, 2 * both - given + difference, given + size

    def answers(self, asked: Sequence[Asked]) -> dict[str, Array]:
        """By way, one answer a question."""
        conditional = np.array([question.conditional for question in asked])
        count, difference, size = self.numbers(asked)
        n = float(self._people.size)
        mean = np.empty(len(asked))
        mean[~conditional] = mean_share(count[~conditional], self._noise, n)
        mean[conditional] = mean_ratio(difference[conditional], size[conditional], self._noise, n)
        clipped = np.where(conditional, clipped_ratio(difference, size, n), clipped_share(count, n))
        return {"clipped": clipped, "mean": mean}

    def respond(self) -> Callable[[Asked], float]:
        """Clipped answers one at a time, for an analyst who is answered by noisy counts."""
        asked_so_far = 0
        n = float(self._people.size)

        def answer(asked: Asked) -> float:
            nonlocal asked_so_far
            count, difference, size = self.numbers([asked], asked_so_far)
            asked_so_far += 1
            return float((clipped_ratio(difference, size, n) if asked.conditional else clipped_share(count, n))[0])

        return answer


def whole_table(people: People, epsilon: float, delta: float) -> dict[str, Array]:
    """Not an answer a question: all 2^d cells once, each with Gaussian noise √2/μ (a replaced record moves two by one).

    As drawn, or projected to what tables of n people can be (nonnegative, sum n; least squares): post-processing.
    """
    noise = drawn(people.counts.size, math.sqrt(2) / gaussian_mu(epsilon, delta), gaussian=True)
    cells = people.counts.ravel() + noise
    ordered = np.sort(cells)[::-1]
    excess = (np.cumsum(ordered) - people.size) / np.arange(1, len(cells) + 1)
    shift = excess[np.flatnonzero(ordered > excess)[-1]]
    shape = people.counts.shape
    return {"as drawn": cells.reshape(shape), "projected": np.maximum(cells - shift, 0).reshape(shape)}
