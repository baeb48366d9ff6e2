"""Interval arithmetic: the range of an expression and every domain error follow from public bounds."""

import math
from dataclasses import replace

import numpy as np
import pytest

from app.core.decisions.expressions import compile_expression
from app.core.parameters import Parameter
from app.errors import InvalidExpression

POSITIVE = Parameter("p", 0.05, 0.95)
AROUND = Parameter("x", -2.0, 3.0)
FROM_ZERO = Parameter("z", 0.0, 1.0)
BELOW = Parameter("b", -3.0, -1.0)
PARAMETERS = (POSITIVE, AROUND, FROM_ZERO, BELOW)


@pytest.mark.parametrize(
    ("text", "lower", "upper"),
    [
        ("p", 0.05, 0.95),
        ("1 - p", 1 - 0.95, 0.95),
        ("-x", -3, 2),
        ("x * x", -6, 9),
        ("x ** 2", 0, 9),
        ("x ** 3", -8, 27),
        ("x ** 0", 1, 1),
        ("b ** 2", 1, 9),
        ("b ** -1", -1, -1 / 3),
        ("b ** -2", 1 / 9, 1),
        ("z ** 0.5", 0, 1),
        ("z ** z", 0, 1),
        ("p ** x", 0.05**3, 0.05**-2),
        ("1 / b", -1, -1 / 3),
        ("x / b", -3, 2),
        ("exp(-z)", math.exp(-1), 1),
        ("log(p)", math.log(0.05), math.log(0.95)),
        ("abs(x)", 0, 3),
        ("abs(b)", 1, 3),
        ("min(x, z)", -2, 1),
        ("max(x, z)", 0, 3),
        ("x > 3", 0, 0),
        ("x >= 3", 0, 1),
        ("x > -3", 1, 1),
        ("b < z", 1, 1),
        ("b == z", 0, 0),
        ("b != z", 1, 1),
        ("1 == 1", 1, 1),
        ("x <= z", 0, 1),
        ("where(x > 0, p, b)", -3, 0.95),
        ("where(p > 0, p, b)", 0.05, 0.95),
        ("where(p < 0, p, b)", -3, -1),
        ("log(max(x, 0.001))", math.log(0.001), math.log(3)),
    ],
)
def test_range_of(text, lower, upper):
    expression = compile_expression(text, PARAMETERS, "field")
    assert (expression.lower, expression.upper) == (lower, upper)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("1 / x", 2),
        ("1 / z", 2),
        ("p / (p - p)", 2),
        ("1 / 0", 2),
        ("1 + log(x)", 4),
        ("log(z)", 0),
        ("log(0)", 0),
        ("log(exp(-1000*p))", 0),
        ("x ** 0.5", 2),
        ("x ** p", 2),
        ("x ** -1", 2),
        ("z ** -1", 2),
        ("z ** x", 2),
        ("(0 - 8) ** (1 / 3)", 8),
        ("exp(1000 * p)", 0),
        ("10 ** 400", 3),
        ("10 ** 200 - 10 ** 200", 3),
        ("1e100 * 1e100", 6),
        ("where(x > 0, log(x), 0)", 13),
        ("where(x == 0, 0, 1 / x)", 19),
        ("(p - 0.06) ** 0.5", 11),
    ],
)
def test_domain_errors_are_found_before_any_sample_is_seen(text, position):
    with pytest.raises(InvalidExpression) as caught:
        compile_expression(text, PARAMETERS, "field")
    assert caught.value.position == position


@pytest.mark.parametrize("text", ["exp(-z)", "log(p)", "p ** 0.3", "p ** x", "exp(exp(z)) ** 1.5", "log(exp(x))"])
def test_library_functions_never_leave_the_range_by_a_last_digit(text):
    expression = compile_expression(text, PARAMETERS, "field")
    rng = np.random.default_rng(3)
    near = [
        np.concatenate([np.linspace(q.lower, q.upper, 5_000), rng.uniform(q.lower, q.upper, 5_000)]) for q in PARAMETERS
    ]
    values = expression.values(near)
    assert values.min() >= expression.lower
    assert values.max() <= expression.upper


@pytest.mark.parametrize("text", ["exp(p)", "log(p)", "p ** 0.3"])
def test_a_library_that_overshoots_is_held_to_the_range(text):
    """Stands in for a less exact library: the range is narrowed, as if the results were too far out."""
    honest = compile_expression(text, [POSITIVE], "field")
    middle = (honest.lower + honest.upper) / 2
    narrowed = replace(honest, ranges=(*honest.ranges[:-1], (middle - 0.01, middle + 0.01)))
    values = narrowed.values([np.linspace(0.05, 0.95, 100)])
    assert (values.min(), values.max()) == (middle - 0.01, middle + 0.01)
