"""What one draw from a posterior restricted to a ball costs: the certified divergence, and the sampler's allowance on top.

*Regression*: the least of seven. `needle_bound.py`, over all data and replaced rows; `reachable_bound.py`, over those of n
people; `outward_bound.py`, by how far out these can put the weights; `one_row_bound.py`, of one row; `wide_ball_bound.py`,
of few people in a wide ball; `one_weight_bound.py`, the supremum itself for one weight; and, for a prior narrow beside the
ball: P_u has curvature at least λ − (u−1)⁺c, so Var_u(b) ≤ G²/(λ − (u−1)⁺c) (Brascamp and Lieb), c = kτ/σ² the curvature
one person can take away and G the Lipschitz constant of b, the change of the log-posterior between neighbours: ∇b =
τ/σ²·Σ[(z'z'ᵀ − zzᵀ)w − (y'z' − yz)] with ‖z'z'ᵀ − zzᵀ‖ ≤ 1, so G = kτ(2Y+R)/σ². Integrated, with x = (α−1)c/λ ≤ 1: D_α ≤
G²/λ·[½ + (x + (1−x)·ln(1−x))/x² · (α−1)]. The range of b is kτ/σ² times `loss_range`: 4YR for R ≤ Y, (Y+R)² above.

*Mean of a normal law*: b is linear and the curvature public, so the segment of `needle_bound.py` has density e^{−κt²/2+ct} on
|t| ≤ R with one κ and b = γt. With ψ(c) = log of its integral, (α−1)D_α = ∫w(u)·γ²ψ''(c+uγ)du, w a triangle on [0, α]; ψ'' is
symmetric and decreasing in |c| (`segment_variance.py`), so rearranging w symmetrically around c = 0 can only add (Riesz):

    D_α ≤ γ²·∫_{|x|≤α/2} (1 − 2|x|/α)·ψ''(γx)dx = (4/α)·[ψ(αγ/2) − ψ(0)].

It is αγ²σ²/2 for small γ and the range 2γR in the end. KL is the same at α = 1.
"""

import math

from app.core.kinds.regression.ball.ball_posterior import PublicBounds
from app.core.kinds.regression.needle_bound import divergence_bounds
from app.core.kinds.regression.one_row_bound import one_row_bounds
from app.core.kinds.regression.one_weight_bound import one_weight_bounds
from app.core.kinds.regression.outward_bound import outward_bounds
from app.core.kinds.regression.reachable_bound import reachable_bounds
from app.core.kinds.regression.segment_variance import truncated_variance
from app.core.kinds.regression.wide_ball_bound import wide_ball_bounds
from app.core.privacy.cost import ORDERS, Cost

ROUNDING = 1 + 1e-9


def regression_divergences(
    orders: tuple[float, ...], strength: float, rows: int, unit_rows: int, prior: float, radius: float, dimension: int
) -> tuple[float, ...]:
    """The least of the bounds on D_α (KL at order 1) over all data; `strength` τ/σ², `rows` in all, targets of size 1."""
    taken, several = unit_rows * strength, unit_rows > 1
    bounds = [
        divergence_bounds(orders, taken, prior, radius, dimension),
        tuple(curvature_bound(order, taken * (2 + radius), prior, taken) for order in orders),
        reachable_bounds(orders, taken, rows * strength, prior, radius, dimension, several),
    ]
    if rows == 1:
        bounds.append(one_row_bounds(orders, taken, prior, radius, dimension))
    known = tuple(map(min, *bounds))
    if not several:
        wide = wide_ball_bounds(orders, known, strength, rows * strength, prior, radius, dimension)
        known = tuple(map(min, known, wide))
    if dimension == 1:
        return tuple(map(min, known, one_weight_bounds(orders, known, taken, rows * strength, prior, radius)))
    outward = outward_bounds(orders, known, taken, rows * strength, prior, radius, dimension, several)
    return tuple(map(min, known, outward))


def curvature_bound(order: float, lipschitz: float, lowest: float, taken: float) -> float:
    """The integrated Brascamp–Lieb bound on D_α, infinite where the curvature may be used up; on KL at order 1."""
    x = (order - 1) * taken / lowest
    if not x <= 1:
        return math.inf
    return lipschitz**2 / lowest * (0.5 + (order - 1) * _weight(x)) * ROUNDING


def _weight(x: float) -> float:
    """(x + (1−x)ln(1−x))/x² = Σ_{j≥0} x^j/((j+1)(j+2)), ½ at 0 and 1 at 1."""
    if x < 0.05:
        return math.fsum(x**j / ((j + 1) * (j + 2)) for j in range(16))
    return 1.0 if x == 1 else (x + (1 - x) * math.log1p(-x)) / x**2


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
