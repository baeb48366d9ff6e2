"""What makes a response good: u(θ, r) in [0, 1], its maximiser over the samples, and its regret bound.

The response is r* ∈ argmax_r Σ_θ u(θ, r) over all responses allowed, ties broken by the rule in each file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from app.core.decisions.estimands import Estimand
from app.core.decisions.regret import Bound
from app.core.decisions.sample_set import SampleSet
from app.core.families.parameters import Parameter
from app.errors import InvalidQuery

Response = float | list[float] | str


@dataclass(frozen=True, slots=True)
class Decision:
    """`expected_utility` is the mean of u over the samples at the response, in [0, 1]."""

    response: Response
    expected_utility: float
    why: dict[str, Any] | None = None


class Utility(Protocol):
    """Frozen and hashable; carries the estimand it judges, if it judges one."""

    def decide(self, samples: SampleSet) -> Decision: ...

    def regret(self, samples: int, delta: float) -> Bound:
        """From public numbers only: neither it nor anything it calls sees a sample."""
        ...


UtilityParser = Callable[[Mapping[str, Any], Estimand | None, Sequence[Parameter]], Utility]


def require_estimand(estimand: Estimand | None, kind: str) -> Estimand:
    if estimand is None:
        raise InvalidQuery("estimand", f"an object with a kind; the utility {kind} needs one")
    return estimand


def in_unit(utility: float) -> float:
    """Rounding may leave [0, 1] by a last digit; the mathematics does not."""
    return min(1.0, max(0.0, utility))
