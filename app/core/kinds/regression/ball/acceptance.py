"""A public lower bound on how often the tilted sampler accepts, over all data, and the cap on proposals it allows.

Units of the radius: the ball is ‖u‖ ≤ 1, the target ∝ exp(−½uᵀΛu + bᵀu), Λ ⪰ λI. The proposal has precision S⁻¹ = Λ + 2κI;
V = ‖u‖² and D = V − 1 under it; the chance of acceptance is p = E[1{D ≤ 0}·e^{κD}].

1. p(κ) = Z·exp(−F(κ)), F(κ) = κ + log ∫ exp(−½uᵀ(Λ+2κI)u + bᵀu)du, F convex, F' = 1 − E V: the κ with E V = 1 is the best.
   A κ off by a relative ξ loses a factor e^{−ξ²κ} at most, since F'' = Var V ≤ 4/(2κ) nearby: hence `ROOT_LOSS`.
2. Cumulants: Var V = Σ(2s⁴ + 4m²s²) over the axes of S, with s² ≤ 1/(2κ+λ) and Σ(s² + m²) = E V = 1, so
   κ·sd(V) ≤ 2κ/√(2κ+λ) ≤ √(2κ). The fourth cumulant Σ(48s⁸ + 192m²s⁶) ≤ 12·(Var V)², so E D⁴ ≤ 15·(Var V)².
3. {(u, v): ‖u‖² ≤ v} is convex, so G(v) = P(V ≤ v) is log-concave (Prékopa). Jensen: log G(E V) ≥ E log G(V) = −1, as G(V) is
   uniform: P(D ≤ 0) ≥ 1/e. If κ = 0 this is p already.
4. For every x, 1{x > 0} ≥ (4/9)(2√3−3)·(2t + 3t² − t⁴), t = x/v (for t = −y < 0 it is −y(y−1)²(y+2) ≤ 0; for t > 0 its top is 1,
   at t = (1+√3)/2). With v² = 10·Var V: P(D > 0) ≥ q = (2√3−3)/15.
5. Slope: with D in units of its sd and c⁴ = 75/q, P(D ≤ c) ≥ 1 − 15/c⁴ and P(D ≤ 0) ≤ 1 − q, so log G rises from 0 to c by at
   least hc, h = ln((1 − q/5)/(1 − q))/c; being concave it falls at least as fast to the left: G(−t) ≤ G(0)·e^{−ht}.
6. p = E[G(0) − G(−T)] for T exponential of rate κ (by parts) ≥ G(0)·h/(κ·sd + h) ≥ e⁻¹/(1 + √(2κ)/h).

κ itself is bounded: ‖b‖²/x² + d/x ≥ 1 at x = 2κ + λ gives 2κ ≤ d + ‖b‖. The true worst case is about 0.4/√(2κ), some
hundreds of times better; the cap only has to be finite, public and never met.
"""

import math

from app.errors import InvalidModel

FAILURE = 2.0**-40
PROPOSALS_MAX = 2**33
ROOT_LOSS = 0.99
POSITIVE = (2 * math.sqrt(3) - 3) / 15
_REACH: float = (75 / POSITIVE) ** 0.25
SLOPE: float = math.log((1 - POSITIVE / 5) / (1 - POSITIVE)) / _REACH


def acceptance_bound(tilt: float) -> float:
    """A chance p is never below, if the κ of step 1 is at most `tilt`."""
    return ROOT_LOSS * math.exp(-1) / (1 + math.sqrt(2 * tilt) / SLOPE)


def tilt_bound(dimension: int, linear_norm: float) -> float:
    """κ in units of the radius, from the longest b the data can make."""
    return (dimension + linear_norm) / 2


def proposals_cap(dimension: int, linear_norm: float) -> int:
    """Proposals a sample may use so that all fail with probability at most 2⁻⁴⁰: (1−p)^c ≤ e^{−pc}."""
    p = acceptance_bound(tilt_bound(dimension, linear_norm))
    cap = math.ceil(-math.log(FAILURE) / p)
    if not cap <= PROPOSALS_MAX:
        raise InvalidModel(
            "model.radius",
            "less, or a larger noise_sd or a lower temperature: the exact sampler may need too many proposals here",
        )
    return cap
