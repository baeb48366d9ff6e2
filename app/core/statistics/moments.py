"""What a regression asks of the rows, and the exact sums of whole numbers that come back.

A record is z = x̃/max(B, ‖x̃‖), x̃ = (1, scaled features) with the 1 only if there is an intercept: the direction is kept and
‖z‖₂ ≤ 1. Each coordinate becomes the whole number Z_j = ⌊z_j·S + ½⌋, S = 2¹⁶ − ⌊√d/2⌋ − 1. Rounding moves Z by at most
√d/2 in all, so ‖Z‖₂ < 2¹⁶ − (⌊√d/2⌋ + 1 − √d/2) + 2⁻³⁰ < 2¹⁶ whatever the record, with room for the rounding of the
doubles before. The target is Y = ⌊ỹ·2¹⁶ + ½⌋, |Y| ≤ 2¹⁶. Sums of Z_iZ_j, Z_iY, Y² and Z_i are whole numbers: neither the
order of the rows nor the engine can change them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.statistics.coordinates import Coordinate
from app.core.statistics.sums import RowRequest

Whole = NDArray[np.int64]

LATTICE_BITS = 16
LATTICE: int = 1 << LATTICE_BITS


@dataclass(frozen=True, slots=True)
class MomentsRequest(RowRequest["ExactMoments"]):
    coordinates: tuple[Coordinate, ...]
    intercept: bool
    norm_bound: float
    target: Coordinate | None = None

    @property
    def dimension(self) -> int:
        return len(self.coordinates) + int(self.intercept)

    @property
    def columns(self) -> tuple[str, ...]:
        names = [coordinate.column for coordinate in self.coordinates]
        return tuple(dict.fromkeys(names if self.target is None else [*names, self.target.column]))

    @property
    def steps(self) -> int:
        """S: how many steps of the lattice a coordinate of 1 is."""
        return LATTICE - math.isqrt(self.dimension // 4) - 1  # ⌊√d/2⌋ = ⌊√(d/4)⌋

    @property
    def operations(self) -> int:
        """Coordinates on the lattice, and the products of every two."""
        d = self.dimension + 1
        return 4 * d + d * (d + 1) // 2

    def of_no_rows(self) -> "ExactMoments":
        d = self.dimension
        return ExactMoments(np.zeros((d, d), np.int64), np.zeros(d, np.int64), 0, np.zeros(d, np.int64), 0)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExactMoments:
    """Private: sums over the rows in steps of the lattice, and how many rows there were. Does not print them."""

    products: Whole
    """Σ Z Zᵀ, symmetric."""
    cross: Whole
    """Σ Z·Y, zero without a target."""
    square: int
    """Σ Y²."""
    sums: Whole
    """Σ Z."""
    rows: int

    def __repr__(self) -> str:
        return "ExactMoments(private)"


def moments_of(request: MomentsRequest, rows: Mapping[str, Sequence[Any] | NDArray[Any]]) -> ExactMoments:
    """From columns of cells. The reference every engine is held to: squares are added in the order of the coordinates."""
    Z = lattice_rows(request, rows)
    count = len(Z)
    Y = np.zeros(count, dtype=np.int64)
    if request.target is not None:
        Y = np.floor(request.target.scaled(rows[request.target.column]) * LATTICE + 0.5).astype(np.int64)
    return ExactMoments(Z.T @ Z, Z.T @ Y, int(Y @ Y), Z.sum(axis=0), count)


def lattice_rows(request: MomentsRequest, rows: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Whole:
    """Z, one row a record."""
    scaled = [coordinate.scaled(rows[coordinate.column]) for coordinate in request.coordinates]
    if request.intercept:
        scaled.insert(0, np.ones_like(scaled[0]))
    norm_square = np.zeros_like(scaled[0])
    for values in scaled:
        norm_square = norm_square + values * values
    divisor = np.maximum(np.sqrt(norm_square), request.norm_bound)
    return np.stack([np.floor(values / divisor * request.steps + 0.5).astype(np.int64) for values in scaled], axis=1)
