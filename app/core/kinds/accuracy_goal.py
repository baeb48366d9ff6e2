"""A plan asked for by accuracy: what is wanted, what reaches it and at what price. The same for every kind of model.

Wanted is an expected sd of the calibrated posterior, or the expected half width of its central interval at a level, which is
z·sd with z the normal law's: what intervals of a posterior that data have spoken to come to. A kind says what its number is
where it has several parameters (`AccuracySearch.meaning`). Public numbers only.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Literal, Protocol, Self

from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.privacy.cost import Cost
from app.core.privacy.release_cost import ReleaseCost
from app.errors import AccuracyUnreachable

Price = Callable[[Cost], float]
"""What of a cost counts: ε at a δ for a release by itself, one Rényi order or the pure sum inside an account."""

LEVEL_DEFAULT = 0.9
TENTH_ABOVE = 1.1
"""Right at the limit an interval costs infinitely much: people are counted for one that noise may widen by a tenth."""
TURNS = 8
NEAR, MIDDLE, ENOUGH = 0.985, 0.994, 1.0025
"""What simulated intervals may come to, in parts of what is wanted."""


@dataclass(frozen=True, slots=True)
class Goal:
    """`value` in units of the measure; `level` is that of the interval, shown for an sd too."""

    measure: Literal["half_width", "sd"]
    value: float
    level: float = LEVEL_DEFAULT

    @property
    def sd(self) -> float:
        return self.value / (normal_width(self.level) if self.measure == "half_width" else 1.0)

    def in_measure(self, sd: float) -> float:
        return sd * (normal_width(self.level) if self.measure == "half_width" else 1.0)

    def times(self, factor: float) -> Self:
        return replace(self, value=self.value * factor)


def normal_width(level: float) -> float:
    """Half the width of the central interval, in sds."""
    return NormalDist().inv_cdf((1 + level) / 2)


@dataclass(frozen=True, slots=True)
class AccuracyQuestion:
    """`samples` None leaves their number open. `drawn`: whether samples that are paid for one by one may be offered."""

    model: ReleaseModel
    people: int
    unit_rows: int
    delta: float
    samples: int | None
    samples_max: int
    drawn: bool = True


@dataclass(frozen=True, slots=True)
class Offer:
    """A mechanism with the least that reaches what was wanted, and the sd it is expected to give."""

    mechanism: ReleaseMechanism
    cost: ReleaseCost
    sd: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often simulated intervals held the truth, and their means; all None where `method` says what is known instead."""

    share: float | None
    standard_error: float | None
    releases: int | None
    half_width: float | None
    sd: float | None
    method: str

    @classmethod
    def unknown(cls, method: str) -> Self:
        return cls(None, None, None, None, None, method)

    def shown(self, measure: Literal["half_width", "sd"]) -> float | None:
        return self.half_width if measure == "half_width" else self.sd


class AccuracySearch(Protocol):
    """Of one model on so many people. Every method is a function of public numbers."""

    @property
    def meaning(self) -> str:
        """What the one number is, in words."""
        ...

    @property
    def best_sd(self) -> float:
        """Without any noise: what n people tell."""
        ...

    def people_for(self, sd: float) -> int | None:
        """About how many people would tell as much without noise; None where that is not known."""
        ...

    def offers(self, sd: float, price: Price) -> list[Offer]:
        """One of every mechanism that can reach `sd`, each at its cheapest."""
        ...

    def accuracy(self, offer: Offer) -> dict[str, Any]:
        """As plans show it."""
        ...

    def coverage(self, mechanism: ReleaseMechanism, level: float) -> Coverage: ...


def cheapest_first(search: AccuracySearch, sd: float, price: Price) -> list[Offer]:
    """None where no mechanism reaches it."""
    found = search.offers(sd, price) if sd > search.best_sd else []
    return sorted(found, key=lambda offer: price(offer.cost.total))


@dataclass(frozen=True, slots=True)
class Reached:
    """Offers, cheapest first; `correction` is what simulated intervals are wider by than formulas for many people say."""

    offers: list[Offer]
    correction: float


def reached(search: AccuracySearch, goal: Goal, price: Price, field: str) -> Reached:
    """What reaches the goal where intervals are simulated: formulas are off by tenths for few people. At least one offer.

    Looked for is the sd by formula at which simulated intervals are as wanted. Raises AccuracyUnreachable.
    """
    asked, enough, too_wide = goal.sd, None, None
    for _ in range(TURNS):
        offers = cheapest_first(search, asked, price)
        if not offers:
            break
        shown = search.coverage(offers[0].mechanism, goal.level).shown(goal.measure)
        if shown is None:
            return Reached(offers, 1.0)
        ratio = shown / goal.value
        if ratio <= ENOUGH:
            enough = asked, ratio, offers
            if ratio >= NEAR:
                break
        else:
            too_wide = asked, ratio
        asked = _next(asked, ratio, enough, too_wide, search.best_sd)
    if enough is None:
        raise _unreachable(search, goal, 1.0 if too_wide is None else too_wide[1] * goal.sd / too_wide[0], field)
    return Reached(enough[2], goal.sd / enough[0])


def _next(
    asked: float,
    ratio: float,
    enough: tuple[float, float, Any] | None,
    too_wide: tuple[float, float] | None,
    best: float,
) -> float:
    """On the line through both sides in logarithms; with one side in proportion, but no nearer to the limit than half way."""
    if enough is None or too_wide is None:
        return max(asked * MIDDLE / ratio, math.sqrt(asked * best))
    low, high = (math.log(each[1]) for each in (enough, too_wide))
    share = min(max((math.log(MIDDLE) - low) / (high - low), 0.1), 0.9)
    return math.exp((1 - share) * math.log(enough[0]) + share * math.log(too_wide[0]))


def _unreachable(search: AccuracySearch, goal: Goal, correction: float, field: str) -> AccuracyUnreachable:
    best = goal.in_measure(search.best_sd) * correction
    people = search.people_for(goal.sd / correction / TENTH_ABOVE)
    needed = "" if people is None else f". About {people} people would do, with noise that adds a tenth"
    kind = f"half width at {100 * goal.level:g} %" if goal.measure == "half_width" else "sd"
    return AccuracyUnreachable(
        field,
        f"more than {best:.3g}, the {kind} that this many people give without any noise: no ε buys {goal.value:.4g}{needed}",
        best=best,
        people_needed=people,
    )
