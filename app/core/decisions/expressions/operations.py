"""Every operation of the language: how it acts on samples and on public ranges. Nothing else can be called."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.expressions import ranges
from app.core.decisions.expressions.ranges import Range
from app.core.language.climber import NEGATE

Values = NDArray[np.float64] | np.float64


@dataclass(frozen=True, slots=True)
class Operation:
    """`apply` acts elementwise; `reach` bounds it. `clipped` marks library functions whose last digit may
    leave the range; `variadic` ones fold over two or more arguments."""

    arity: int
    apply: Callable[..., Any]
    reach: Callable[..., Range]
    clipped: bool = False
    variadic: bool = False

    @property
    def writes(self) -> bool:
        """Whether `apply` can be told where to write."""
        return isinstance(self.apply, np.ufunc)


def _comparison(compare: np.ufunc, reach: Callable[..., Range]) -> Operation:
    return Operation(2, lambda a, b: compare(a, b).astype(np.float64), reach)


def _where(condition: Values, a: Values, b: Values) -> Values:
    return np.where(np.not_equal(condition, 0.0), a, b)


COMPARISONS = {
    "<": _comparison(np.less, ranges.less),
    "<=": _comparison(np.less_equal, ranges.less_equal),
    ">": _comparison(np.greater, ranges.greater),
    ">=": _comparison(np.greater_equal, ranges.greater_equal),
    "==": _comparison(np.equal, ranges.equal),
    "!=": _comparison(np.not_equal, ranges.unequal),
}

FUNCTIONS = {
    "min": Operation(2, np.minimum, ranges.smaller, variadic=True),
    "max": Operation(2, np.maximum, ranges.larger, variadic=True),
    "exp": Operation(1, np.exp, ranges.exponential, clipped=True),
    "log": Operation(1, np.log, ranges.logarithm, clipped=True),
    "abs": Operation(1, np.abs, ranges.absolute),
    "where": Operation(3, _where, ranges.where),
}

OPERATIONS = {
    "+": Operation(2, np.add, ranges.add),
    "-": Operation(2, np.subtract, ranges.subtract),
    "*": Operation(2, np.multiply, ranges.multiply),
    "/": Operation(2, np.divide, ranges.divide),
    "**": Operation(2, np.power, ranges.power, clipped=True),
    NEGATE: Operation(1, np.negative, ranges.negative),
    **COMPARISONS,
    **FUNCTIONS,
}

# Conditions can be joined: a product or min is "and", a max is "or".
JOINS_CONDITIONS = frozenset({"*", "min", "max"})
