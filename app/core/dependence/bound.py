"""A bound of how far the log-odds about a secret can move, with how it was found and what it takes for granted."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.errors import NumericalFailure

Basis = Literal["exact", "certified"]
ROUNDING = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class Bound:
    """`exact`: some mechanism of this ε reaches it, up to rounding. `certified`: none exceeds it."""

    value: float
    method: str
    basis: Basis
    assumption: str

    def __post_init__(self) -> None:
        if not self.value >= 0 or math.isinf(self.value):
            raise NumericalFailure("a bound of an inference came out negative or undefined")


def rounded_up(value: float, absolute: float = 0.0) -> float:
    """With room for what doubles lost."""
    return max(0.0, value) * ROUNDING + absolute


def least(bounds: Iterable[Bound]) -> Bound:
    """All bound the same number. Of equal ones the exact; an exact one is not beaten by more than rounding."""
    found = sorted(bounds, key=lambda bound: (bound.value, bound.basis != "exact"))
    if not found:
        raise ValueError("at least one bound")
    exact = [bound for bound in found if bound.basis == "exact" and bound.value <= found[0].value * (1 + 1e-9) + 1e-9]
    return (exact or found)[0]
