"""Outputs of runs as numbers: what was sent, or printed by a command, one JSON value a run.

Every run must have the same shape: a number, truth value or text, or a list of them. What is not finite is not compared, ever:
NaN makes every comparison false, and a test that cannot reject then looks like one that did not have to.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidAudit

Array = NDArray[np.float64]

RUNS_MAX = 2_000_000
WIDTH_MAX = 64
CATEGORIES_MAX = 64
FITTED = 5
"""One in so many runs, the first of either side, are what scores are fitted on."""


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """`numbers` (runs, coordinates); `kinds` the place of every run among at most 64 different outputs of the first runs,
    one more for any other; None if those are more."""

    numbers: Array
    kinds: NDArray[np.int64] | None
    finite: bool

    @property
    def runs(self) -> int:
        return len(self.numbers)

    def part(self, which: slice) -> "Outputs":
        return Outputs(self.numbers[which], None if self.kinds is None else self.kinds[which], self.finite)


def read_sides(x: Sequence[Any], y: Sequence[Any]) -> tuple[Outputs, Outputs]:
    """Both sides read as one, so that the same output is the same kind; which kinds there are the first runs say, that scores are
    fitted on: what decides must not choose how it is scored. Raises InvalidAudit."""
    for name, side in (("x", x), ("y", y)):
        if not 1 <= len(side) <= RUNS_MAX:
            raise InvalidAudit(f"subject.{name}", f"outputs of 1 to {RUNS_MAX} runs")
    rows = [*x, *y]
    width = len(rows[0]) if isinstance(rows[0], list) else None
    if width is not None and not 1 <= width <= WIDTH_MAX:
        raise InvalidAudit("subject.x.0", f"at most {WIDTH_MAX} numbers a run")
    numbers = np.array([_row(row, width) for row in rows], dtype=np.float64)
    finite = bool(np.isfinite(numbers).all())
    first = min(len(x), len(y)) // FITTED
    kinds = _kinds(numbers, np.r_[0:first, len(x) : len(x) + first]) if finite and first else None
    halves = slice(0, len(x)), slice(len(x), None)
    return tuple(Outputs(numbers, kinds, finite).part(half) for half in halves)  # type: ignore[return-value]


def _row(row: Any, width: int | None) -> list[float]:
    if (width is None) is isinstance(row, list) or (width is not None and len(row) != width):
        raise InvalidAudit("subject", "runs that all give one value, or all lists of the same length")
    return [_number(value) for value in (row if isinstance(row, list) else [row])]


def _number(value: Any) -> float:
    """A text counts by its own bytes: by the order in which texts came, those of x would be below those of y."""
    if isinstance(value, str):
        return float(int.from_bytes(hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()[:6], "big"))
    if value is None:
        return math.nan
    if not isinstance(value, int | float):
        raise InvalidAudit("subject", "numbers, texts or truth values")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _kinds(numbers: Array, first: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Places among the outputs of the first runs; all others are one kind more."""
    if numbers.shape[1] == 1:
        different, place = np.unique(numbers[:, 0], return_inverse=True)
    else:
        different, place = np.unique(numbers, axis=0, return_inverse=True)
    seen = np.unique(place.ravel()[first])
    if len(seen) > CATEGORIES_MAX:
        return None
    kinds = np.full(len(different), len(seen), dtype=np.int64)
    kinds[seen] = np.arange(len(seen))
    return np.asarray(kinds[place.ravel()])


def last_set_bit(values: Array) -> Array:
    """The exponent of the lowest set bit of each double, 0 for 0: continuous samplers leak there (Mironov 2012)."""
    fraction, exponent = np.frexp(values)
    whole = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    low = whole & -whole
    found = np.where(whole == 0, 0, exponent - 53 + np.log2(np.maximum(low, 1)).astype(np.int64))
    return np.asarray(found, dtype=np.float64)
