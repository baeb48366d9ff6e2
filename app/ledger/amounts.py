"""Privacy costs as whole numbers, so that sums have no order, no drift and an exact inverse.

Pure ε and Rényi values are counted in 10⁻⁹ nats (`_nano`), δ-slack in 10⁻¹⁸ (`_atto`). A charge is rounded
up and what is left is rounded down, both on the float's exact binary value.

An amount without a finite bound is written as `CEILING_NANO`, a million nats. Every capacity lies below it
(`MAX_EPSILON`), so a sum that contains it never passes a filter, while voiding it stays plain subtraction.
"""

import math
from dataclasses import dataclass
from operator import add, ge, sub

from app.core.privacy import ORDERS, ZERO_COST, Cost
from app.errors import IntegrityFailure, NumericalFailure

NANO = 10**9
ATTO = 10**18
CEILING_NANO = 10**6 * NANO
MAX_EPSILON = 10**6 - 10**3
_LIMIT = 2**63 - 1


def nano_up(nats: float) -> int:
    """⌈nats · 10⁹⌉, exactly; NaN, negative and infinite values are refused."""
    return _up(nats, NANO)


def nano_down(nats: float) -> int:
    """⌊nats · 10⁹⌋, exactly; NaN, negative and infinite values are refused."""
    numerator, denominator = _ratio(nats)
    return numerator * NANO // denominator


def atto_up(delta: float) -> int:
    return _up(delta, ATTO)


def atto_down(delta: float) -> int:
    numerator, denominator = _ratio(delta)
    return numerator * ATTO // denominator


def _up(value: float, unit: int, times: int = 1) -> int:
    numerator, denominator = _ratio(value)
    return -(-numerator * unit * times // denominator)


def _ratio(value: float) -> tuple[int, int]:
    if not 0 <= value < math.inf:
        raise NumericalFailure("a privacy amount must be a finite number, zero or more")
    return float(value).as_integer_ratio()


def _bounded(value: float, times: int) -> int:
    return CEILING_NANO if value == math.inf else min(_up(value, NANO, times), CEILING_NANO)


@dataclass(frozen=True, slots=True)
class Amounts:
    """One change to an account, or the sum of many: a vector of integers that fit 64 bits.

    Signed, because a void is the negative of its reservation. `curve_nano[i]` belongs to `ORDERS[i]`.
    """

    pure_nano: int
    curve_nano: tuple[int, ...]
    slack_atto: int = 0

    def __post_init__(self) -> None:
        if len(self.curve_nano) != len(ORDERS):
            raise IntegrityFailure("an amount must have one value per order")
        curve = self.curve_nano
        largest = max(self.pure_nano, self.slack_atto, max(curve))
        smallest = min(self.pure_nano, self.slack_atto, min(curve))
        if largest > _LIMIT or smallest < -_LIMIT:
            raise IntegrityFailure("an account cannot hold more than 2⁶³ − 1 units")

    def plus(self, other: "Amounts") -> "Amounts":
        curve = tuple(map(add, self.curve_nano, other.curve_nano))
        return Amounts(self.pure_nano + other.pure_nano, curve, self.slack_atto + other.slack_atto)

    def minus(self, other: "Amounts") -> "Amounts":
        curve = tuple(map(sub, self.curve_nano, other.curve_nano))
        return Amounts(self.pure_nano - other.pure_nano, curve, self.slack_atto - other.slack_atto)

    def negated(self) -> "Amounts":
        return ZERO.minus(self)

    def least(self, other: "Amounts") -> "Amounts":
        """The smaller of each component: of two bounds on the same thing, both hold."""
        curve = tuple(map(min, self.curve_nano, other.curve_nano))
        return Amounts(min(self.pure_nano, other.pure_nano), curve, min(self.slack_atto, other.slack_atto))

    def covers(self, other: "Amounts") -> bool:
        """True if no component is smaller than the other's."""
        return (
            self.pure_nano >= other.pure_nano
            and self.slack_atto >= other.slack_atto
            and all(map(ge, self.curve_nano, other.curve_nano))
        )

    @property
    def is_charge(self) -> bool:
        """True if no component is negative."""
        return self.pure_nano >= 0 and self.slack_atto >= 0 and min(self.curve_nano) >= 0

    @property
    def finite_pure_nano(self) -> int | None:
        """The pure amount, None where it contains one without a finite bound."""
        return self.pure_nano if abs(self.pure_nano) < CEILING_NANO else None


ZERO = Amounts(0, (0,) * len(ORDERS))


def amounts_of(cost: Cost) -> Amounts:
    """The charge for a cost, every component rounded up."""
    return prefix_charge(cost, 1)


def prefix_charge(per_sample: Cost, samples: int, once: Cost = ZERO_COST) -> Amounts:
    """The charge for the first `samples` draws: ⌈k · cost · 10⁹⌉, rounded once, after the multiplication.

    `once` comes on top with the first sample: all there is to pay where samples are free post-processing.
    """
    if samples < 0:
        raise NumericalFailure("a prefix cannot have a negative length")
    if samples == 0:
        return ZERO
    curve = tuple(_bounded(value, samples) for value in per_sample.curve)
    each = Amounts(_bounded(per_sample.pure, samples), curve, _up(per_sample.slack_delta, ATTO, samples))
    return each if once == ZERO_COST else each.plus(amounts_of(once))


def upgrade_charge(per_sample: Cost, old: int, new: int, once: Cost = ZERO_COST) -> Amounts:
    """What going from `old` to `new` samples adds: the difference of the two prefix charges.

    The differences telescope, so any sequence of upgrades ends at exactly what buying at once costs; a
    rounded k → ⌈k·c⌉ is non-decreasing, so none is negative. Fewer samples than held cost nothing.
    """
    if new <= old:
        return ZERO
    return prefix_charge(per_sample, new, once).minus(prefix_charge(per_sample, old, once))
