"""What one draw from a posterior restricted to a ball costs.

b(w), the change of the log-posterior between neighbours, has range r on the ball: D_α ≤ min(r, α·r²/8). And

    D_α = 1/(α−1)·[ ∫₀¹ (α−1)u·v(u)du + ∫₁^α (α−u)·v(u)du ],   v(u) = Var_{P_u}(b),  P_u ∝ Q·e^{ub}.

P_u is log-concave on a convex set with curvature at least λ − (u−1)⁺c, so v(u) ≤ G²/(λ − (u−1)⁺c) (Brascamp and Lieb), G the
Lipschitz constant of b and c the curvature one person can take away. Integrated, with x = (α−1)c/λ ≤ 1:

    D_α ≤ G²/λ·[ ½ + (x + (1−x)·ln(1−x))/x² · (α−1) ],

finite up to x = 1 and below (α/2)·G²/(λ − (α−1)c), which takes the worst u for all of them.

*Regression*: b = τ/(2σ²)·Σ_k rows [(y'−z'ᵀw)² − (y−zᵀw)²], so r = kτ(Y+R)²/σ², c = kτ/σ², and
∇b = τ/σ²·Σ[(z'z'ᵀ − zzᵀ)w − (y'z' − yz)] with ‖z'z'ᵀ − zzᵀ‖ ≤ 1 (both lie between 0 and I): G = kτ(2Y+R)/σ², where the
product rule alone would give 2(Y+R). *Mean of a normal law*: b is linear, c = 0, and the curvature grows with n.
"""

import math

from app.core.kinds.regression.ball.ball_posterior import PublicBounds
from app.core.privacy.cost import ORDERS, Cost, inexact_kl

ROUNDING = 1 + 1e-12


def curvature_bound(order: float, lipschitz: float, lowest: float, taken: float) -> float:
    """The integrated Brascamp–Lieb bound on D_α, infinite where the curvature may be used up."""
    x = (order - 1) * taken / lowest
    if not x <= 1:
        return math.inf
    return lipschitz**2 / lowest * (0.5 + (order - 1) * _weight(x))


def _weight(x: float) -> float:
    """(x + (1−x)ln(1−x))/x² = Σ_{j≥0} x^j/((j+1)(j+2)), ½ at 0 and 1 at 1."""
    if x < 0.05:
        return math.fsum(x**j / ((j + 1) * (j + 2)) for j in range(16))
    return 1.0 if x == 1 else (x + (1 - x) * math.log1p(-x)) / x**2


def ball_draw_cost(reach: float, lipschitz: float, lowest: float, taken: float, bounds: PublicBounds) -> Cost:
    """One draw, with the sampler's declared allowance: s on both laws adds 2s(2α−1)/(α−1) to D_α, never a pure cost."""
    s = bounds.log_ratio
    curve = []
    for order in ORDERS:
        ideal = min(reach, order * reach**2 / 8, curvature_bound(order, lipschitz, lowest, taken))
        curve.append(ideal * ROUNDING + 2 * s * (2 * order - 1) / (order - 1))
    return Cost(math.inf, tuple(curve), bounds.slack_delta)


def kl_bound(reach: float, lipschitz: float, lowest: float, bounds: PublicBounds) -> float:
    """KL, the limit of D_α at α = 1, with the sampler's declared allowance."""
    ideal = min(reach, reach**2 / 8, lipschitz**2 / (2 * lowest)) * ROUNDING
    return inexact_kl(ideal, bounds.log_ratio)
