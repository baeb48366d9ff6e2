"""A normal mean of n people: their tilt is at most nγ/2, γ = 2τω the slope that one of them changes, and a few cannot tilt far.

**On a ball.** D_α = ∫₀¹ N(x)dx (`needle_bound.py`, 4), N(x) ≤ αx·V, V the largest variance of b. In 2 and 3 dimensions V ≤
γ²σ_d²e^Ω, with σ_d² from `coordinate_law.py` at the smallest curvature κ and Ω = R²/2 times what the largest is above it: the
posterior is at most e^Ω times one with curvature κ in all directions. And N ≤ sup b − E_Q b ≤ γ(R + r), ‖E_Q m‖ ≤ r: without its
tilt the posterior is even, so its mean is ∫Cov dθ times the tilt, at most nγ/2 times the largest variance of a coordinate. With
n = 1, D_∞ ≤ γR + 2Ω, which bounds D_α though not N: it is R‖a−b‖ + ψ(b) − ψ(a) for tilts a, b of size up to γ/2, ψ(c) the log of
the integral, which is within Ω of one that depends on ‖c‖ alone and has slopes between 0 and R; and ‖a−b‖ ≤ ‖a‖ + ‖b‖.

**On a line** P and Q are e^{−κt²/2+ct} at c = a and c = b:

    (α−1)·D_α = ψ(b + α(a−b)) − αψ(a) + (α−1)ψ(b).

For a ≥ b it rises with a and falls with b (ψ is convex), so a = b + γ, and −nγ/2 ≤ b; for b ≥ 0 it falls with b, since the
variances ψ'' that it is an integral of do. Between nodes of b that are δ apart, where the first and the last term are below their
chords and the second is below its chord by at most αδ²σ²/8, D_α is at most the larger end and αδ²σ²/8(α−1). For orders up to n
the worst tilt of `cost.py:tilted_bound` can be reached.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.coordinate_law import NARROW, coordinate_law, coordinate_variance
from app.core.kinds.regression.segment_variance import truncated_variance

Array = NDArray[np.float64]

STEEP = 1e3
"""c·R up to which the nodes are enough; above it ψ rises by at most R."""
CELLS = 64
ROUNDING = 1 + 1e-9


def ball_bound(
    order: float, slope: float, curvatures: tuple[float, float], ball: tuple[float, int], people: int
) -> float:
    """On D_α, for curvatures between two, on a ball of that radius and dimension."""
    (lowest, highest), (radius, dimension) = curvatures, ball
    square, excess = lowest * radius**2, (highest - lowest) * radius**2 / 2
    spread = truncated_variance(square)
    if dimension in (2, 3) and excess < 1:
        spread = min(spread, coordinate_variance(square, dimension) * math.exp(excess))
    spread *= radius**2 * ROUNDING
    cap = slope * (radius + min(radius, people * slope / 2 * spread))
    rise = order * slope**2 * spread
    bound = rise / 2 if rise <= cap else cap - cap**2 / (2 * rise)
    alone = slope * radius + 2 * excess if people == 1 else math.inf
    return min(bound, alone) * ROUNDING


def line_bound(order: float, slope: float, curvature: float, radius: float, people: int) -> float:
    """The largest D_α on a line, rounded up; infinite where it is not computed."""
    square, gamma = curvature * radius**2, slope * radius
    if not (order > people and square <= NARROW and people * gamma / 2 <= STEEP):
        return math.inf
    b = np.linspace(-people * gamma / 2, 0, CELLS + 1) if people > 1 else np.array([-gamma / 2])
    first, second, third = (_log_mean(square, tilt) for tilt in (b + order * gamma, b + gamma, b))
    found = float((first - order * second + (order - 1) * third).max())
    step = people * gamma / 2 / CELLS if people > 1 else 0.0
    # What doubles may lose: ψ is at most c, and three of them cancel.
    lost = 1e-13 * (float(np.abs(first).max()) + 2 * order * float(np.abs(second).max() + np.abs(third).max()))
    between = order * step**2 * truncated_variance(square) / 8
    return (found + between + lost) / (order - 1) * (1 + 1e-6)


def _log_mean(square: float, tilt: Array) -> Array:
    """ψ(c) − ψ(0) on [−1, 1], even in c."""
    t, mass = coordinate_law(square, 1)
    c = np.minimum(np.abs(tilt), STEEP)
    return np.asarray(np.log(np.exp(c[:, None] * (t - 1)) @ mass) + np.abs(tilt))
