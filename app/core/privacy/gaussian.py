"""What Gaussian noise on whole numbers promises by its own law, not through one Rényi order.

**One release.** Two unit normals whose means lie μ apart satisfy (ε, δ) exactly where (Balle and Wang 2018, Theorem 8)

    δ(ε; μ) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ),                                                                    (1)

in both directions. A mechanism no easier to tell apart than these is μ-GDP (Dong, Roth and Su 2022).

**Adaptive releases.** Let every release add normal noise and let Σ μᵢ² ≤ μ² on every path, each μᵢ chosen after seeing what
came before. The whole is μ-GDP (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2022). Why: the likelihood ratio of a
release depends on its output only through the projection on the shift, which, scaled by μᵢ, is the increment over a time μᵢ²
of a Brownian motion with drift 0 or 1. Choosing the next μᵢ is choosing when to look again. All looks together happen before
the time μ² fixed in advance, so they are a function of the path up to μ²; of that path its end, N(0, μ²) or N(μ², μ²), tells
everything, and (1) is its law. Nothing here is a supremum over orders, and nothing depends on when the run stops.

**Discrete noise.** The sampler draws N_ℤ(x, S²): P(z) ∝ exp(−(z−x)²/2S²) on ℤ, for a whole x. That is, nearly, continuous
noise rounded at random. Take y ~ N(x, S² − r²), then z from N_ℤ(y, r²). With g(y) = Σ_z φ_r(z − y),

    P(z) = ∫ φ_{√(S²−r²)}(y − x)·φ_r(z − y)/g(y) dy,     |g(y) − 1| ≤ e_r = 2·Σ_{k≥1} exp(−2π²r²k²)   (Poisson summation),

so P(z) is within [1/(1+e_r), 1/(1−e_r)] of φ_S(z − x), and N_ℤ(x, S²) within [1/(1+e_r), 1] of that, for S ≥ r. Each
coordinate's law is within e^{±τ}, τ ≤ 3·e_r, of a function of normal noise of sd √(S²−r²), whatever x is: shifts m_j count as
Σ m_j²/(S_j² − r²). For r = 2, τ < 4·10⁻³⁴. Over 10²⁰ coordinates, more than any account can hold, ratios of probabilities move
by e^{±2T}, T < 4·10⁻¹⁴, and δ by e^T: `SPARE` takes more than that from ε and δ before (1) is solved. For S ≥ 256 in every
coordinate, 1/(S² − r²) ≤ 1/(S²·(1 − KAPPA)): a release of ρ = ½·Σ m_j²/S_j² has μ² = 2ρ/(1 − KAPPA). Below 256 the
filter is not offered.
"""

import math
from functools import lru_cache
from typing import Any

ROUNDING_SD = 2.0
SCALE_MIN = 256.0
"""In steps of the lattice; today's mechanisms have at least 600 at the largest ε they take."""
KAPPA = (ROUNDING_SD / SCALE_MIN) ** 2
SPARE = 1e-12
_DIGITS = 50
_NEAR = 1e-18
_ULPS = 1e-15
"""More than the few operations in doubles after the root is found can be wrong by, relatively."""


@lru_cache(maxsize=4096)
def gaussian_capacity(epsilon: float, delta: float) -> float:
    """The largest Σρ of discrete Gaussian releases, chosen adaptively, that is (ε, δ); 0 where none is. Rounded down."""
    if not (delta > 0 and epsilon >= 0):
        return 0.0
    mp = _precise()
    spared = mp.mpf(max(0.0, epsilon - SPARE))
    goal = mp.log(mp.mpf(delta) * (1 - mp.mpf(SPARE)))

    def over(log_mu: Any) -> Any:
        return mp.log(_delta(mp, spared, mp.exp(log_mu))) - goal

    low = high = mp.log(mp.mpf(0.25 * max(epsilon, delta)))
    while over(low) > 0:
        low -= 1
    while over(high) <= 0:
        high += 1
    mu = float(mp.exp(_bracket(over, low, high)[0]))
    return mu * mu / 2 * (1 - KAPPA) * (1 - 2 * _ULPS)


@lru_cache(maxsize=4096)
def gaussian_epsilon(rho: float, delta: float) -> float:
    """The smallest ε that discrete Gaussian releases of this Σρ satisfy at δ, rounded up; infinite without any δ."""
    if rho == 0:
        return 0.0
    if not (delta > 0 and rho < math.inf):
        return math.inf
    mp = _precise()
    mu = mp.mpf(gdp_mu(rho))
    goal = mp.log(mp.mpf(delta) * (1 - mp.mpf(SPARE)))
    if mp.log(_delta(mp, mp.mpf(0), mu)) <= goal:
        return SPARE

    def under(epsilon: Any) -> Any:
        return goal - mp.log(_delta(mp, epsilon, mu))

    high = mu * mu / 2 + mu
    while under(high) < 0:
        high *= 2
    return float(_bracket(under, mp.mpf(0), high)[1]) * (1 + _ULPS) + 2 * SPARE


def gdp_mu(rho: float) -> float:
    """μ of discrete Gaussian releases of this Σρ whose noise is at least `SCALE_MIN` steps, rounded up."""
    return math.sqrt(2 * rho / (1 - KAPPA)) * (1 + _ULPS)


def gdp_mu_of_pure(epsilon: float) -> float:
    """The smallest μ for which every ε-private mechanism is μ-GDP: 2·Φ⁻¹(e^ε/(1 + e^ε)), rounded up.

    Its errors lie above max(1 − e^ε·x, e^{−ε}(1 − x)), two segments that meet at x = 1/(1 + e^ε). The curve of μ is convex
    and joins the same ends, so it lies below both as soon as it passes through or under that corner, Φ(−μ/2) ≤ 1/(1 + e^ε).
    """
    if epsilon == 0:
        return 0.0
    from scipy.special import ndtri_exp  # by its logarithm, so that no large ε rounds to certainty

    log_corner = -epsilon - math.log1p(math.exp(-epsilon))
    return float(-2 * ndtri_exp(log_corner)) * (1 + 1e-9)


def _delta(mp: Any, epsilon: Any, mu: Any) -> Any:
    """(1), by upper tails: Φ(−x) = erfc(x/√2)/2."""
    root = mp.sqrt(2)
    return (mp.erfc((epsilon / mu - mu / 2) / root) - mp.exp(epsilon) * mp.erfc((epsilon / mu + mu / 2) / root)) / 2


def _bracket(rises: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Where `rises` passes 0: the last argument known to be at or below, and the first above. Secants, halving every third
    time, so that both ends close in."""
    below, above = rises(low), rises(high)
    for turn in range(400):
        if high - low <= _NEAR * abs(high):
            break
        share = below / (below - above) if turn % 3 != 2 else 0.5
        middle = low + (high - low) * min(max(share, 1e-3), 1 - 1e-3)
        found = rises(middle)
        if found <= 0:
            low, below = middle, found
        else:
            high, above = middle, found
    return low, high


def _precise() -> Any:
    import mpmath

    context = mpmath.MPContext()
    context.dps = _DIGITS
    return context
