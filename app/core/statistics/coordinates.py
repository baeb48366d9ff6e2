"""Columns as coordinates: each feature scaled by its public bounds to [−1, 1], levels as indicators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from app.core.schema import Column
from app.errors import InvalidModel

Array = NDArray[np.float64]
Kind = Literal["number", "binary", "level"]

COORDINATES_MAX = 64
WIDTH_MIN = 1e-150
"""Half of the narrowest range: squares of what is divided by it stay finite."""


@dataclass(frozen=True, slots=True)
class Coordinate:
    """x̃ = (x − centre)/half_width clipped to [−1, 1]; for a `level`, 1 where the cell is that level and else 0.

    A missing or unreadable cell counts as the lower bound, as false, or as the first level, whichever the column has: no
    row is dropped for its values.
    """

    column: str
    kind: Kind
    centre: float = 0.0
    half_width: float = 1.0
    level: str | None = None
    missing: float = 0.0

    @property
    def name(self) -> str:
        return self.column if self.level is None else f"{self.column}={self.level}"

    def scaled(self, cells: Sequence[Any] | NDArray[Any]) -> Array:
        """One subtraction, one division and two comparisons a cell, in doubles: the same on every engine."""
        if self.kind == "level":
            return np.array([1.0 if cell == self.level else 0.0 for cell in cells])
        numbers = np.array(cells, dtype=np.float64)
        numbers = np.where(np.isnan(numbers), self.missing, numbers)
        return np.clip((numbers - self.centre) / self.half_width, -1.0, 1.0)


def number_coordinate(field: str, column: Column, centred: bool = True) -> Coordinate:
    """A real, integer or binary column as one coordinate; without an intercept to absorb a centre, around 0."""
    if column.type == "binary":
        lower, upper = 0.0, 1.0
    elif column.lower is None or column.upper is None:
        raise InvalidModel(field, f"real, integer or binary columns; {column.name!r} is none")
    else:
        lower, upper = float(column.lower), float(column.upper)
    if not upper / 2 - lower / 2 >= WIDTH_MIN:
        raise InvalidModel(
            field, f"columns with bounds at least {2 * WIDTH_MIN:g} apart; those of {column.name!r} are not"
        )
    kind: Kind = "binary" if column.type == "binary" else "number"
    if centred:
        return Coordinate(column.name, kind, lower / 2 + upper / 2, upper / 2 - lower / 2, missing=lower)
    return Coordinate(column.name, kind, 0.0, max(abs(lower), abs(upper)), missing=lower)


def feature_coordinates(
    field: str, names: Sequence[str], columns: Mapping[str, Column], centred: bool
) -> tuple[Coordinate, ...]:
    """In the order given. A categorical column has one coordinate a level but the first: at most one of them is 1."""
    found: list[Coordinate] = []
    for name in names:
        if name not in columns:
            raise InvalidModel(field, f"names of columns; {name!r} is none")
        column = columns[name]
        if column.type == "categorical":
            found.extend(Coordinate(name, "level", level=level) for level in column.levels[1:])
        else:
            found.append(number_coordinate(field, column, centred))
    if len(found) >= COORDINATES_MAX:
        raise InvalidModel(field, f"fewer than {COORDINATES_MAX} coordinates, counting levels")
    return tuple(found)
