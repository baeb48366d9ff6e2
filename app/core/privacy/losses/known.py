"""What was found of a release's own losses when it was asked for, kept with its cost: cards and lists compute nothing.

A figure for N draws at δ holds for the first k of them too, whose law is what is left of theirs, and at every larger δ.
"""

import math
from dataclasses import dataclass, replace

from app.core.privacy.cost import ZERO_COST, Cost
from app.core.privacy.release_cost import ReleaseCost

Figure = tuple[int, float, float]


@dataclass(frozen=True, slots=True)
class KnownLosses:
    """`figures`: (draws, δ, ε)."""

    figures: tuple[Figure, ...]

    def epsilon(self, draws: int, delta: float) -> float:
        return min(
            (epsilon for most, least, epsilon in self.figures if draws <= most and delta >= least), default=math.inf
        )


def with_known(cost: ReleaseCost, delta: float) -> ReleaseCost:
    """The same cost with the figures that are shown: of one draw and of all, at `delta`; of several models, of each."""
    parts = tuple(with_known(part, delta) for part in cost.parts)
    per_sample = _known(cost.per_sample, cost.samples, delta)
    return replace(cost, per_sample=per_sample, once=_known(cost.once, 1, delta), parts=parts)


def figures_of(cost: Cost) -> tuple[Figure, ...]:
    return cost.losses.figures if isinstance(cost.losses, KnownLosses) else ()


def _known(cost: Cost, samples: int, delta: float) -> Cost:
    rest = delta - cost.slack_delta
    if cost.losses is None or cost == ZERO_COST or not rest > 0:
        return replace(cost, losses=None)
    found = [(draws, delta, cost.losses.epsilon(draws, delta)) for draws in sorted({1, samples})]
    kept = tuple(figure for figure in found if math.isfinite(figure[2]))
    return replace(cost, losses=KnownLosses(kept) if kept else None)
