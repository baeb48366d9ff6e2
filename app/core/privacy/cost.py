"""What a release costs: a pure ε, a Rényi curve and a δ-slack, and how costs add.

Costs add on curves and pure sums, never on converted ε (PRIVACY §2, Accounts).
"""

import math
from dataclasses import dataclass, field
from operator import truediv
from typing import Protocol

from app.core.privacy.gaussian import gaussian_epsilon
from app.errors import NumericalFailure

ORDERS: tuple[float, ...] = (
    1.25, 1.5, 1.75, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128,
    160, 192, 224, 256, 320, 384, 448, 512, 768, 1024, 1536, 2048, 3072, 4096, 8192, 16384, 32768, 65536,
)  # fmt: skip

ORDERS_VERSION = 1
"""Of the one public list of Rényi orders on which every cost curve is written down. The list never depends on data or on a
release; adding an order is a new version. A few fractional ones below 2 serve budgets with large ε, large ones small ε."""


class Losses(Protocol):
    """The law of the privacy loss of one draw, for N draws of the same pair of neighbours (`losses/`)."""

    def epsilon(self, draws: int, delta: float) -> float:
        """A proven ε of so many at `delta`, the same for prefixes of them; infinite where none is known."""
        ...


@dataclass(frozen=True, slots=True)
class Cost:
    """Nats, for neighbours that replace one person's data among the same number of people.

    `pure` may be infinite; `curve[i]` is a proven upper bound of D_α at `ORDERS[i]`, in both directions and
    over all neighbouring datasets; `slack_delta` is what an inexact sampler adds to δ. `gaussian`: all of it is Gaussian
    noise, curve α·ρ, to which `gaussian.py` applies; a cost of nothing is that too. `losses`: of `draws` independent draws, which
    are all of it. It is no part of what is charged or compared: what is said about a release alone may rest on it.
    """

    pure: float
    curve: tuple[float, ...]
    slack_delta: float = 0.0
    gaussian: bool = False
    losses: Losses | None = field(default=None, compare=False, repr=False)
    draws: int = field(default=1, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.curve) != len(ORDERS):
            raise NumericalFailure("a cost curve must have one value per order")
        if not self.pure >= 0 or not all(value >= 0 for value in self.curve):
            raise NumericalFailure("a privacy cost came out negative or undefined")
        if any(math.isinf(value) for value in self.curve) and not math.isinf(self.pure):
            raise NumericalFailure("a finite pure cost bounds every order")
        if not 0 <= self.slack_delta < 1:
            raise NumericalFailure("a δ-slack must lie in [0, 1)")
        if self.gaussian and self.slack_delta > 0:
            raise NumericalFailure("Gaussian noise is drawn exactly")

    def times(self, count: int) -> "Cost":
        """The cost of `count` independent draws."""
        if count < 0:
            raise NumericalFailure("a cost cannot be repeated a negative number of times")
        if count == 0:
            return ZERO_COST
        curve = tuple(value * count for value in self.curve)
        return Cost(self.pure * count, curve, self.slack_delta * count, self.gaussian, self.losses, self.draws * count)

    def plus(self, other: "Cost") -> "Cost":
        curve = tuple(a + b for a, b in zip(self.curve, other.curve, strict=True))
        gaussian = self.gaussian and other.gaussian
        known = self if other == ZERO_COST else other if self == ZERO_COST else None
        losses, draws = (None, 1) if known is None else (known.losses, known.draws)
        return Cost(self.pure + other.pure, curve, self.slack_delta + other.slack_delta, gaussian, losses, draws)

    @property
    def gaussian_rho(self) -> float | None:
        """Σρ of the noise; None where there is anything else."""
        return max(map(truediv, self.curve, ORDERS)) if self.gaussian else None

    def epsilon(self, delta: float) -> float:
        """The smallest ε this cost is known to satisfy at `delta`: `epsilon_of_curve`, the pure sum, or the noise's own law."""
        return self.best_order(delta)[0]

    def alone(self, delta: float) -> float:
        """The smallest ε a release of this cost is known to satisfy by itself: no more than `epsilon`, and less where the law of
        its own losses says so. It does not add up with other releases, and no filter takes it for one."""
        shown, rest = self.epsilon(delta), delta - self.slack_delta
        if self.losses is None or not (rest > 0 and shown > 0):
            return shown
        return min(shown, self.losses.epsilon(self.draws, rest))

    def best_order(self, delta: float) -> tuple[float, float | None]:
        """(ε, the order it comes from), the order None where it comes from the pure sum or from the law of the noise."""
        rest = delta - self.slack_delta
        if not rest >= 0:
            return math.inf, None
        epsilon, order = epsilon_of_curve(self.curve, rest)
        if self.pure <= epsilon:
            return self.pure, None
        rho = self.gaussian_rho
        if rho is not None and (own := gaussian_epsilon(rho, rest)) < epsilon:
            return own, None
        return epsilon, order


def epsilon_of_curve(curve: tuple[float, ...], delta: float) -> tuple[float, float | None]:
    """min over α of D(α) + ln(1−1/α) − ln(δα)/(α−1), clamped at 0.

    Canonne, Kamath and Steinke (2020), Proposition 12 in Rényi form. δ = 0 has no finite answer here.
    """
    if not delta > 0:
        return math.inf, None
    best, best_order = math.inf, None
    for order, value in zip(ORDERS, curve, strict=True):
        epsilon = max(0.0, value + conversion_offset(order, delta))
        if epsilon < best:
            best, best_order = epsilon, order
    return best, best_order


def conversion_offset(order: float, delta: float) -> float:
    """ln(1−1/α) − ln(δα)/(α−1): what turns D_α into ε at δ."""
    return math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)


def budget_order(epsilon: float, delta: float) -> float:
    """Where (ε, δ) buys most of a cost shaped like ρ·α: argmax of c(α)/α over the public orders, the smallest if several."""
    return float(max(ORDERS, key=lambda order: (epsilon - conversion_offset(order, delta)) / order))


ZERO_COST = Cost(0.0, (0.0,) * len(ORDERS), gaussian=True)


def inexact_kl(kl: float, log_ratio: float) -> float:
    """A bound on KL between two laws that are each within e^{±log_ratio} of laws at most `kl` apart; none for s > 1.

    What a sampler's rounding adds. Let every probability of P̃ be within e^{±s} of P's, and of Q̃ of Q's, l = log P/Q. Then

        KL(P̃‖Q̃) ≤ E_P̃[l] + 2s ≤ e^s·E_P[l⁺] − e^{−s}·E_P[l⁻] + 2s = e^s·KL(P‖Q) + 2·sinh(s)·E_P[l⁻] + 2s,

    and E_P[l⁻] = E_P[(log Q/P)⁺] ≤ E_P[Q/P]/e ≤ 1/e, because log x ≤ x/e. For s ≤ 1, 2·sinh(s)/e < s.
    """
    return math.exp(log_ratio) * kl + 3 * log_ratio if log_ratio <= 1 else math.inf
