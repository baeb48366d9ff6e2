"""A row expression that was read and typed, and its value for one row: the reference every engine is held to."""

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from app.core.language.climber import NEGATE
from app.core.language.tree import Tree

RowType = Literal["number", "text", "date", "truth", "bin"]
LIMIT = 1e300
"""What a sum, product or quotient grows to at most: no infinity ever, so nothing an engine could treat in its own way."""
TRUTH_AS_NUMBER, DAYS = "number of", "days"


@dataclass(frozen=True, slots=True)
class RowExpression:
    """`tree` refers to `columns` by their place. `whole` if its numbers are, `texts` what a text can be.

    It is missing where one of its columns is, or where one of its `denominators` (places in the tree) is 0.
    """

    text: str
    columns: tuple[str, ...]
    type: RowType
    whole: bool = field(compare=False)
    texts: tuple[str, ...] = field(compare=False)
    tree: Tree = field(compare=False, repr=False)

    @property
    def denominators(self) -> tuple[int, ...]:
        return tuple(node.arguments[1] for node in self.tree if node.operation == "/")

    @property
    def cuts(self) -> tuple[float, ...]:
        """Where the bins of a `bin` begin, the first one's apart."""
        return tuple(constant(self.tree, place) for place in self.tree[-1].arguments[1:])

    def value(self, row: Mapping[str, Any]) -> Any:
        """None where it is missing. Cells are truth values, numbers, levels and dates; a bin is its place from 0."""
        cells = [row[name] for name in self.columns]
        if any(cell is None for cell in cells):
            return None
        found: list[Any] = []
        for node in self.tree:
            arguments = [found[place] for place in node.arguments]
            if node.operation == "/" and arguments[1] == 0:
                return None
            found.append(_applied(node.operation, arguments, node.number, node.text, cells, node.parameter))
        return found[-1]


def constant(tree: Tree, place: int) -> float:
    """The number of a literal, perhaps with a sign. Raises ValueError for what is none."""
    node = tree[place]
    if node.operation == NEGATE:
        return -constant(tree, node.arguments[0])
    if node.operation != "number":
        raise ValueError
    return node.number


def _applied(
    operation: str, arguments: Sequence[Any], number: float, text: str, cells: Sequence[Any], place: int
) -> Any:
    if operation == "number":
        return number
    if operation == "text":
        return text
    if operation == "date":
        return datetime.date.fromisoformat(text)
    if operation == "parameter":
        cell = cells[place]
        return float(cell) if isinstance(cell, int) and not isinstance(cell, bool) else cell
    return _MEANINGS[operation](*arguments)


def _limited(value: float) -> float:
    return min(max(value, -LIMIT), LIMIT)


_MEANINGS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: _limited(a + b),
    "-": lambda a, b: _limited(a - b),
    "*": lambda a, b: _limited(a * b),
    "/": lambda a, b: _limited(a / b),
    NEGATE: lambda a: -a,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "in": lambda a, *others: a in others,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "min": min,
    "max": max,
    "abs": abs,
    "floor": lambda a: float(math.floor(a)),
    "where": lambda condition, a, b: a if condition else b,
    "bin": lambda x, *cuts: sum(x >= cut for cut in cuts),
    "year": lambda day: float(day.year),
    "month": lambda day: float(day.month),
    "day": lambda day: float(day.day),
    "weekday": lambda day: float(day.isoweekday()),
    DAYS: lambda a, b: float((a - b).days),
    TRUTH_AS_NUMBER: float,
}
