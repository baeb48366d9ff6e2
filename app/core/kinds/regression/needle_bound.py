"""How far two regression posteriors on a ball can be apart, over all data: a problem on a segment, and its certified maximum.

One row changes: Q = Fνe^{−sf'}, P = Fνe^{−sf} up to constants, f = ½(y − zᵀw)², s = kτ/σ², ν the prior e^{−λ‖w‖²/2} on the
ball ‖w‖ ≤ R and F, the likelihood of the other rows, log-concave. b = log P/Q = s(f' − f).

1. **To a segment.** "D_α ≤ D" says, of integrals over the ball,

       ∫Fνe^{−αsf−(1−α)sf'} · (∫Fνe^{−sf'})^{α−1} ≤ ∫Fν·e^{(α−1)D}e^{−sf} · (∫Fνe^{−sf})^{α−1}.

   By Kannan, Lovász and Simonovits (1995), Theorem 2.7, such an inequality of four functions holds for every log-concave F if
   it does for every exponential needle, F = e^{ct} on a segment. (Data come near those: many rows pin w to a chord, short
   rows with large targets tilt it. So this step loses next to nothing where there are many people.)
2. **There.** The segment lies on a chord at distance h from the centre, |t| ≤ L = √(R²−h²), in direction e; p = |zᵀe|, q =
   |z'ᵀe|. P_u ∝ Q·e^{ub} has density e^{−κt²/2+ct} with κ_u = λ + s((1−u)q² + up²), which may be negative, and b = βt² + γt
   with β = s(q²−p²)/2, |γ| ≤ Γ = s(g(p) + g(q)), g(p) = p(Y + h√(1−p²)). For k rows a person p² is Σp_j²/k, and since g is
   concave in p², Σg(p_j) ≤ k·g(p): the worst are k equal rows, counted in s.
3. **Variance** of b under all those laws: `segment_variance.py`; decreasing in κ, increasing in Γ, |β| and L.
4. **Divergence.** (α−1)D_α = ∫₀^α w(u)·Var_{P_u}(b)du, w the triangle of height α−1 at u = 1. Its level sets {w ≥ (1−x)(α−1)}
   are [1−x, 1+x(α−1)], so D_α = ∫₀¹ N(x)dx, N(x) the integral of the variance there: at most that of its bound, N̄(x), and at
   most the range ρ of b, for it is the difference of two means of b. D_α ≤ ∫₀¹ min(ρ, N̄(x))dx; KL the same with α = 1.
5. **As the mean moves.** Where κ > 0, Var_u b ≤ E_u b'²/κ_u (Brascamp and Lieb), and b'² = γ² + 4βb: so E = E_u b'² has dE/du =
   4β·Var_u b, between 0 and 4βE/κ_u, while dκ_u/du = −2β. On [u₁, u₂] therefore E at the end of the smaller curvature κ_m is at
   most that at the other times (κ_M/κ_m)², and N = |E(u₂) − E(u₁)|/4|β| ≤ E_max·(1 − κ_m²/κ_M²)/4|β| = E_max·(u₂−u₁)·(κ_M +
   κ_m)/2κ_M², E_max = (Γ + 2|β|L)². As a function of x it is concave (κ_m/κ_M is convex and falls), so its mean in a cell is at
   most its value in the middle; in a box it is largest at the least κ_M and the largest κ_m ≤ κ_M.
6. **Largest over (p, q, h)** by boxes: Γ, |β|, L and ρ at their largest, κ at its smallest; a box is halved while it is above
   the highest centre of a box by more than `TOLERANCE`. What `BOXES_MAX` leaves is charged as it is.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.segment_variance import largest_variance

Array = NDArray[np.float64]

CELLS = 10
FIRST_BOXES = (4, 4, 3)
FINE_BOXES = (12, 12, 5)
BOXES_MAX = 6_000
TOLERANCE = 1.03
NARROW = 8.0
"""λR² from which step 5 is worth its time: below it gains a few hundredths."""
ROUNDING = 1 + 1e-9


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


@lru_cache(maxsize=512)
def largest_needle_variances(
    beyond: tuple[float, ...], strength: float, prior: float, radius: float, dimension: int
) -> Array:
    """Of b under P_u over all data and replaced rows, at u = 1 + `beyond`, and at every u ≤ 1 for 0."""
    s, lowest = strength * radius**2, prior * radius**2
    boxes = _first_boxes(dimension, FINE_BOXES)
    needle = _Needle.worst(boxes, s, 1 / radius, strength * loss_range(radius, dimension))
    p0, q0, q1 = boxes[:, 0, 0] ** 2, boxes[:, 1, 0] ** 2, boxes[:, 1, 1] ** 2
    after = np.multiply.outer(p0, 1 + np.array(beyond)) - np.multiply.outer(q1, np.array(beyond))
    found = np.asarray(needle.variance(lowest + s * after).max(axis=0))
    found[0] = needle.variance((lowest + s * np.minimum(p0, q0))[:, None]).max()
    return found


def _first_boxes(dimension: int, counts: tuple[int, int, int] = FIRST_BOXES) -> Array:
    """(boxes, (p, q, h), (low, high)); a line has no chord but itself."""
    ends = [np.linspace(0, 1, count + 1) for count in counts]
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
    means = capped(rise, own[:, None, None])
    if prior >= NARROW:
        means = np.minimum(means, _moving(boxes, needle, s, prior, x, more))
    return np.asarray((means * steps).sum(axis=-1))


def _moving(boxes: Array, needle: "_Needle", s: float, prior: float, x: Array, more: Array) -> Array:
    """(boxes, orders, cells): the bound of step 5 on the mean of N in a cell, infinite where a curvature may reach 0."""
    (p0, p1), (q0, q1) = (s * boxes[:, axis].T ** 2 for axis in range(2))
    middle = (x[1:] + x[:-1]) / 2
    last, beyond = np.multiply.outer(more, x[1:]), np.multiply.outer(more, middle)
    start_low, start_high = (prior + np.outer(p, 1 - middle) + np.outer(q, middle) for p, q in ((p0, q0), (p1, q1)))
    end_low, end_high = ((prior + p)[:, None, None] + np.multiply.outer(p - q, beyond) for p, q in ((p0, q1), (p1, q0)))
    positive = (prior + p0)[:, None, None] > np.multiply.outer(q1 - p0, last)
    large = np.maximum(start_low[:, None, :], end_low)
    small = np.minimum(np.minimum(start_high[:, None, :], end_high), large)
    mean = (large + small) / large**2
    bound = (needle.steepest**2 / 2)[:, None, None] * (middle + beyond) * mean
    return np.where(positive, bound, np.inf)


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
    def steepest(self) -> Array:
        """|b'| at most: Γ + 2|β|L."""
        return self.gamma + 2 * self.beta * self.longest

    @property
    def range(self) -> Array:
        """Of βt² + γt on |t| ≤ L: 2ΓL, or with its vertex inside βL² + ΓL + Γ²/4β; increasing in all three."""
        L = self.longest
        gamma = np.minimum(self.gamma, self.area / L)
        bent = self.beta * L**2 + gamma * L + gamma**2 / (4 * np.maximum(self.beta, 1e-9 * gamma))
        return np.where(gamma >= 2 * self.beta * L, 2 * gamma * L, bent)

    def variance(self, curvature: Array) -> Array:
        """The bound of step 3 with Γ on the longest L, or with ΓL at its largest and κL² at its smallest."""
        across = (slice(None), *(None,) * (curvature.ndim - 1))
        beta, gamma, area, L = (each[across] for each in (self.beta, self.gamma, self.area, self.longest))
        smallest = np.where(curvature >= 0, self.shortest[across], L) ** 2 * curvature
        return np.minimum(
            largest_variance(curvature * L**2, gamma * L, beta * L**2),
            largest_variance(smallest, area, beta * L**2),
        )


def _largest_lever(low: Array, high: Array) -> Array:
    """Of p√(1−p²), which rises up to p = √½."""
    p = np.clip(math.sqrt(0.5), low, high)
    return np.asarray(p * np.sqrt(1 - p**2))


def _largest_in_cells(values: Array) -> Array:
    """Between two nodes κ is linear and the variance monotone in κ: the larger end bounds the cell."""
    return np.maximum(values[..., 1:], values[..., :-1])


def capped(rise: Array, cap: Array) -> Array:
    """The mean in each cell of min(cap, N), N piecewise linear from 0 with these rises."""
    end = np.cumsum(rise, axis=-1)
    start = end - rise
    crossing = cap - (cap - start) ** 2 / (2 * np.maximum(rise, 1e-12 * cap + 1e-300))
    return np.where(end <= cap, (start + end) / 2, np.where(start >= cap, cap, crossing))
