"""A table of columns of different types, a piece at a time: synthetic rows, and draws or figures in long format."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

CELLS_AT_ONCE = 2**13
"""What is turned into text at a time: other threads wait meanwhile, the one that serves everyone among them."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """Doubles, of which NaN stands for none, whole numbers or truths; or, with `levels`, which of these texts each row has."""

    name: str
    values: NDArray[Any]
    levels: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of the same length, at least one."""

    columns: tuple[TableColumn, ...]

    @property
    def rows(self) -> int:
        return len(self.columns[0].values)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def pieces(self) -> Iterator[tuple[TableColumn, ...]]:
        """The same columns a few thousand cells at a time."""
        step = max(1, CELLS_AT_ONCE // len(self.columns))
        for start in range(0, self.rows, step):
            yield tuple(TableColumn(each.name, each.values[start : start + step], each.levels) for each in self.columns)


def cells(column: TableColumn) -> list[Any]:
    """As Python has them: floats, ints, bools and texts."""
    values: list[Any] = np.asarray(column.values).tolist()
    return values if column.levels is None else [column.levels[code] for code in values]
