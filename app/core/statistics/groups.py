"""Any statistic, once for every group of rows: groups are all combinations of declared levels of some columns.

Levels are declared and never observed, so that every group is answered, one without rows too, and no person can move another
person's rows between groups.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from app.core.parameters import Group
from app.core.schema import Column, RowExpression
from app.core.statistics.sums import RowRequest

INTEGER_LEVELS_MAX = 64
"""An integer column of no more values has levels too: its whole numbers."""


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """A column with the levels it is grouped by, in the order they are counted in."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupedRequest(RowRequest["ExactGroups"]):
    """`of`, once a group: groups in the order of their levels, last column fastest. Without columns there is one group.

    Rows that do not meet `where`, or have no value in one of the columns `present`, are in no group.
    """

    of: RowRequest[Any]
    by: tuple[GroupColumn, ...]
    where: RowExpression | None = None
    present: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        asked = () if self.where is None else self.where.columns
        names = (*self.of.columns, *(column.name for column in self.by), *asked, *self.present)
        return tuple(dict.fromkeys(names))

    @property
    def size(self) -> int:
        return group_count(self.by)

    @property
    def operations(self) -> int:
        """A level for every column, the place of the group, and what the condition computes."""
        asked = 0 if self.where is None else len(self.where.tree)
        return self.of.operations + 2 * len(self.by) + 1 + asked + len(self.present)

    def of_no_rows(self) -> "ExactGroups":
        return ExactGroups(tuple(self.of.of_no_rows() for _ in range(self.size)))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExactGroups:
    """Private: one exact answer a group. Does not print them."""

    parts: tuple[Any, ...]

    def __repr__(self) -> str:
        return "ExactGroups(private)"


def group_count(by: tuple[GroupColumn, ...]) -> int:
    return math.prod(len(column.levels) for column in by)


def groups_of(by: tuple[GroupColumn, ...]) -> list[Group]:
    """All of them, last column fastest."""
    names = [column.name for column in by]
    return [tuple(zip(names, levels, strict=True)) for levels in product(*(column.levels for column in by))]


def declared_levels(column: Column) -> tuple[str, ...] | None:
    """Categories as declared; false, true; whole numbers as their decimal texts; None where there are none, or too many."""
    if column.type == "categorical":
        return column.levels
    if column.type == "binary":
        return ("false", "true")
    if column.type == "integer" and column.lower is not None and column.upper is not None:
        low, high = int(column.lower), int(column.upper)
        if high - low < INTEGER_LEVELS_MAX:
            return tuple(str(value) for value in range(low, high + 1))
    return None


def group_column(name: str, columns: Mapping[str, Column]) -> GroupColumn | None:
    """None for a name that is no column's, or of a column without levels."""
    levels = declared_levels(columns[name]) if name in columns else None
    return None if levels is None else GroupColumn(name, levels)
