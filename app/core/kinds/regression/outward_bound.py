"""How far from the middle few people can put the weights, and what that leaves of the divergence.

**Lemma.** On the ball ‖w‖ ≤ R, under e^{−λ‖w‖²/2} and rows of strengths sᵢ ≥ 0, together T, with targets of size 1, the density f
of a coordinate t = eᵀw has

    t·f'(t) ≤ (T/4 − λt²)·f(t).

Let w = te + v, A = Σsᵢzᵢzᵢᵀ with blocks A₁₁, A₁₂, A₂₂ and a = Σsᵢzᵢyᵢ. As |t| grows the section |v| ≤ √(R²−t²) shrinks, which
only lowers f; for the rest t·(log f)' = −(λ+A₁₁)t² + a₁t − tA₁₂ᵀE v. The section is even, so E v = M(a₂ − tA₁₂), M the mean of the
covariances as the tilt goes from 0 to that: 0 ≤ M ≤ (λ+A₂₂)⁻¹ (Brascamp and Lieb), hence MA₂₂M ≤ M. With x = t·(e − MA₁₂) then xᵀAx ≤
t²(A₁₁ − A₁₂ᵀMA₁₂) and aᵀx = t(a₁ − A₁₂ᵀMa₂), so t·(log f)' + λt² ≤ aᵀx − xᵀAx = Σsᵢ·zᵢᵀx·(yᵢ − zᵢᵀx) ≤ Σsᵢyᵢ²/4.

So |t| is stochastically at most a law G_T ∝ t^{T/4}·e^{−λt²/2} on [0, R]: the ratio of the densities of |t| falls. (‖w‖ itself is below
G_{T+4(d−1)}: ρ^{d−1}·∫e^{−E(ρω)}dω changes with log ρ by d − 1 − wᵀ∇E, which is at most d − 1 + T/4 − λρ².)

**Divergence.** In the notation of `needle_bound.py`, b = s(f' − f), and P₀ without the row that changes,

    D_α = log E_P e^{(α−1)b}/(α−1) + log E_P e^{−b},     E_P e^{−b} = E_{P₀}e^{−sf'}/E_{P₀}e^{−sf} ≤ 1/E_{P₀}e^{−sf}.

b ≤ sf' ≤ s(1+|t|)²/2 with t along z', and sf ≤ s(1+|t|)²/2 with t along z. Both rise with |t|, so

    D_α ≤ log E_{G_T}e^{(α−1)s(1+t)²/2}/(α−1) − log E_{G_{T−s}}e^{−s(1+t)²/2},    KL with the mean of s(1+t)²/2 for the first.

Of k rows a person, counted in s, b is at most the mean of k such terms and e^{(α−1)b} the mean of k exponentials; for the second ‖w‖
stands in for |t|.

Expectations are sums over cells, every factor at its end that is on the safe side.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CELLS = 1_500
"""Even ones, and as many that are fine next to R and to 0."""
ROUNDING = 1 + 1e-9


@lru_cache(maxsize=512)
def outward_bounds(
    orders: tuple[float, ...],
    strength: float,
    total: float,
    prior: float,
    radius: float,
    dimension: int,
    several: bool = False,
) -> tuple[float, ...]:
    """Upper bounds of D_α (KL at order 1) where all rows together have strength `total`, targets of size 1."""
    ends = _ends(radius, prior)
    low, high = ends[:-1], ends[1:]
    loss_low, loss_high = (strength * (1 + each) ** 2 / 2 for each in (low, high))
    others = max(total - strength, 0.0) / 4 + (dimension - 1 if several else 0)
    least, most = _log_masses(low, high, others, prior)
    left = _log_sum(most) - _log_sum(least - loss_high)
    least, most = _log_masses(low, high, max(total, strength) / 4, prior)
    whole, found = _log_sum(least), []
    for order in orders:
        if order == 1:
            first = float(np.exp(most - whole) @ loss_high)
        else:
            first = (_log_sum(most + (order - 1) * loss_high) - whole) / (order - 1)
        found.append((min(first, float(loss_high[-1])) + left) * ROUNDING)
    return tuple(found)


def _ends(radius: float, prior: float) -> Array:
    """Even over the ball, and over where the prior has its mass."""
    near = min(radius, 12 / math.sqrt(prior))
    return np.unique(np.concatenate([np.linspace(0, each, CELLS + 1) for each in (near, radius)]))


def _log_masses(low: Array, high: Array, power: float, prior: float) -> tuple[Array, Array]:
    """Of t^power·e^{−λt²/2} in cells, no more and no less, both in units of the same."""
    share = np.where(low > 0, low, 0.0) / high
    mass = (power + 1) * np.log(high / high[-1]) + np.log1p(-(share ** (power + 1)))
    return mass - prior * high**2 / 2, mass - prior * low**2 / 2


def _log_sum(values: Array) -> float:
    top = float(values.max())
    return top + math.log(float(np.exp(values - top).sum()))
