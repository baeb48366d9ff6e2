"""What one draw from a posterior restricted to a ball costs: the certified divergence, and the sampler's allowance on top.

*Regression*: `needle_bound.py`, over all data and replaced rows. The range of b, the change of the log-posterior between
neighbours, is kτ/σ² times `loss_range`: 4YR for R ≤ Y, (Y+R)² above.

*Mean of a normal law*: b is linear and the curvature public, so the segment of `needle_bound.py` has density e^{−κt²/2+ct} on
|t| ≤ R with one κ and b = γt. With ψ(c) = log of its integral, (α−1)D_α = ∫w(u)·γ²ψ''(c+uγ)du, w a triangle on [0, α]; ψ'' is
symmetric and decreasing in |c| (`segment_variance.py`), so rearranging w symmetrically around c = 0 can only add (Riesz):

    D_α ≤ γ²·∫_{|x|≤α/2} (1 − 2|x|/α)·ψ''(γx)dx = (4/α)·[ψ(αγ/2) − ψ(0)].

It is αγ²σ²/2 for small γ and the range 2γR in the end. KL is the same at α = 1.
"""

import math

from app.core.kinds.regression.ball.ball_posterior import PublicBounds
from app.core.kinds.regression.segment_variance import truncated_variance
from app.core.privacy.cost import ORDERS, Cost

ROUNDING = 1 + 1e-9


def tilted_bound(order: float, slope: float, curvature: float, radius: float) -> float:
    """(4/α)·[ψ(αγ/2) − ψ(0)] for γ = `slope`, κ = `curvature` > 0, rounded up."""
    tilt, square = order * slope / 2, curvature * radius**2
    # ψ(c) ≤ c²σ²/2 always, and to a twentieth where c·R ≤ 1, where the closed form would cancel.
    bound = tilt**2 * radius**2 * truncated_variance(square) / 2
    if tilt * radius > 1:
        bound = min(bound, _log_mean_exponential(tilt * radius, square))
    return min(4 / order * bound * ROUNDING, 2 * slope * radius)


def _log_mean_exponential(tilt: float, curvature: float) -> float:
    """log E e^{ct} for density e^{−κt²/2} on [−1, 1]: c²/2κ + log[Φ(√κ−c/√κ) − Φ(−√κ−c/√κ)] − log[2Φ(√κ)−1]."""
    from scipy.special import log_ndtr

    if curvature < 1e-5 * tilt:  # flat: a little more, and nothing cancels
        return tilt + math.log(-math.expm1(-2 * tilt) / (2 * tilt))
    root = math.sqrt(curvature)
    upper, lower = float(log_ndtr(root - tilt / root)), float(log_ndtr(-root - tilt / root))
    inside = upper + math.log(-math.expm1(lower - upper))
    return tilt**2 / (2 * curvature) + inside - math.log(math.erf(root / math.sqrt(2)))


def draw_cost(curve: tuple[float, ...], bounds: PublicBounds) -> Cost:
    """One draw, with the sampler's declared allowance: s on both laws adds 2s(2α−1)/(α−1) to D_α, never a pure cost."""
    s = bounds.log_ratio
    allowed = (ideal + 2 * s * (2 * order - 1) / (order - 1) for ideal, order in zip(curve, ORDERS, strict=True))
    return Cost(math.inf, tuple(allowed), bounds.slack_delta)
