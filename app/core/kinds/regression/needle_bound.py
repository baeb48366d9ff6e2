"""How far two regression posteriors on a ball can be apart, over all data: a problem on a segment, and its certified maximum.

One row changes: Q = F·e^{−sf'}, P = F·e^{−sf}, f = ½(y − zᵀw)², s = kτ/σ², F the prior e^{−λ‖w‖²/2} on ‖w‖ ≤ R times a
log-concave function (the other rows). b = log P/Q = s(f' − f).

1. **To a segment.** D_α ≤ D says (∫F̂νe^{−αsf−(1−α)sf'})(∫F̂νe^{−sf'})^{α−1} ≤ (e^{(α−1)D}∫F̂νe^{−sf})(∫F̂νe^{−sf})^{α−1}, ν the prior. By
   Kannan, Lovász and Simonovits (1995), Theorem 2.7, it holds for every log-concave F̂ on the ball if it does for every
   exponential needle: F̂ = e^{ct} on a segment. (Data come near those: many rows pin w to a chord, short ones tilt it.)
2. **There.** The segment lies on a chord at distance h from the centre, |t| ≤ L = √(R²−h²), with direction e; p = |zᵀe|, q = |z'ᵀe|.
   The law P_u ∝ Q·e^{ub} has density e^{−κt²/2+ct} with κ_u = λ + s((1−u)q² + up²), which may be negative, and b = βt² + γt with
   β = s(q²−p²)/2, |γ| ≤ Γ = s(g(p) + g(q)), g(p) = p(Y + h√(1−p²)). k rows a person: Σp_j(Y + h√(1−p_j²)) is concave in p_j², so the worst
   are k equal ones, counted in s.
3. **Variance** over all c and segments J ⊂ [−L, L]. For t, t' independent, x = (t−t')/√2, y = (t+t')/√2: given y, x has density e^{−κx²/2} on
   |x| ≤ ℓ − |y−y₀|, and |y−y₀| has a density ∝ e^{−κy²/2}·(…)·cosh(c'y), stochastically increasing in |c'|: Var t = E x² is largest
   at c' = 0, and grows with J: sd t ≤ σ(κ), that of e^{−κt²/2} on [−L, L]. And Var t² = 2E x²y² ≤ 2·sup_ℓ (√2L−ℓ)²ℓ²S(κℓ²) ≤ ½L⁴S(2κL²)
   for κ ≤ 0, L⁴/6 for κ ≥ 0, S(κ) the variance of e^{−κt²/2} on [−1, 1]; ≤ 4L²/κ (Brascamp and Lieb), ≤ L⁴/4 always. So sd b ≤ |β|·sd t² + Γ·σ.
   And Var b = E x²(γ+√2βy)² ≤ sup_y (Γ + √2|β|y)²·m(√2L−y), m(ℓ) = ℓ²S(κℓ²) = E x² on |x| ≤ ℓ, 0 ≤ y ≤ √2L. Both decrease in κ; the smaller holds.
4. **Divergence.** (α−1)D_α = ∫₀^α w(u)Var_{P_u}(b)du, w the triangle of height α−1 over 1. Its level sets {w ≥ (1−x)(α−1)} are
   [1−x, 1+x(α−1)], so D_α = ∫₀¹ N(x)dx, N(x) = ∫ of the variance there: at most the integral of the variance's bound, and at
   most the range ρ of b, for it is the difference of two means of b.
   D_α ≤ ∫₀¹ min(ρ, N̄(x))dx; KL the same with α = 1.
5. **Largest over (p, q, h)** by boxes: Γ, |β|, L and ρ at their largest, κ at its smallest; split where a box is above its
   centre by more than `TOLERANCE`. What is left when the rounds are over is charged as it is.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CELLS = 10
FIRST_BOXES = (4, 4, 3)
BOXES_MAX = 6_000
TOLERANCE = 1.03
ROUNDING = 1 + 1e-9
TABLE_STEP = 0.01
TABLE_END = 24.0
TABLE_NODES = 4_800
ANGLES, LEVELS = 24, 48
ANGLE_STEP = math.pi / 2 / ANGLES


def loss_range(radius: float, dimension: int, target: float = 1.0) -> float:
    """sup − inf over the ball of f' − f, over all pairs of rows: exact.

    Each half-square has range at most ½(Y+R)², or ½(Y+R)² − ½(Y−R)² = 2YR where it cannot reach 0. From two dimensions on both
    are reached at once: by z' = −z, y' = y for R ≤ Y, and by zᵀz' = −Y/R for R ≥ Y. On a line z' = −1, z = x − 1 give
    ½(2−x)/x·(Y+xR)² where xR ≥ Y, with a top at Y = Rx(1−x), and else 2YR(2−x) ≤ 4YR.
    """
    Y, R = target, radius
    if R <= Y:
        return 4 * Y * R
    if dimension > 1:
        return (Y + R) ** 2
    x = (1 + math.sqrt(max(0.0, 1 - 4 * Y / R))) / 2
    return max(4 * Y * R, (2 - x) / (2 * x) * (Y + x * R) ** 2 if R >= 4 * Y else 0.0)


@lru_cache(maxsize=512)
def divergence_bounds(
    orders: tuple[float, ...], strength: float, prior: float, radius: float, dimension: int
) -> tuple[float, ...]:
    """Upper bounds of D_α (KL at order 1) over all data and replaced rows; `strength` s = kτ/σ², targets of size 1."""
    # In units of the radius: κR², β R², γR.
    s, lowest, Y = strength * radius**2, prior * radius**2, 1 / radius
    reach = strength * loss_range(radius, dimension)
    more = np.array(orders) - 1
    top, centre_top = np.zeros(len(orders)), np.zeros(len(orders))
    active, boxes, left = np.arange(len(orders)), _first_boxes(dimension), BOXES_MAX
    while len(active):
        upper = _bounds(boxes, s, lowest, Y, reach, more[active])
        likely = np.unique(upper.argmax(axis=0))  # where a centre may be the highest yet
        centres = boxes[likely].mean(axis=2, keepdims=True).repeat(2, axis=2)
        found = _bounds(centres, s, lowest, Y, reach, more[active]).max(axis=0)
        centre_top[active] = np.maximum(centre_top[active], found)
        wide = upper > np.minimum(TOLERANCE * centre_top[active], reach)
        left -= 2 * int(wide.any(axis=1).sum())
        if left < 0:
            wide[:] = False
        top[active] = np.maximum(top[active], np.where(wide, 0.0, upper).max(axis=0))
        boxes, active = _halved(boxes[wide.any(axis=1)]), active[wide.any(axis=0)]
    return tuple((np.minimum(top, reach) * ROUNDING).tolist())


def _first_boxes(dimension: int) -> Array:
    """(boxes, (p, q, h), (low, high)); a line has no chord but itself."""
    ends = [np.linspace(0, 1, count + 1) for count in FIRST_BOXES]
    if dimension == 1:
        ends[2] = np.zeros(2)
    sides = [np.stack([each[:-1], each[1:]], axis=1) for each in ends]
    places = np.stack(np.meshgrid(*(np.arange(len(side)) for side in sides), indexing="ij"), axis=-1).reshape(-1, 3)
    return np.stack([side[places[:, axis]] for axis, side in enumerate(sides)], axis=1)


def _halved(boxes: Array) -> Array:
    """Each box across its longest side; h moves the bound less than p and q do."""
    each, axis = np.arange(len(boxes)), ((boxes[:, :, 1] - boxes[:, :, 0]) * (1, 1, 0.7)).argmax(axis=1)
    low, high = boxes.copy(), boxes.copy()
    low[each, axis, 1] = high[each, axis, 0] = boxes[each, axis].mean(axis=1)
    return np.concatenate([low, high])


def _bounds(boxes: Array, s: float, prior: float, target: float, reach: float, more: Array) -> Array:
    """(boxes, orders): ∫₀¹ min(ρ, N̄(x))dx at the worst corner of each box."""
    (p0, _), (q0, q1) = (boxes[:, axis].T for axis in range(2))
    needle = _Needle.worst(boxes, s, target, reach)
    own = np.minimum(reach, needle.range)
    x = np.linspace(0, 1, CELLS + 1) ** 2
    before = prior + s * (np.outer(q0**2, x) + np.outer(p0**2, 1 - x))
    beyond = np.multiply.outer(more, x)  # (orders, nodes) of u − 1
    after = prior + s * (np.multiply.outer(p0**2, 1 + beyond) - np.multiply.outer(q1**2, beyond))
    steps = np.diff(x)
    left, right = _largest_in_cells(needle.variance(before)), _largest_in_cells(needle.variance(after))
    rise = (left[:, None, :] + right * more[:, None]) * steps
    return np.asarray((_capped(rise, own[:, None, None]) * steps).sum(axis=-1))


@dataclass(frozen=True, slots=True)
class _Needle:
    """β, Γ, ΓL and L of step 2 at their largest, and L at its smallest, in every box."""

    beta: Array
    gamma: Array
    area: Array
    longest: Array
    shortest: Array

    @staticmethod
    def worst(boxes: Array, s: float, target: float, reach: float) -> "_Needle":
        """ΓL is also at most half the range of b: 2·g(p)·L is the difference of f at two ends of a chord."""
        (p0, p1), (q0, q1), (h0, h1) = (boxes[:, axis].T for axis in range(3))
        level, lever = target * (p1 + q1), _largest_lever(p0, p1) + _largest_lever(q0, q1)
        # (A + Ch)√(1−h²) has its top where 2Ch² + Ah = C.
        h = (np.sqrt(level**2 + 8 * lever**2) - level) / np.maximum(4 * lever, 1e-300)
        h = np.clip(h, h0, h1)
        return _Needle(
            beta=s / 2 * np.maximum(np.abs(q1**2 - p0**2), np.abs(p1**2 - q0**2)),
            gamma=s * (level + h1 * lever),
            area=np.minimum(s * (level + h * lever) * np.sqrt(1 - h**2), reach / 2),
            longest=np.sqrt(1 - h0**2),
            shortest=np.sqrt(1 - h1**2),
        )

    @property
    def range(self) -> Array:
        """Of βt² + γt on |t| ≤ L: 2ΓL, or with its vertex inside βL² + ΓL + Γ²/4β; increasing in all three."""
        L = self.longest
        gamma = np.minimum(self.gamma, self.area / L)
        bent = self.beta * L**2 + gamma * L + gamma**2 / (4 * np.maximum(self.beta, 1e-9 * gamma))
        return np.where(gamma >= 2 * self.beta * L, 2 * gamma * L, bent)

    def variance(self, curvature: Array) -> Array:
        """The smaller bound of step 3; Γσ as Γ·L√S(κL²) at the longest L, or ΓL at its largest times √S at its own."""
        across = (slice(None), *(None,) * (curvature.ndim - 1))
        beta, gamma, area, L = (each[across] for each in (self.beta, self.gamma, self.area, self.longest))
        tables, place = _tables(), _place(curvature * L**2)
        smallest = np.where(curvature >= 0, curvature * self.shortest[across] ** 2, curvature * L**2)
        linear = np.minimum(gamma * L * tables.sd[place], area * tables.sd[_place(smallest)])
        apart = (beta * L**2 * tables.square_sd[place] + linear) ** 2
        length = np.hypot(gamma * L, beta * L**2)
        angle = np.floor(np.arctan2(beta * L, gamma) / ANGLE_STEP - 1e-6).astype(np.int64)
        together = length**2 * tables.together[np.clip(angle, 0, ANGLES - 1), place]
        return np.minimum(apart, together)


def _largest_lever(low: Array, high: Array) -> Array:
    """Of p√(1−p²), which rises up to p = √½."""
    p = np.clip(math.sqrt(0.5), low, high)
    return np.asarray(p * np.sqrt(1 - p**2))


def _largest_in_cells(values: Array) -> Array:
    """Between two nodes κ is linear and the variance monotone in κ: the larger end bounds the cell."""
    return np.maximum(values[..., 1:], values[..., :-1])


def _capped(rise: Array, cap: Array) -> Array:
    """The mean in each cell of min(cap, N), N piecewise linear from 0 with these rises."""
    end = np.cumsum(rise, axis=-1)
    start = end - rise
    crossing = cap - (cap - start) ** 2 / (2 * np.maximum(rise, 1e-300))
    return np.where(end <= cap, (start + end) / 2, np.where(start >= cap, cap, crossing))


def _place(x: Array) -> NDArray[np.int64]:
    """The last node of the tables that is not above x: what they hold decreases in x."""
    place = np.floor((np.arcsinh(x) + TABLE_END) / TABLE_STEP - 1e-6).astype(np.int64)
    return np.clip(place, 0, TABLE_NODES - 1)


@dataclass(frozen=True, slots=True)
class _Tables:
    """By x = κL², on [−1, 1]: bounds of sd t and sd t², and of Var(t·cos φ + t²·sin φ) for angles φ up to the next."""

    sd: Array
    square_sd: Array
    together: Array


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    """The first node stands for everything below it, where t² and y²(√2−y)² are at their largest."""
    nodes = np.sinh(TABLE_STEP * np.arange(TABLE_NODES) - TABLE_END)
    variance = np.array([truncated_variance(float(x)) for x in nodes]) * ROUNDING
    twice = np.array([truncated_variance(float(2 * x)) for x in np.minimum(nodes, 0.0)]) / 2
    square = np.minimum(np.minimum(twice, 0.25), 4 / np.maximum(nodes, 1e-300)) * ROUNDING
    variance[0], square[0] = 1.0, 0.25
    y = np.linspace(0, math.sqrt(2), LEVELS + 1)
    within = (math.sqrt(2) - y[:-1]) ** 2  # ℓ² at the near end of each level of y
    moment = within[:, None] * variance[_place(np.multiply.outer(within, nodes))]
    angles = ANGLE_STEP * np.arange(ANGLES + 1)
    slope = np.cos(angles[:-1, None]) + math.sqrt(2) * np.sin(angles[1:, None]) * y[1:]
    together = np.array([(each[:, None] ** 2 * moment).max(axis=0) for each in slope])
    return _Tables(np.sqrt(variance), np.sqrt(square), together * ROUNDING)


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
