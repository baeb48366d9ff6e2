"""One row's T as it is summed, clipped to its bounds and rounded to its lattice: how often it is clipped, and three moments.

On short lattices every probability is a difference of distribution functions. On long ones moments of the clipped T are put
together from partial ones, E[Tᵖ; T ≤ c], which every family has in closed form,

    gamma               Γ(a+p)/Γ(a)·θ^{−p}·P(Gamma(a+p, θ) ≤ c)
    poisson             E[T(T−1)…(T−p+1); T ≤ c] = θᵖ·P(T ≤ c−p)
    negative binomial   the same = Γ(r+p)/Γ(r)·((1−θ)/θ)ᵖ·P(NegBin(r+p, θ) ≤ c−p)
    normal              by the recursion m_p = (p−1)·m_{p−2} − z^{p−1}·φ(z) of a standard one

and rounding adds a twelfth of a step squared to the variance.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.grids.sum_laws import SumLaw
from app.core.kinds.one_parameter.predictive import statistic_at_most

Array = NDArray[np.float64]
Moments = tuple[Array, Array, Array]
"""Mean, variance and third central moment."""

SHORT = 1_024
SKEW_MIN, SKEW_MAX = 1e-5, 1.5
_PROBES = 513


@dataclass(frozen=True, slots=True)
class ClippedRow:
    """In lattice steps, at any θ; interpolated in φ where sums over the lattice would take long."""

    at: Callable[[Array, Array], Moments] = field(repr=False)
    """(φ, θ) → moments."""
    clipped: Callable[[Array], Array] = field(repr=False)
    """θ → the probability of being clipped."""
    rounded: bool
    """Whether rounding shows: a continuous T on a short lattice."""


def clipped_row(model: NaturalModel, phi: Array, theta_of: Callable[[Array], Array]) -> ClippedRow:
    """`phi` are the ends of the range that will be asked about."""
    if model.sums.kind == "binomial":
        return ClippedRow(lambda _, theta: _binomial(model.sums, theta), np.zeros_like, rounded=False)
    short = model.statistic.steps <= SHORT
    rounded = short and not model.sums.discrete
    if not short:
        return ClippedRow(lambda _, theta: _closed(model, theta), lambda theta: clipped_share(model, theta), rounded)
    probes = np.linspace(phi[0], phi[1], _PROBES + 2)[1:-1]
    splines = _splines(probes, _summed(model, theta_of(probes)))
    return ClippedRow(lambda where, _: splines(where), lambda theta: clipped_share(model, theta), rounded)


def clipped_share(model: NaturalModel, theta: Array) -> Array:
    """P(T beyond its bounds | θ)."""
    request, law = model.statistic, model.sums
    above = 1 - statistic_at_most(law, theta, request.upper)
    if law.discrete:
        return above + statistic_at_most(law, theta, request.lower - 1)
    return above + statistic_at_most(law, theta, request.lower) * (request.lower > 0 or law.kind == "normal")


def _binomial(law: SumLaw, theta: Array) -> Moments:
    """Never clipped."""
    variance = law.sd(theta, 1) ** 2
    return law.mean(theta, 1), variance, variance * (1 - 2 * theta)


def _summed(model: NaturalModel, theta: Array) -> Moments:
    """Over every point j of the lattice: P(j) = F((j+½) steps) − F((j−½) steps), all beyond the ends counted there."""
    request, law = model.statistic, model.sums
    j = np.arange(request.steps + 1, dtype=np.float64)
    half = 0.0 if law.discrete else 0.5
    ends = request.lower + request.step * (j[:-1] + half)
    below = statistic_at_most(law, theta[:, None], ends[None, :])
    below = np.concatenate([np.zeros((len(theta), 1)), below, np.ones((len(theta), 1))], axis=1)
    mass = np.diff(below, axis=1)
    mean = mass @ j
    away = j[None, :] - mean[:, None]
    return mean, (mass * away**2).sum(axis=1), (mass * away**3).sum(axis=1)


def _splines(probes: Array, moments: Moments) -> Callable[[Array], Moments]:
    from scipy.interpolate import CubicSpline  # loaded when first needed

    tiny = 1e-12
    mean, spread = CubicSpline(probes, moments[0]), CubicSpline(probes, np.log(moments[1] + tiny))
    skew = CubicSpline(probes, moments[2] / (moments[1] + tiny) ** 1.5)

    def at(phi: Array) -> Moments:
        inside = phi.clip(probes[0], probes[-1])
        variance = np.exp(spread(inside))
        return mean(inside), variance, skew(inside) * variance**1.5

    return at


def _closed(model: NaturalModel, theta: Array) -> Moments:
    request, law = model.statistic, model.sums
    if law.kind == "normal":
        centre, unit = theta, law.size
    else:
        centre, unit = np.zeros_like(theta), 1.0
    low, high = (request.lower - centre) / unit, (request.upper - centre) / unit
    under = statistic_at_most(law, theta, request.lower - (1 if law.discrete else 0))
    over = 1 - statistic_at_most(law, theta, request.upper)
    raw = []
    for power in (1, 2, 3):
        inside = _partial(law, theta, high, power) - _partial(law, theta, low - (1 if law.discrete else 0), power)
        raw.append(low**power * under + inside + high**power * over)
    mean, second, third = raw
    variance = np.maximum(second - mean**2, 0.0)
    skewed = third - 3 * mean * second + 2 * mean**3
    scale = unit / request.step
    rounding = 0.0 if law.discrete else 1 / 12
    return (centre + unit * mean - request.lower) / request.step, variance * scale**2 + rounding, skewed * scale**3


def _partial(law: SumLaw, theta: Array, bound: Array, power: int) -> Array:
    """E[Tᵖ; T ≤ bound]; of the standardised T for the normal."""
    from scipy import special

    match law.kind:
        case "gamma":
            rising = math.prod(law.size + i for i in range(power))
            return np.asarray(rising * theta**-power * special.gammainc(law.size + power, theta * np.maximum(bound, 0)))
        case "normal":
            density = np.exp(-(bound**2) / 2) / math.sqrt(2 * math.pi)
            first = -density
            if power == 1:
                return np.asarray(first)
            if power == 2:
                return np.asarray(special.ndtr(bound) - bound * density)
            return np.asarray(2 * first - bound**2 * density)
        case _:
            falling = [_falling(law, theta, bound, p) for p in range(1, power + 1)]
            if power == 1:
                return falling[0]
            if power == 2:
                return falling[1] + falling[0]
            return falling[2] + 3 * falling[1] + falling[0]


def _falling(law: SumLaw, theta: Array, bound: Array, power: int) -> Array:
    """E[T(T−1)…(T−p+1); T ≤ bound]."""
    if law.kind == "poisson":
        return theta**power * statistic_at_most(law, theta, bound - power)
    rising = math.prod(law.size + i for i in range(power))
    more = SumLaw("negative_binomial", law.size + power)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.nan_to_num(rising * ((1 - theta) / theta) ** power * statistic_at_most(more, theta, bound - power))


def log_three_moments(totals: Array, mean: Array, variance: Array, third: Array) -> Array:
    """The log density of a shifted gamma law with these moments, Pearson's third kind; a row of totals for each of them.

    Exact for sums of gammas and of normals; for others what is left out is of the order of one over the number of rows.
    """
    from scipy.special import gammaln

    sd = np.sqrt(variance)
    skew = (third / sd**3).clip(-SKEW_MAX, SKEW_MAX)
    skew = np.where(np.abs(skew) < SKEW_MIN, SKEW_MIN, skew)
    shape = 4 / skew**2
    constant = np.where(
        shape > 1e6, -0.5 * math.log(2 * math.pi), (shape - 0.5) * np.log(shape) - shape - gammaln(shape)
    )
    z = np.sign(skew)[:, None] * (totals - mean[:, None]) / sd[:, None]
    root = np.sqrt(shape)[:, None]
    inside = z > -root
    ratio = np.where(inside, z / root, 0.0)
    value = (shape[:, None] - 1) * np.log1p(ratio) - root * z + (constant - np.log(sd))[:, None]
    return np.where(inside, value, -np.inf)
