"""What makes a response good: u(θ, r) in [0, 1], its maximiser over the samples, and its regret bound.

The response is r* ∈ argmax_r Σ_θ u(θ, r) over all responses allowed, ties broken by the rule in each file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Generic, Protocol

from pydantic import Field

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands import AnyEstimand, Context
from app.core.decisions.estimands.estimand import Judged, Observed, is_number, require_number
from app.core.decisions.expressions import Expression
from app.core.decisions.mixture import Mixture
from app.core.decisions.regret import Bound, bound_mixed_quantiles, bound_quantiles
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import Described, Number
from app.core.specs import Expects
from app.errors import InvalidQuery

Response = float | list[float] | str | dict[str, str] | dict[str, float]


@dataclass(frozen=True, slots=True)
class Decision:
    """`expected_utility` is the mean of u over the samples at the response, in [0, 1].

    `gap` bounds how far that mean is below the highest of all responses, where not all were tried.
    """

    response: Response
    expected_utility: float
    why: dict[str, Any] | None = None
    gap: float = 0.0


class Utility(Protocol):
    """Frozen and hashable; carries the estimand it judges, if it judges one."""

    @property
    def work(self) -> int:
        """Operations a sample, about, with its estimand's: how long an answer takes is known before it is computed."""
        ...

    @property
    def responses(self) -> int | None:
        """How many are compared; None where they are real numbers."""
        ...

    def check(self, samples: int) -> None:
        """Refuses what would take too long over so many samples; reads none of them."""
        ...

    def decide(self, samples: SampleSet) -> Decision: ...

    def regret(self, samples: int, delta: float) -> Bound:
        """From public numbers only: neither it nor anything it calls sees a sample."""
        ...


@dataclass(frozen=True, slots=True)
class JudgesEstimand:
    """What utilities of one estimand that is a number have in common."""

    estimand: Judged
    responses: ClassVar[int | None] = None

    @property
    def work(self) -> int:
        return self.estimand.work

    def check(self, samples: int) -> None:
        self.estimand.check(samples)


@dataclass(frozen=True, slots=True)
class UtilityKind(Generic[Described]):
    """What may be sent, and what reads it. The context is the utility's own: what it refuses stands at `utility`."""

    spec: type[Described]
    parse: Callable[[Described, AnyEstimand | None, Context], Utility]


def require_law(estimand: AnyEstimand | None, kind: str) -> Judged:
    """One that is a number, known for each sample or with a law."""
    found = require_any(estimand, kind)
    # Asking an abstract class takes longer than asking for one method, and most estimands have it.
    return found if is_number(found) or isinstance(found, Observed) else require_number(found, "estimand")


def law_of(estimand: Judged, samples: SampleSet) -> Empirical | Mixture:
    return estimand.law(samples) if isinstance(estimand, Observed) else estimand.distribution(samples)


def quantile_bound(estimand: Judged, levels: Sequence[tuple[Fraction, float]], samples: int, delta: float) -> Bound:
    bound = bound_mixed_quantiles if isinstance(estimand, Observed) else bound_quantiles
    return bound(levels, samples, delta)


def require_any(estimand: AnyEstimand | None, kind: str) -> AnyEstimand:
    if estimand is None:
        raise InvalidQuery("estimand", f"an object with a kind; the utility {kind} needs one")
    return estimand


def runner_up(response: Response, utility: float) -> dict[str, Any]:
    """The best of the other responses, by the same tie rule."""
    return {"runner_up": response, "expected_utility": utility}


def in_unit(utility: float) -> float:
    """Rounding may leave [0, 1] by a last digit; the mathematics does not."""
    return min(1.0, max(0.0, utility))


# 0.1 + 0.2 reaches a last digit above 0.3: an overshoot this small, relative to the range, is clipped instead.
OVERSHOOT_MAX = 1e-9


Range = Annotated[
    tuple[Number, Number],
    Field(strict=False, description="The lowest and the highest utility; it contains the public range of every one."),
    Expects("two numbers, the lowest and the highest utility"),
]
"""What utilities written as expressions lie between, so that (value − lo)/(hi − lo) is in [0, 1]. JSON has lists only."""


def require_increasing(bounds: tuple[float, float]) -> tuple[float, float]:
    if not bounds[0] < bounds[1]:
        raise InvalidQuery("utility.range", "a first number below the second")
    return bounds


def check_inside(what: str, action: Expression, lower: float, upper: float) -> None:
    slack = OVERSHOOT_MAX * (upper - lower)
    if action.lower < lower - slack or action.upper > upper + slack:
        reach = f"[{action.lower:.6g}, {action.upper:.6g}]"
        raise InvalidQuery("utility.range", f"a range that contains {reach}, the public range of {what}")
