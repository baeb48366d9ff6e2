"""What a release costs where several people's data change, as everything here needs it; and several releases as one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.core.privacy.cost import ORDERS, ZERO_COST, Cost

Array = NDArray[np.float64]

GROUPS_EACH = 8
"""Up to here every number of people has a curve of its own; beyond, numbers are rounded up to the next that has one."""
_GROWTH = 1.5


class Losses(Protocol):
    """`group` is never smaller for more people. Both are of everything that is read."""

    @property
    def people(self) -> int: ...
    def group(self, count: int) -> Cost: ...
    def kl(self, count: int) -> float: ...


@dataclass(frozen=True)
class Together:
    """Several releases of the same people: curves and pure sums add first, and only then is anything concluded."""

    parts: tuple[Losses, ...]

    @property
    def people(self) -> int:
        return max(part.people for part in self.parts)

    def group(self, count: int) -> Cost:
        found = ZERO_COST
        for part in self.parts:
            found = found.plus(part.group(count))
        return found

    def kl(self, count: int) -> float:
        return math.fsum(part.kl(count) for part in self.parts)


def group_size(count: int, most: int) -> int:
    """The next number of people with a curve of its own, at most everybody."""
    if count <= GROUPS_EACH:
        return min(count, most)
    size = GROUPS_EACH
    while size < count:
        size = math.ceil(size * _GROWTH)
    return min(size, most)


def mixed_curve(losses: Losses, members: int, laws: Sequence[Sequence[Array]]) -> Array:
    """**H**: a bound of D_α between releases given two values of the secret, at every order.

    If w_h is how likely h others differ in a coupling of what two values leave to the others, then by joint convexity of
    e^{(α−1)D_α}, (α−1)·R(α) = ln Σ_h w_h·e^{(α−1)·D^{(members+h)}_α}. For two values the best coupling, of all the worst.
    """
    best = [np.min([_mixed(losses, members, law) for law in alternatives], axis=0) for alternatives in laws]
    return np.asarray(np.max(best, axis=0))


def _mixed(losses: Losses, members: int, law: Array) -> Array:
    powers = np.array(ORDERS) - 1
    masses: dict[int, float] = {}
    for others, mass in enumerate(law.tolist()):
        if mass > 0:
            size = group_size(members + others, losses.people)
            masses[size] = masses.get(size, 0.0) + mass
    terms = [math.log(mass) + powers * np.array(losses.group(size).curve) for size, mass in masses.items()]
    found = np.logaddexp.reduce(terms, axis=0) / powers
    return np.asarray(np.maximum(found, 0.0) * (1 + 1e-12) + 1e-15)


def mean_distance(losses: Losses, members: int, law: Array) -> float:
    """Σ_h w_h·TV_{members+h}: total variation between releases given two values."""
    sizes = [group_size(members + others, losses.people) for others in range(len(law))]
    known = {size: variation(losses.kl(size)) for size, mass in zip(sizes, law.tolist(), strict=True) if mass > 0}
    return min(1.0, math.fsum(mass * known.get(size, 0.0) for size, mass in zip(sizes, law.tolist(), strict=True)))


def variation(kl: float) -> float:
    """TV ≤ min(√(KL/2), √(1 − e^{−KL})): Pinsker; Bretagnolle and Huber."""
    return min(1.0, math.sqrt(kl / 2) if kl < 2 else 1.0, math.sqrt(-math.expm1(-kl)))
