"""A compiled expression: checked once from public numbers, then evaluated over any samples without errors."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.expressions.operations import COMPARISONS, JOINS_CONDITIONS, OPERATIONS, Operation, Values
from app.core.decisions.expressions.parser import parse
from app.core.decisions.expressions.ranges import OutOfDomain, Range
from app.core.language.tree import MAGNITUDE_MAX, Node, Tree
from app.core.parameters import Parameter, places
from app.errors import InvalidExpression, InvalidQuery

Columns = NDArray[np.float64] | Sequence[NDArray[np.float64]]
"""One array a name."""

# Samples evaluated at a time: keeps few arrays of this length alive, whatever the sample count.
CHUNK = 4_096


@dataclass(frozen=True, slots=True)
class Expression:
    """Values over samples, and the public range `[lower, upper]` that contains all of them.

    `extra` are further names with ranges of their own, before which a parameter of the same name steps back. Text and
    names decide everything else, so they alone make two expressions equal.
    """

    text: str
    parameters: tuple[Parameter, ...]
    extra: tuple[Parameter, ...]
    tree: Tree = field(compare=False, repr=False)
    ranges: tuple[Range, ...] = field(compare=False, repr=False)

    @property
    def lower(self) -> float:
        return self.ranges[-1][0]

    @property
    def upper(self) -> float:
        return self.ranges[-1][1]

    @property
    def nodes(self) -> int:
        return len(self.tree)

    def part(self, root: int) -> "Expression":
        """The expression that this node is the root of."""
        needed = {root}
        for index in range(root, -1, -1):
            if index in needed:
                needed.update(self.tree[index].arguments)
        kept = sorted(needed)
        places = {index: place for place, index in enumerate(kept)}
        nodes = (self.tree[index] for index in kept)
        tree = tuple(node._replace(arguments=tuple(places[each] for each in node.arguments)) for node in nodes)
        return Expression(self.text, self.parameters, self.extra, tree, tuple(self.ranges[index] for index in kept))

    def values(self, columns: Columns, extra: Columns = ()) -> NDArray[np.float64]:
        """One value per sample; `columns` are the names' samples, inside their public ranges."""
        size = len(columns[0])
        result = np.empty(size)
        for start in range(0, size, CHUNK):
            part = slice(start, start + CHUNK)
            result[part] = self.evaluate(columns, [column[part] for column in extra], part)
        return result

    def evaluate(self, columns: Columns, extra: Columns, part: slice) -> Values:
        """At the samples of `part`. `extra` are arrays that broadcast against them."""
        with np.errstate(all="ignore"):  # vector libraries raise flags spuriously; ranges exclude real ones
            return self._evaluate(columns, extra, part)

    def _evaluate(self, columns: Columns, extra: Columns, part: slice) -> Values:
        slots: list[Any] = []
        for node, reach in zip(self.tree, self.ranges, strict=True):
            if node.operation == "number":
                slots.append(np.float64(node.number))
            elif node.operation == "parameter":
                own = node.parameter - len(self.parameters)
                slots.append(columns[node.parameter][part] if own < 0 else extra[own])
            else:
                operation = OPERATIONS[node.operation]
                given = [slots[index] for index in node.arguments]
                made = [slots[index] for index in node.arguments if self.tree[index].arguments]
                for index in node.arguments:  # a node is the argument of one other: what was used can go
                    slots[index] = None
                value = _apply(operation, given, made)
                if operation.clipped:
                    room = value if isinstance(value, np.ndarray) else None
                    value = np.minimum(np.maximum(value, reach[0], out=room), reach[1], out=room)
                slots.append(value)
        result: Values = slots[-1]
        return result


def _apply(operation: Operation, given: Sequence[Any], made: Sequence[Any]) -> Any:
    """Into one of the arrays `made` on the way and used only here, if the result fits: fresh memory takes longer than sums."""
    if operation.writes:
        for room in made:
            if isinstance(room, np.ndarray) and np.broadcast(*given).shape == room.shape:
                return operation.apply(*given, out=room)
    return operation.apply(*given)


def compile_expression(
    text: object, parameters: Sequence[Parameter], field: str, extra: Sequence[Parameter] = ()
) -> Expression:
    """Parses and checks `text`. Raises InvalidExpression naming `field` and a position.

    Every refusal follows from the text and the parameters' public ranges; evaluation cannot fail.
    """
    if not isinstance(text, str):
        raise InvalidQuery(field, "an expression as text")
    own = {name.name: len(parameters) + index for index, name in enumerate(extra)}
    tree = parse(text, own, places(parameters), field)
    ranges: list[Range] = []
    conditions: list[bool] = []
    for node in tree:
        conditions.append(_is_condition(node, conditions, field))
        ranges.append(_range_of(node, ranges, parameters, extra, field))
    return Expression(text, tuple(parameters), tuple(extra), tree, tuple(ranges))


def _is_condition(node: Node, known: Sequence[bool], field: str) -> bool:
    if node.operation == "where" and not known[node.arguments[0]]:
        expected = "a comparison as the first argument of where, or several joined with *, min or max"
        raise InvalidExpression(field, expected, node.position)
    if node.operation in JOINS_CONDITIONS:
        return all(known[index] for index in node.arguments)
    return node.operation in COMPARISONS


def _range_of(
    node: Node, known: Sequence[Range], parameters: Sequence[Parameter], extra: Sequence[Parameter], field: str
) -> Range:
    try:
        reach = _unlimited_range(node, known, parameters, extra)
    except OutOfDomain as error:
        raise InvalidExpression(field, error.expected, node.position) from None
    except OverflowError:
        reach = (-np.inf, np.inf)
    if not (reach[0] >= -MAGNITUDE_MAX and reach[1] <= MAGNITUDE_MAX):
        expected = f"a result of size at most {MAGNITUDE_MAX:g} over the parameters' public ranges"
        raise InvalidExpression(field, expected, node.position)
    return reach


def _unlimited_range(
    node: Node, known: Sequence[Range], parameters: Sequence[Parameter], extra: Sequence[Parameter]
) -> Range:
    if node.operation == "number":
        return node.number, node.number
    if node.operation == "parameter":
        own = node.parameter - len(parameters)
        parameter = parameters[node.parameter] if own < 0 else extra[own]
        return float(parameter.lower), float(parameter.upper)
    return OPERATIONS[node.operation].reach(*[known[index] for index in node.arguments])
