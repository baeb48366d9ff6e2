"""How fast an expression changes with one of its names, everywhere in a box of all names, by interval arithmetic.

Let the one name `x` move and hold everything computed without it at its floating-point value; what is left is a real function
of x. For every node, over boxes given as arrays of lower and upper ends:
    value   contains what that function takes,
    slope   contains its derivative wherever it has one; min, max and abs have corners, where the hull of both sides stands,
so |f(x) − f(y)| is at most the integral of |slope| between x and y. A node that can jump as x moves, or whose slope is not
bounded, is refused where it stands. Ends are rounded outward.

`error` bounds how far the floating-point value of a node is from the real function: what the arguments' errors make of it,
which is the slope rule with the errors in place of the slopes (mean value theorem), and a last digit of its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.expressions.expression import Expression
from app.core.decisions.expressions.operations import COMPARISONS
from app.core.language.climber import NEGATE
from app.core.language.tree import MAGNITUDE_MAX, Node
from app.errors import InvalidExpression

Array = NDArray[np.float64]
Span = tuple[Any, Any]
"""Lower and upper ends; arrays, or numbers, that broadcast."""
Box = Callable[[int], Span]
"""Column → the span of that name."""

# Relative, each side: + − * / round to half a last digit, the libraries' exp and log to a few.
OUTWARD = 2.0**-50
# An exponent is rounded too, and x^y moves by |y·ln x| ≤ 345 times as much.
OUTWARD_POWER = 2.0**-43
ZERO: Span = (0.0, 0.0)
ONE: Span = (1.0, 1.0)
JUMPS = "a utility that does not jump as r moves: give responses with steps, or write it with min, max and abs"
STEEP = "a utility whose slope in r is bounded, or responses with steps"


@dataclass(frozen=True, slots=True)
class Motion:
    """Of the whole expression. `error` is one number, for all boxes."""

    value: Span
    slope: Span
    error: float


def motion(expression: Expression, box: Box, moving: int, field: str, *, errors: bool = False) -> Motion:
    """`moving` is the column of the name that moves. Raises InvalidExpression(field, …, position) as said above.

    What passes over the public ranges passes over every part of them. With `errors` there is one box, all of the public ranges,
    and floating-point values, which are inside `reach`, count as values the real function may take.
    """
    values: list[Span] = []
    slopes: list[Span] = []
    wrong: list[float] = []
    with np.errstate(all="ignore"):
        for node, reach in zip(expression.tree, expression.ranges, strict=True):
            value, slope, error = _constant(node, reach, box, moving), ZERO, 0.0
            if value is None:
                known = [values[index] for index in node.arguments]
                moved = [slopes[index] for index in node.arguments]
                value = VALUES[node.operation](*known)
                for index in node.arguments:  # a node is the argument of one other: what was used can go
                    values[index] = slopes[index] = ZERO
                if any(each is not ZERO for each in moved):
                    value = (np.minimum(value[0], reach[0]), np.maximum(value[1], reach[1])) if errors else value
                    slope = _slope(node, known, moved, value, field)
                    if errors:
                        error = _error(node, known, [wrong[index] for index in node.arguments], value, field)
            elif node.operation == "parameter" and node.parameter == moving:
                slope = ONE
            values.append(value)
            slopes.append(slope)
            wrong.append(error)
    return Motion(values[-1], slopes[-1], wrong[-1])


def public_box(expression: Expression, moving: int, ends: Span) -> Box:
    """All names over their public ranges, but the moving one over `ends`."""

    def box(column: int) -> Span:
        if column == moving:
            return ends
        own = column - len(expression.parameters)
        name = expression.parameters[column] if own < 0 else expression.extra[own]
        return float(name.lower), float(name.upper)

    return box


def _constant(node: Node, reach: tuple[float, float], box: Box, moving: int) -> Span | None:
    """A leaf, or a node that public ranges leave one value; None where it has to be worked out."""
    if node.operation == "parameter":
        return box(node.parameter)
    return reach if reach[0] == reach[1] else None


def _slope(node: Node, known: Sequence[Span], moved: Sequence[Span], value: Span, field: str) -> Span:
    if node.operation in COMPARISONS:
        raise InvalidExpression(field, JUMPS, node.position)
    slope = SLOPES[node.operation](known, moved, value)
    if not (np.all(slope[0] >= -MAGNITUDE_MAX) and np.all(slope[1] <= MAGNITUDE_MAX)):
        raise InvalidExpression(field, STEEP, node.position)
    return slope


def _error(node: Node, known: Sequence[Span], wrong: Sequence[float], value: Span, field: str) -> float:
    spread = _slope(node, known, [ZERO if each == 0 else (-each, each) for each in wrong], value, field)
    size = max(float(np.max(np.abs(value[0]))), float(np.max(np.abs(value[1]))))
    return float(np.max(spread[1])) + size * (OUTWARD_POWER if node.operation == "**" else OUTWARD)


def _wide(low: Any, high: Any, relative: float = OUTWARD) -> Span:
    return low - np.abs(low) * relative, high + np.abs(high) * relative


def _hull(*ends: Any) -> Span:
    low, high = ends[0], ends[0]
    for end in ends[1:]:
        low, high = np.minimum(low, end), np.maximum(high, end)
    return low, high


def _plus(a: Span, b: Span) -> Span:
    return b if a is ZERO else a if b is ZERO else _wide(a[0] + b[0], a[1] + b[1])


def _minus(a: Span, b: Span) -> Span:
    return _plus(a, _negative(b))


def _negative(a: Span) -> Span:
    return a if a is ZERO else (-a[1], -a[0])


def _times(a: Span, b: Span) -> Span:
    if a is ZERO or b is ZERO:
        return ZERO
    return _wide(*_hull(a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]))


def _over(a: Span, b: Span) -> Span:
    """Where b may be 0 every slope is infinite, which is refused."""
    if a is ZERO:
        return ZERO
    low, high = _wide(*_hull(a[0] / b[0], a[0] / b[1], a[1] / b[0], a[1] / b[1]))
    around = (b[0] <= 0) & (b[1] >= 0)
    return np.where(around, -np.inf, low), np.where(around, np.inf, high)


def _power(a: Span, b: Span) -> Span:
    """As in `ranges.power`: monotone in both where a ≥ 0, and a negative base has one whole exponent."""
    exponents = b[:1] if b[0] is b[1] else b
    low, high = _hull(*(np.power(x, y) for x in a for y in exponents))
    dips = (a[0] < 0) & (a[1] > 0) & (b[0] > 0) & (b[0] % 2 == 0)
    low, high = _wide(np.where(dips, 0.0, low), high, OUTWARD_POWER)
    endless = (a[0] <= 0) & (a[1] >= 0) & (b[0] < 0)
    return np.where(endless, -np.inf, low), np.where(endless, np.inf, high)


def _size(a: Span) -> Span:
    low, high = _hull(np.abs(a[0]), np.abs(a[1]))
    return np.where((a[0] <= 0) & (a[1] >= 0), 0.0, low), high


def _compared(holds: Callable[[Span, Span], Any], fails: Callable[[Span, Span], Any]) -> Callable[[Span, Span], Span]:
    def value(a: Span, b: Span) -> Span:
        return np.where(holds(a, b), 1.0, 0.0), np.where(fails(a, b), 0.0, 1.0)

    return value


def _less(a: Span, b: Span) -> Any:
    return np.less(a[1], b[0])


def _less_equal(a: Span, b: Span) -> Any:
    return np.less_equal(a[1], b[0])


def _same(a: Span, b: Span) -> Any:
    return np.equal(a[0], a[1]) & np.equal(b[0], b[1]) & np.equal(a[0], b[0])


def _apart(a: Span, b: Span) -> Any:
    return _less(a, b) | _less(b, a)


def _selected(condition: Span, a: Span, b: Span) -> Span:
    """The first where the condition must hold, the second where it cannot, the hull elsewhere."""
    low, high = _hull(a[0], b[0])[0], _hull(a[1], b[1])[1]
    holds, fails = np.greater(condition[0], 0), np.equal(condition[1], 0)
    return np.where(holds, a[0], np.where(fails, b[0], low)), np.where(holds, a[1], np.where(fails, b[1], high))


def _between(first: Any, second: Any, a: Span, b: Span) -> Span:
    """a where `first`, b where `second`, the hull elsewhere: which of the two is taken may change there."""
    low, high = np.minimum(a[0], b[0]), np.maximum(a[1], b[1])
    return np.where(first, a[0], np.where(second, b[0], low)), np.where(first, a[1], np.where(second, b[1], high))


def _size_slope(known: Sequence[Span], moved: Sequence[Span], value: Span) -> Span:
    return _between(known[0][0] >= 0, known[0][1] <= 0, moved[0], _negative(moved[0]))


def _power_slope(known: Sequence[Span], moved: Sequence[Span], value: Span) -> Span:
    """(a^b)′ = b·a^(b−1)·a′ + a^b·ln(a)·b′."""
    a, b = known
    lowered = b[0] - 1.0
    one_less = _power(a, (lowered, lowered if b[0] is b[1] else b[1] - 1.0))
    base = ZERO if moved[0] is ZERO else _times(_times(b, one_less), moved[0])
    if moved[1] is ZERO:
        return base
    logarithm = _wide(np.where(a[0] > 0, np.log(a[0]), -np.inf), np.log(a[1]))
    return _plus(base, _times(_times(value, logarithm), moved[1]))


VALUES: dict[str, Callable[..., Span]] = {
    "+": _plus,
    "-": _minus,
    "*": _times,
    "/": _over,
    "**": _power,
    NEGATE: _negative,
    "exp": lambda a: _wide(np.exp(a[0]), np.exp(a[1])),
    "log": lambda a: _wide(np.log(a[0]), np.log(a[1])),
    "abs": _size,
    "min": lambda a, b: (np.minimum(a[0], b[0]), np.minimum(a[1], b[1])),
    "max": lambda a, b: (np.maximum(a[0], b[0]), np.maximum(a[1], b[1])),
    "where": _selected,
    "<": _compared(_less, lambda a, b: _less_equal(b, a)),
    "<=": _compared(_less_equal, lambda a, b: _less(b, a)),
    ">": _compared(lambda a, b: _less(b, a), _less_equal),
    ">=": _compared(lambda a, b: _less_equal(b, a), _less),
    "==": _compared(_same, _apart),
    "!=": _compared(_apart, _same),
}

Rule = Callable[[Sequence[Span], Sequence[Span], Span], Span]

SLOPES: dict[str, Rule] = {
    "+": lambda known, moved, value: _plus(*moved),
    "-": lambda known, moved, value: _minus(*moved),
    "*": lambda known, moved, value: _plus(_times(moved[0], known[1]), _times(known[0], moved[1])),
    "/": lambda known, moved, value: _over(_minus(moved[0], _times(value, moved[1])), known[1]),
    "**": _power_slope,
    NEGATE: lambda known, moved, value: _negative(moved[0]),
    "exp": lambda known, moved, value: _times(value, moved[0]),
    "log": lambda known, moved, value: _over(moved[0], known[0]),
    "abs": _size_slope,
    "min": lambda known, moved, value: _between(_less_equal(*known), _less_equal(known[1], known[0]), *moved),
    "max": lambda known, moved, value: _between(_less_equal(known[1], known[0]), _less_equal(*known), *moved),
    "where": lambda known, moved, value: _selected(known[0], moved[1], moved[2]),
}
