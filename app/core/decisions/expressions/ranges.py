"""Interval arithmetic: the public range of each operation from the ranges of its arguments.

[lo, hi] contains every value the floating-point operation can give on arguments inside their ranges. For
+ − * / this needs no widening: IEEE 754 rounds monotonically, so the rounded corner bounds every rounded
interior value. exp, log and ** come from the mathematics library, which is monotone only up to a last digit;
their results are clipped to the range found here (`operations.py`).

`OutOfDomain` says what the argument should have been. It follows from public ranges alone, so whether an
expression is refused never depends on a sample.
"""

import math
from itertools import product

Range = tuple[float, float]
ZERO, ONE, EITHER = (0.0, 0.0), (1.0, 1.0), (0.0, 1.0)


class OutOfDomain(Exception):  # caught by `compile_expression`, which adds field and position
    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.expected = expected


def add(a: Range, b: Range) -> Range:
    return a[0] + b[0], a[1] + b[1]


def subtract(a: Range, b: Range) -> Range:
    return a[0] - b[1], a[1] - b[0]


def multiply(a: Range, b: Range) -> Range:
    corners = [x * y for x, y in product(a, b)]
    return min(corners), max(corners)


def divide(a: Range, b: Range) -> Range:
    if b[0] <= 0 <= b[1]:
        raise OutOfDomain(f"a divisor that cannot be 0; this one ranges over {shown(b)}")
    corners = [x / y for x, y in product(a, b)]
    return min(corners), max(corners)


def power(a: Range, b: Range) -> Range:
    """x^y is monotone in x and in y where x ≥ 0 (with 0^0 = 1), so its extremes are at corners.

    A negative base needs one fixed whole exponent; an even one dips to 0 inside a range around 0.
    """
    if a[0] <= 0 <= a[1] and b[0] < 0:
        raise OutOfDomain(f"a base that cannot be 0 under an exponent that can be negative: {shown(a)}")
    if a[0] < 0 and not (b[0] == b[1] and b[0].is_integer()):
        raise OutOfDomain(f"a base that cannot be negative, or a whole constant exponent: {shown(a)}")
    corners = [math.pow(x, y) for x, y in product(a, b)]
    dips = a[0] < 0 < a[1] and b[0] > 0 and b[0] % 2 == 0
    return (0.0 if dips else min(corners)), max(corners)


def exponential(a: Range) -> Range:
    return math.exp(a[0]), math.exp(a[1])


def logarithm(a: Range) -> Range:
    if not a[0] > 0:
        raise OutOfDomain(f"an argument that is always above 0; this one ranges over {shown(a)}")
    return math.log(a[0]), math.log(a[1])


def negative(a: Range) -> Range:
    return -a[1], -a[0]


def absolute(a: Range) -> Range:
    sizes = abs(a[0]), abs(a[1])
    return (0.0 if a[0] <= 0 <= a[1] else min(sizes)), max(sizes)


def smaller(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), min(a[1], b[1])


def larger(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), max(a[1], b[1])


def less(a: Range, b: Range) -> Range:
    return ONE if a[1] < b[0] else ZERO if a[0] >= b[1] else EITHER


def less_equal(a: Range, b: Range) -> Range:
    return ONE if a[1] <= b[0] else ZERO if a[0] > b[1] else EITHER


def greater(a: Range, b: Range) -> Range:
    return less(b, a)


def greater_equal(a: Range, b: Range) -> Range:
    return less_equal(b, a)


def equal(a: Range, b: Range) -> Range:
    if a[1] < b[0] or b[1] < a[0]:
        return ZERO
    return ONE if a[0] == a[1] == b[0] == b[1] else EITHER


def unequal(a: Range, b: Range) -> Range:
    return subtract(ONE, equal(a, b))


def where(condition: Range, a: Range, b: Range) -> Range:
    if condition[0] == condition[1]:
        return a if condition == ONE else b
    return min(a[0], b[0]), max(a[1], b[1])


def shown(a: Range) -> str:
    return f"[{a[0]:.6g}, {a[1]:.6g}]"
