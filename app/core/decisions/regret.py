"""How much worse than the best possible response an answer can be, with a stated confidence (PRIVACY §6).

The samples are N independent draws from the released posterior (tempered, on its public grid); U(r) is the
expected utility under it, in [0, 1] units, and the regret of a response r̂ is max_r U(r) − U(r̂). Each bound
holds with probability at least 1 − δ over the draws **for a question fixed before any answer is seen**, and is
computed from N, δ and the question alone: it says nothing about the samples.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

FIXED = "for a question fixed in advance"

# Rounds every bound up, past the last-digit errors of log, sqrt and the inverse beta function.
UPWARD = 1 + 2.0**-40

COVERS = 64
"""Covers of 2⁰ … 2⁶³ points are tried; the best number is within a factor of two of one of them."""


@dataclass(frozen=True, slots=True)
class Bound:
    """In units of the utility's range; `method` names the argument it rests on."""

    value: float
    method: str

    def widened(self, gap: float) -> "Bound":
        """For a response whose mean utility may be `gap` below the highest: U(a) − U(â) gains that much."""
        if gap == 0:
            return self
        return Bound(_clipped(self.value + gap), f"{self.method}; plus how far the search may be from the best")


@dataclass(frozen=True, slots=True)
class Regret:
    bound: float
    confidence: float
    method: str


def bound_mean(samples: int, delta: float) -> Bound:
    """Squared loss: U(r) = 1 − Var z − (r − E z)², so the regret of the mean z̄ is exactly (z̄ − E z)².

    z ∈ [0, 1], so Hoeffding gives |z̄ − E z| ≤ sqrt(ln(2/δ)/(2N)); squared, ln(2/δ)/(2N).
    """
    value = math.log(2 / delta) / (2 * samples)
    return Bound(_clipped(value), f"Hoeffding's inequality for the mean, {FIXED}")


def bound_quantiles(levels: Sequence[tuple[Fraction, float]], samples: int, delta: float) -> Bound:
    """Σ weight × pinball loss over (τ, weight): the deviations add, each given an equal share of δ."""
    share = delta / len(levels)
    value = sum(
        weight * _deviation(rank_of(tau, samples), samples, tau.numerator / tau.denominator, share)
        for tau, weight in levels
    )
    name = "distribution of the order statistic" + ("s" if len(levels) > 1 else "")
    return Bound(_clipped(value), f"beta {name}, {FIXED}")


def bound_mixed_quantiles(levels: Sequence[tuple[Fraction, float]], samples: int, delta: float) -> Bound:
    """As above, where each sample θ has a law of y ∈ [0, 1] that is a shift of one law by v(θ), held to [0, 1].

    F̂ and F are the mixtures over the draws and over the posterior, r̂ the least r with F̂(r) ≥ τ. The loss has slope F − τ;
    between r° and r̂ one of F̂ < τ ≤ F, F < τ ≤ F̂ holds, so the regret is at most sup|F̂ − F|, which is at most the same for
    the distribution functions of v (mixing shifts them, holding to [0, 1] takes no more apart): sqrt(ln(2/δ)/(2N)) by
    Dvoretzky, Kiefer, Wolfowitz and Massart, for all levels at once.
    """
    value = sum(weight for _, weight in levels) * math.sqrt(math.log(2 / delta) / (2 * samples))
    return Bound(_clipped(value), f"Dvoretzky–Kiefer–Wolfowitz–Massart inequality, {FIXED}")


def rank_of(tau: Fraction, samples: int) -> int:
    """⌈τN⌉, exactly: the rank of the smallest minimiser of the summed pinball loss."""
    return -(-tau.numerator * samples // tau.denominator)


@lru_cache(maxsize=4_096)
def _deviation(m: int, samples: int, tau: float, delta: float) -> float:
    """Bounds E ρ_τ(z − r̂) − min_r E ρ_τ(z − r) for r̂ the order statistic of rank m = ⌈τN⌉, z ∈ [0, 1].

    Let F be the distribution function of z, F⁻(v) = inf{t : F(t) ≥ v} and r° = F⁻(τ). The loss L(r) is convex
    with slope F(r) − τ, so L(r̂) − L(r°) is the integral of F − τ from r° to r̂. Write the draws as F⁻(V_i)
    with V_i independent uniform; then r̂ = F⁻(V) for V = V_(m), which has the Beta(m, N−m+1) distribution.
      V ≥ τ: on [r°, r̂), τ ≤ F < V, so the integral is at most V − τ.
      V < τ: on [r̂, r°), V ≤ F < τ, so it is at most τ − V.
    Hence the regret is at most |V − τ|, whatever F (atoms of the grid included), and with probability 1 − δ
    V lies between the δ/2 and 1 − δ/2 quantiles of its distribution.
    """
    betaincinv, betainccinv = _inverses()
    low = float(betaincinv(m, samples - m + 1, delta / 2))
    high = float(betainccinv(m, samples - m + 1, delta / 2))
    return max(high - tau, tau - low)


@cache
def _inverses() -> tuple[Any, Any]:
    from scipy.special import betainccinv, betaincinv  # two thirds of a second: not at start-up

    return betaincinv, betainccinv


def bound_finite(widths: Sequence[float], samples: int, delta: float) -> Bound:
    """A finite set R of responses whose utilities lie in public intervals of these widths (each at most 1).

    Let a be the best response and â the chosen one. Their sample means satisfy Û(â) ≥ Û(a), so
    U(a) − U(â) ≤ (U − Û)(a) − (U − Û)(â): the error of one mean of u_a − u_b over the draws, with b = â.
    u_a − u_b lies in an interval of length w_a + w_b, so Hoeffding (one side) and a union over the |R| − 1
    possible b give (w_a + w_b)·sqrt(ln((|R|−1)/δ)/(2N)), at most its value for the two widest. With all widths
    1 this is 2·sqrt(ln((|R|−1)/δ)/(2N)), below the 2·sqrt(ln(2|R|/δ)/(2N)) that bounds every mean by itself.
    """
    widest = sum(sorted(widths)[-2:])
    value = widest * math.sqrt(math.log((len(widths) - 1) / delta) / (2 * samples))
    return Bound(_clipped(value), f"Hoeffding's inequality over {len(widths)} responses, {FIXED}")


def bound_real(width: float, variation: float, samples: int, delta: float) -> Bound:
    """Real responses r in an interval, u(θ, r) in a public interval of `width`. The smaller of two bounds.

    Public numbers S₋(r) ≤ ∂u/∂r ≤ S₊(r) bound the slope for all θ, and V = ∫(S₊ − S₋) dr is the `variation`. Let r° be the best
    response, r̂ the chosen one, D = U − Û. A search that leaves no gap has Û(r̂) ≥ Û(r°), so U(r°) − U(r̂) ≤ D(r°) − D(r̂) (the gap
    is added elsewhere). For two fixed responses D(r°) − D(b) is the error of one mean over the draws, of u(θ, r°) − u(θ, b),
    which lies in an interval of length ℓ = min(2·width, V): it is the integral of the slope from b to r°.
      A cover: m points cut V into m equal parts, so that V between r̂ and the nearest one b is at most V/(2m), and D(b) − D(r̂)
      too, D having slopes within ±(S₊ − S₋). Hoeffding (one side), r° being fixed and b one of m: for every m
          ℓ·sqrt(ln(m/δ)/(2N)) + V/(2m).
      All at once: D(r°) − D(r) is the integral of D′ between them, and E|D′| ≤ sd(∂u/∂r)/√N ≤ (S₊ − S₋)/(2√N), so
      E sup_r [D(r°) − D(r)] ≤ V/(2√N). Replacing one draw moves the supremum by at most ℓ/N: by McDiarmid it is at most
          V/(2√N) + ℓ·sqrt(ln(1/δ)/(2N)).
    """
    length = min(2 * width, variation)
    covers = [
        length * math.sqrt((k * math.log(2) - math.log(delta)) / (2 * samples)) + variation / 2 ** (k + 1)
        for k in range(COVERS)
    ]
    together = variation / (2 * math.sqrt(samples)) + length * math.sqrt(-math.log(delta) / (2 * samples))
    if together <= min(covers):
        return Bound(_clipped(together), f"McDiarmid's inequality over an interval of responses, {FIXED}")
    points = 2 ** covers.index(min(covers))
    method = f"Hoeffding's inequality over a cover of {points} responses and a Lipschitz remainder, {FIXED}"
    return Bound(_clipped(min(covers)), method)


def bound_mode(outcomes: int, samples: int, delta: float) -> Bound:
    """Naming one of R outcomes: u_v(θ) = P_θ(v) ≥ 0 with Σ_v u_v = 1. The smaller of two bounds.

    With a the best outcome and â the chosen one, U(a) − U(â) ≤ Z = max_b [(U − Û)(a) − (U − Û)(b)].
      Every b by itself: 2·sqrt(ln((R−1)/δ)/(2N)), as in `bound_finite`.
      All b at once: E max_b (Û − U)(b) ≤ sqrt(Σ_b Var Û(b)) ≤ sqrt(Σ_b E u_b²/N) ≤ 1/√N, and the other term has mean 0.
      Replacing one draw moves u_b − u_a by at most 2, so Z by 2/N: by McDiarmid Z ≤ 1/√N + sqrt(2·ln(1/δ)/N),
      however many outcomes there are.
    """
    each = 2 * math.sqrt((math.log(outcomes - 1) - math.log(delta)) / (2 * samples))
    together = (1 + math.sqrt(-2 * math.log(delta))) / math.sqrt(samples)
    if each <= together:
        return Bound(_clipped(each), f"Hoeffding's inequality over {outcomes} outcomes, {FIXED}")
    return Bound(_clipped(together), f"McDiarmid's inequality over all outcomes, {FIXED}")


def bound_log_report(lower: float, upper: float, floor: float, samples: int, delta: float) -> Bound:
    """Reporting the mean m̂ of g ∈ [lower, upper], held to [f, 1−f], under the log score in units of ln(1/f).

    U is linear in m = E g, and r̂ is the best report for m̂, so with ψ(r) = ln(r/(1−r))
    U(r°) − U(r̂) ≤ (m − m̂)·(ψ(r°) − ψ(r̂))/ln(1/f). Hoeffding: |m − m̂| ≤ t = (upper − lower)·sqrt(ln(2/δ)/(2N)).
    Reports are m and m̂ held to [a, b] = [f, 1−f] ∩ [lower, upper], so no further apart than t, and ψ(x+t) − ψ(x) falls and
    then rises in x: it is largest at an end of [a, b].
    """
    t = (upper - lower) * math.sqrt(math.log(2 / delta) / (2 * samples))
    a, b = (min(max(end, floor), 1 - floor) for end in (lower, upper))
    steps = _logit(min(a + t, b)) - _logit(a), _logit(b) - _logit(max(b - t, a))
    value = t * max(*steps, 0.0) / -math.log(floor)
    return Bound(_clipped(value), f"Hoeffding's inequality for the mean under the log score, {FIXED}")


def bound_log_law(levels: int, samples: int, delta: float) -> Bound:
    """Reporting a law over L levels, each at least f, under the log score in units of ln(1/f).

    As above U(p°) − U(p̂) ≤ Z = sup_p Σ_v (m − m̂)_v·ln(p°_v/p_v)/ln(1/f). The part with p° has mean 0, p° being fixed; the other
    is at most Σ_v max(m − m̂, 0)_v = ½·‖m − m̂‖₁, the logarithms of p being between ln f and 0 and the differences summing to 0.
    So E Z ≤ ½·E‖m − m̂‖₁ ≤ ½·Σ_v sqrt(m_v(1−m_v)/N) ≤ ½·sqrt((L−1)/N). Replacing a draw moves Z by at most 2/N, so by McDiarmid
    Z ≤ ½·sqrt((L−1)/N) + sqrt(2·ln(1/δ)/N).
    """
    value = 0.5 * math.sqrt((levels - 1) / samples) + math.sqrt(-2 * math.log(delta) / samples)
    return Bound(_clipped(value), f"McDiarmid's inequality for the mean law, {FIXED}")


def _logit(probability: float) -> float:
    return math.log(probability) - math.log1p(-probability)


def _clipped(value: float) -> float:
    """No utility range is exceeded, so no regret is above 1."""
    return min(1.0, value * UPWARD)
