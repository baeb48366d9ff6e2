"""Which rows a `where` means, and what of it is public.

A filter is a condition on one row; where it has no value (an input is missing) it does not hold. Joined by `and`, it splits into
a public part, of columns that everybody knows, which chooses strata; and a private part, which makes one measured group. A row
is in the filter exactly if both hold.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.core.language.climber import NEGATE
from app.core.language.tokens import NAME
from app.core.language.tree import Tree
from app.core.schema.column import Column
from app.core.schema.rows.expression import DAYS, TRUTH_AS_NUMBER, RowExpression
from app.core.schema.rows.grammar import WORDS, parse_row
from app.errors import InvalidExpression

_BINDING = {"or": 1, "and": 2, "not": 3, "in": 4, "+": 5, "-": 5, DAYS: 5, "*": 6, "/": 6, NEGATE: 7}
_BINDING |= dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 4)
_LEAF = 8


@dataclass(frozen=True, slots=True)
class RowFilter:
    """`condition` is all of it; `public_part` and `private_part` are its conjuncts by what they look at, None if there is none.

    `text` is one spelling of the condition, whatever blanks and parentheses it was written with.
    """

    condition: RowExpression
    public_part: RowExpression | None
    private_part: RowExpression | None

    @property
    def text(self) -> str:
        return written(self.condition)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.condition.columns

    def holds(self, row: Mapping[str, Any]) -> bool:
        return bool(self.condition.value(row))


def parse_filter(text: str, columns: Mapping[str, Column], field: str = "where") -> RowFilter:
    """A condition on rows with these columns. Raises InvalidExpression with a position."""
    condition = parse_row(text, columns, field)
    if condition.type != "truth":
        raise InvalidExpression(field, "a condition, such as age >= 65", 0)
    parts: dict[bool, list[str]] = {True: [], False: []}
    for root in _conjuncts(condition.tree):
        names = {node.text for node in _below(condition.tree, root) if node.operation == "parameter"}
        if not names:
            raise InvalidExpression(field, "conditions that each name a column", condition.tree[root].position)
        public = all(columns[name].public for name in names)
        parts[public].append(_text(condition.tree, root, _BINDING["and"]))
    read = {public: parse_row(" and ".join(part), columns, field) for public, part in parts.items() if part}
    return RowFilter(condition, read.get(True), read.get(False))


def written(expression: RowExpression) -> str:
    """The expression with one blank around operators and no parentheses it does not need."""
    return _text(expression.tree, len(expression.tree) - 1, 0)


def _conjuncts(tree: Tree) -> list[int]:
    found, waiting = [], [len(tree) - 1]
    while waiting:
        place = waiting.pop()
        if tree[place].operation == "and":
            waiting += tree[place].arguments
        else:
            found.append(place)
    return sorted(found)


def _below(tree: Tree, root: int) -> Iterator[Any]:
    waiting = [root]
    while waiting:
        node = tree[waiting.pop()]
        waiting += node.arguments
        yield node


def _text(tree: Tree, place: int, floor: int) -> str:
    """Recursion is as deep as the text nests, which is bounded; long chains lean to the left and are walked as deep as they are
    long, which is bounded, too."""
    node = tree[place]
    operation = node.operation
    if operation == TRUTH_AS_NUMBER:
        return _text(tree, node.arguments[0], _LEAF)
    if operation == "number":
        return repr(int(node.number)) if node.number.is_integer() and node.number < 2**53 else repr(node.number)
    if operation in ("text", "date"):
        return "'" + node.text.replace("'", "''") + "'"
    if operation == "parameter":
        plain = NAME.fullmatch(node.text) is not None and node.text not in WORDS
        return node.text if plain else f"`{node.text}`"
    if operation not in _BINDING:
        return f"{operation}({', '.join(_text(tree, each, 0) for each in node.arguments)})"
    binds = _BINDING[operation]
    shown = _operator_text(tree, node.arguments, "-" if operation == DAYS else operation, binds)
    return f"({shown})" if binds < floor else shown


def _operator_text(tree: Tree, arguments: tuple[int, ...], operation: str, binds: int) -> str:
    if operation == NEGATE:
        return "-" + _text(tree, arguments[0], _LEAF)
    if operation == "not":
        return "not " + _text(tree, arguments[0], binds)
    first, *others = arguments
    left = _text(tree, first, binds + (binds == _BINDING["in"]))
    if operation == "in":
        return f"{left} in ({', '.join(_text(tree, each, _BINDING['+']) for each in others)})"
    return f"{left} {operation} {_text(tree, others[0], binds + 1)}"
