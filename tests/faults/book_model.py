"""What the books should say, in plain Python: written from the paper's rules and sharing no code with the ledger.

An account is a filter with one order α fixed when it opens: with c(α) = ε − ln(1 − 1/α) + ln(δα)/(α − 1), α maximises
c(α)/α over the public orders. A charge is admitted while the pure sum stays within ε or the sum at α within c(α). The first
charge to stand may instead fix the order of whose capacity it takes the smallest part, if neither of the two admits it.
Amounts are whole 10⁻⁹ nats; charges round up, capacities down with one unit kept back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any

from mpmath import log, mp, mpf

NANO = 10**9
CEILING = 10**6 * NANO

Vector = tuple[int, ...]


def capacity(epsilon: float, delta: float, order: float) -> int:
    """With fifty digits: a capacity may not depend on how logarithms are rounded."""
    with mp.workdps(50):
        alpha = mpf(order)
        exact = mpf(epsilon) - log(1 - 1 / alpha) + log(mpf(delta) * alpha) / (alpha - 1)
        return max(0, min(floor(exact * NANO), CEILING - 1) - 1)


def best_order(epsilon: float, delta: float, orders: Sequence[float]) -> int:
    with mp.workdps(50):
        values = [
            (mpf(epsilon) - log(1 - 1 / mpf(order)) + log(mpf(delta) * mpf(order)) / (mpf(order) - 1)) / mpf(order)
            for order in orders
        ]
    return values.index(max(values))


@dataclass(slots=True)
class Filter:
    """`spent` is (pure, D at each order)."""

    orders: Sequence[float]
    epsilon: float
    delta: float
    order: int = 0
    spent: Vector = ()
    fixed: int | None = None

    def __post_init__(self) -> None:
        self.order = best_order(self.epsilon, self.delta, self.orders)
        self.spent = (0,) * (len(self.orders) + 1)

    def recap(self, epsilon: float) -> None:
        """The order stays as it was fixed, what is spent stays spent."""
        self.epsilon = epsilon

    def admits(self, charge: Vector) -> bool:
        return self._fits(charge) or (not any(self.spent) and self._elsewhere(charge) is not None)

    def charge(self, charge: Vector) -> None:
        assert self.admits(charge)
        if not any(self.spent):
            self.fixed = None if self._fits(charge, fresh=True) else self._elsewhere(charge)
        self.spent = plus(self.spent, charge)

    def _fits(self, charge: Vector, *, fresh: bool = False) -> bool:
        after = plus(self.spent, charge)
        empty = fresh or not any(self.spent)
        order = self.order if empty or self.fixed is None else self.fixed
        pure_fits = after[0] <= floor(Fraction(self.epsilon) * NANO)
        return pure_fits or after[1 + order] <= capacity(self.epsilon, self.delta, self.orders[order])

    def _elsewhere(self, charge: Vector) -> int | None:
        room = [capacity(self.epsilon, self.delta, order) for order in self.orders]
        parts = [(charge[1 + i] / room[i], i) for i in range(len(room)) if room[i] > 0 and charge[1 + i] <= room[i]]
        return min(parts)[1] if parts else None


@dataclass(slots=True)
class ModelRelease:
    samples: int
    asked_us: int
    status: str = "pending"
    read: bool = False
    attempts: int = 0
    body: bytes | None = None


@dataclass(slots=True)
class Books:
    """One dataset and its population, its analysts' caps, its releases, who holds how much, and what every key was used for."""

    cost: Mapping[str, Any]
    dataset: Filter
    population: Filter
    caps: dict[str, Filter] = field(default_factory=dict)
    releases: dict[str, ModelRelease] = field(default_factory=dict)
    held: dict[tuple[str, str], int] = field(default_factory=dict)
    keys: dict[tuple[str, str], tuple[Any, tuple[int, bytes] | None]] = field(default_factory=dict)

    def prefix(self, samples: int) -> Vector:
        """⌈k · cost · 10⁹⌉, component by component."""
        values = (self.cost["pure"], *self.cost["curve"])
        return tuple(min(ceil(Fraction(value) * samples * NANO), CEILING) for value in values)

    def upgrade(self, held: int, samples: int) -> Vector:
        before = self.prefix(held) if held else (0,) * len(self.dataset.spent)
        return tuple(new - old for new, old in zip(self.prefix(samples), before, strict=True))

    def admits(self, charge: Vector) -> bool:
        """Both accounts have to."""
        return self.dataset.admits(charge) and self.population.admits(charge)

    def charge(self, charge: Vector) -> None:
        self.dataset.charge(charge)
        self.population.charge(charge)

    def void(self, charge: Vector) -> None:
        self.dataset.spent = minus(self.dataset.spent, charge)
        self.population.spent = minus(self.population.spent, charge)

    def next_release(self) -> str | None:
        """Of those who wait, the one that was asked for first by the clock of its time, which may have gone back since."""
        waiting = [(release.asked_us, name) for name, release in self.releases.items() if release.status == "pending"]
        return min(waiting)[1] if waiting else None


def plus(left: Vector, right: Vector) -> Vector:
    return tuple(a + b for a, b in zip(left, right, strict=True))


def minus(left: Vector, right: Vector) -> Vector:
    return tuple(a - b for a, b in zip(left, right, strict=True))
