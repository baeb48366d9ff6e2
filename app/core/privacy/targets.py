"""What may be spent, (ε, δ), and how many samples of a known cost fit. From public numbers only."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.boundary_search import BoundarySearch
from app.core.privacy.cost import Cost
from app.core.privacy.release_cost import SAMPLES_MAX, ReleaseCost, chargeable
from app.errors import InvalidMechanism

UNITS = 4e-9
"""What rounding may come to: a charge is rounded up to whole 10⁻⁹, once or twice, and a capacity down by up to two."""


@dataclass(frozen=True, slots=True)
class Target:
    epsilon: float
    delta: float

    def fits(self, cost: ReleaseCost) -> bool:
        """Whether an empty account of exactly (ε, δ) admits it, in whole units too."""
        return self.fits_total(cost.total, cost.gaussian)

    def fits_total(self, total: Cost, gaussian: bool = False) -> bool:
        if not 0 < self.epsilon < math.inf:
            return False
        whole = gaussian or total.pure <= chargeable(self.epsilon)
        return total.epsilon(self.delta) <= (self.epsilon if whole else self.epsilon - UNITS)

    def search(
        self,
        cost_at: Callable[[float], Cost],
        predicted_at: Callable[[float], NDArray[np.float64]],
        ends: tuple[float, float],
        start: float,
    ) -> float | None:
        """The largest argument that fits; none where not even the lowest does, or the target is no number."""
        if not self.epsilon > UNITS:
            return None
        return BoundarySearch(cost_at, predicted_at, (self.epsilon - UNITS, self.delta), ends, start).largest()


def largest_samples(cost: ReleaseCost, target: Target) -> int:
    """N for a release whose single sample is known to cost `cost`."""
    if not target.fits(replace(cost, samples=1)):
        one = replace(cost, samples=1).total.epsilon(target.delta)
        raise impossible("a single sample costs", one)
    low, high = 1, SAMPLES_MAX
    while low < high:
        middle = (low + high + 1) // 2
        if target.fits(replace(cost, samples=middle)):
            low = middle
        else:
            high = middle - 1
    return low


def impossible(what: str, epsilon: float) -> InvalidMechanism:
    return InvalidMechanism(
        "target.epsilon",
        f"at least {_rounded_up(epsilon + UNITS)}: {what} that much here. More people, a narrower range of the parameter, a "
        "lower temperature, a stronger prior or fewer samples make it cheaper",
    )


def _rounded_up(epsilon: float) -> str:
    """Five digits, never below `epsilon`: what is asked for must be enough."""
    digits = 4 - math.floor(math.log10(epsilon)) if 0 < epsilon < math.inf else 4
    return f"{math.ceil(epsilon * 10.0**digits) / 10.0**digits:g}" if math.isfinite(epsilon) else str(epsilon)
