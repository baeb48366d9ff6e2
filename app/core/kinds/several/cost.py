"""What several parts cost together: their curves, pure ε and slack, added exactly and rounded up once.

    D_α(P₁×…×P_m ‖ Q₁×…×Q_m) = Σ_i D_α(P_i ‖ Q_i)

for independent parts, on the same neighbours: the supremum of the sum is at most the sum of the suprema.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from app.core.privacy import ZERO_COST
from app.core.privacy.cost import ORDERS, Cost
from app.core.privacy.release_cost import ReleaseCost


def composed(parts: Sequence[ReleaseCost]) -> ReleaseCost:
    """All samples of all parts, in `once`: the dataset pays for everything, and readers by part."""
    whole = Cost(
        _total(parts, lambda cost: cost.pure),
        tuple(_total(parts, _at(place)) for place in range(len(ORDERS))),
        _total(parts, lambda cost: cost.slack_delta),
        all(part.gaussian for part in parts),
    )
    return ReleaseCost(
        per_sample=ZERO_COST,
        samples=max(part.samples for part in parts),
        kl_sup=sum(part.kl_sup * (part.samples if part.per_sample.pure > 0 else 1) for part in parts),
        papers_pure=sum(part.papers_pure for part in parts),
        method=f"certified: the sum of what {len(parts)} parts cost, each by itself",
        grid_points=max(part.grid_points for part in parts),
        once=whole,
        parts=tuple(parts),
    )


def _at(place: int) -> Callable[[Cost], float]:
    return lambda cost: cost.curve[place]


def _total(parts: Iterable[ReleaseCost], of: Callable[[Cost], float]) -> float:
    """Σ once + samples · per_sample, the smallest double not below it."""
    terms = [(of(part.once), 1) for part in parts] + [(of(part.per_sample), part.samples) for part in parts]
    if any(math.isinf(value) for value, _ in terms):
        return math.inf
    exact = sum((Fraction(value) * times for value, times in terms), Fraction(0))
    found = float(exact)
    return found if Fraction(found) >= exact else math.nextafter(found, math.inf)
