"""The largest variance of γt + βt² on a segment, over every law e^{−κt²/2+ct} on a part of it: a certified table.

**Of t.** For t, t' independent on a segment with middle 0, x = (t−t')/√2 and y = (t+t')/√2: given y, x has density e^{−κx²/2}
on |x| ≤ ℓ − |y|, and |y| one ∝ e^{−κy²/2}·(…)·cosh(√2cy), stochastically increasing in |c|. So Var t = E x² falls with |c|;
S(κ), that of e^{−κt²/2} on [−1, 1], is the largest there, decreases in κ, and is larger than on any part.

**On [−1, 1].** w(γ, β) = sup_c sd(γt + βt²) is a norm, even in γ and in β (mirror t and c), hence increasing in |γ| and |β|.
Since Cov(t, t²) = d/dc E t² ≥ 0 for c ≥ 0 (|t| grows with cosh ct), γ, β ≥ 0 need c ≥ 0 only. As a function of c the variance
f has f'' = κ(b, b, t, t) = E b̃²t̃² − Var b·Var t − 2Cov(b, t)² ≥ −3S·f: between nodes δ apart it is at most the larger end's
over 1 − 3Sδ²/8, and between nodes of κ, where f'' = ¼κ(b, b, t², t²), over 1 − 3·Var t²·δ²/32. From the last node of c on f ≤
(γ + 2β)²·Var t, which falls.

**On parts.** One of half-length T has its middle at m, |m| ≤ 1 − T: there γ + 2βm and β on [−T, T], so (γ + 2β(1−T))T, βT²
and κT² on [−1, 1], all taken at their worst in cells of T. This supremum decreases in κ: a law of curvature κ' > κ is one of
curvature κ times a log-concave function, and "Var b ≤ V", ∫F(b²−V)·∫F ≤ (∫Fb)² with b shifted so that b² ≥ V, is decided by
needles (`needle_bound.py`, 1).

Where κ is too large or too negative to tabulate: sd ≤ γ·sd t + β·sd t², with Var t² ≤ 4/κ (Brascamp and Lieb), ≤ ¼, and,
being 2E x²y² ≤ 2·sup (√2−ℓ)²ℓ²S(κℓ²), ≤ ½S(2κ) for κ ≤ 0 and 1/6 for κ ≥ 0.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int64]

ROUNDING = 1 + 1e-9
STEP, END = 0.02, 24.0
NODES = int(2 * END / STEP)
ANGLES = 48
ANGLE_STEP = math.pi / 2 / ANGLES
CURVATURE_LOW, CURVATURE_HIGH = -40.0, 300.0
PARTS = 80
LOSS = 0.005
"""What the steps in c may add."""


def largest_variance(curvature: Array, linear: Array, quadratic: Array) -> Array:
    """Of γt + βt² on parts of [−1, 1], γ = `linear` and β = `quadratic` ≥ 0, rounded up to the table."""
    angle = np.floor(np.arctan2(quadratic, linear) / ANGLE_STEP - 1e-6).astype(np.int64)
    entry = _table()[np.clip(angle, 0, ANGLES - 1), _place(curvature)]
    return np.asarray((linear**2 + quadratic**2) * entry)


def _place(curvature: Array) -> Places:
    """The last node that is not above: the table decreases along κ."""
    return np.clip(np.floor((np.arcsinh(curvature) + END) / STEP - 1e-6).astype(np.int64), 0, NODES - 1)


@lru_cache(maxsize=1)
def _table() -> Array:
    """(angles, nodes): for unit (γ, β) at angles up to the next; the first node stands for all below."""
    nodes, variance = _nodes(), _node_variances()
    angles = ANGLE_STEP * np.arange(ANGLES + 1)
    linear, quadratic = np.cos(angles[:-1]), np.sin(angles[1:])
    square = np.array([truncated_variance(float(2 * x)) / 2 for x in np.minimum(nodes, 0.0)])
    square = np.minimum(np.minimum(square, 0.25), 4 / np.maximum(nodes, 1e-300)) * ROUNDING
    square[0] = 0.25
    crude = (np.multiply.outer(quadratic, np.sqrt(square)) + np.multiply.outer(linear, np.sqrt(variance))) ** 2
    inside = np.flatnonzero((nodes >= CURVATURE_LOW) & (nodes <= CURVATURE_HIGH))
    at_nodes = np.array(
        [_over_tilts(float(nodes[j]), float(variance[j]), linear, quadratic) for j in (*inside, inside[-1] + 1)]
    ).T
    between = 1 - 3 / 32 * square[inside] * np.diff(nodes[inside[0] : inside[-1] + 2]) ** 2
    whole = crude.copy()
    whole[:, inside] = np.minimum(whole[:, inside], np.maximum(at_nodes[:, 1:], at_nodes[:, :-1]) / between)
    whole = np.maximum.accumulate(whole[:, ::-1], axis=1)[:, ::-1]  # for every κ from a node on
    crude[:, inside] = np.minimum(crude[:, inside], _over_parts(whole, nodes[inside], linear, quadratic))
    return np.asarray(crude)


def _over_tilts(curvature: float, largest: float, linear: Array, quadratic: Array) -> Array:
    """sup_c of the variance on the whole of [−1, 1], for every angle."""
    last = max(curvature, 0.0) + 2 * math.sqrt(max(curvature, 0.0)) + 12
    step = math.sqrt(8 * LOSS / (3 * largest))
    tilts = np.linspace(0, last, math.ceil(last / step) + 1)[:, None]
    t, weight = _legendre()
    logs = tilts * (t - 1) - curvature * (t**2 - (1 if curvature < 0 else 0)) / 2
    share = weight * np.exp(logs - logs.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    one, two = share @ t, share @ t**2
    t_centred, square_centred = t - one[:, None], t**2 - two[:, None]
    parts = [(share * left * right).sum(axis=1) for left, right in
             ((t_centred, t_centred), (t_centred, square_centred), (square_centred, square_centred))]  # fmt: skip
    found = (
        np.multiply.outer(linear**2, parts[0])
        + 2 * np.multiply.outer(linear * quadratic, parts[1])
        + np.multiply.outer(quadratic**2, parts[2])
    ).max(axis=1) / (1 - LOSS)
    return np.asarray(np.maximum(found, (linear + 2 * quadratic) ** 2 * parts[0][-1]) * (1 + 1e-6))


def _over_parts(whole: Array, nodes: Array, linear: Array, quadratic: Array) -> Array:
    """sup over T in cells, from what holds on the whole of [−1, 1]."""
    best = np.zeros((len(linear), len(nodes)))
    for low, high in zip(np.arange(PARTS) / PARTS, np.arange(1, PARTS + 1) / PARTS, strict=True):
        gamma, beta = (linear + 2 * quadratic * (1 - low)) * high, quadratic * high**2
        angle = np.floor(np.arctan2(beta, gamma) / ANGLE_STEP - 1e-6).astype(np.int64)
        place = _place(np.where(nodes >= 0, nodes * low**2, nodes * high**2))
        value = (gamma**2 + beta**2)[:, None] * whole[np.clip(angle, 0, ANGLES - 1)][:, place]
        best = np.maximum(best, value)
    return best


@lru_cache(maxsize=1)
def _legendre() -> tuple[Array, Array]:
    t, weight = np.polynomial.legendre.leggauss(160)
    return np.asarray(t), np.asarray(weight)


def truncated_variances(curvature: Array) -> Array:
    """S(κ), rounded up to the table's nodes."""
    return np.asarray(_node_variances()[_place(curvature)])


@lru_cache(maxsize=1)
def _node_variances() -> Array:
    """S at the nodes; the first stands for all below."""
    variance = np.array([truncated_variance(float(x)) for x in _nodes()]) * ROUNDING
    variance[0] = 1.0
    return variance


def _nodes() -> Array:
    return np.asarray(np.sinh(STEP * np.arange(NODES) - END))


def truncated_variance(x: float) -> float:
    """∫t²e^{−xt²/2}/∫e^{−xt²/2} on [−1, 1], by parts; a series where that would cancel."""
    from scipy.special import dawsn

    if abs(x) < 0.5:
        powers = [(-x / 2) ** j / math.factorial(j) for j in range(16)]
        top = math.fsum(value / (2 * j + 3) for j, value in enumerate(powers))
        return top / math.fsum(value / (2 * j + 1) for j, value in enumerate(powers))
    a = math.sqrt(abs(x) / 2)
    if x > 0:
        return (1 - 2 * a * math.exp(-a * a) / (math.sqrt(math.pi) * math.erf(a))) / x
    return float((a / dawsn(a) - 1) / (2 * a * a))
