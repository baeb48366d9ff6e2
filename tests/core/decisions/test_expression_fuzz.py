"""Thousands of texts: every one compiles or is refused with a position; what compiles agrees with Python.

The reference evaluator is Python itself, on texts generated from the grammar (which is a subset of Python's).
"""

import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.decisions.expressions import Expression, compile_expression
from app.core.parameters import Parameter
from app.errors import InvalidExpression
from tests.deep import deep
from tests.processor_seconds import allowed

PARAMETERS = (Parameter("theta", 0.05, 0.95), Parameter("x", -2.0, 3.0))
POINTS = np.array([(0.05, -2.0), (0.05, 3.0), (0.95, -2.0), (0.95, 3.0), (0.5, 0.0), (0.31, 1.0), (0.7, -0.4)])
NAMESPACE = {
    "__builtins__": {},
    "min": min,
    "max": max,
    "abs": abs,
    "exp": lambda a: float(np.exp(float(a))),
    "log": lambda a: float(np.log(float(a))),
    "where": lambda c, a, b: a if c else b,
}
BOUNDED = settings(derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])

ARITHMETIC = "theta `x` ` x 1 0 2.5 1e3 1e999 .5 + - * / ** < <= == != > ( ( ) ) , min( max( exp( log( abs( where("
FOREIGN = "__class__ . [ ' lambda ² ٣ − 🙂 # 0b1 1_0 nan inf True ; = : % @"
pieces = st.sampled_from([*ARITHMETIC.split(), *FOREIGN.split(), " ", "\n", "\x00", "\ud800"])

leaves = st.sampled_from(["theta", "x", "1", "2", "0.5", "3.25", "0", "10"])


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(["+", "-", "*", "/", "**", "<", "<=", ">", ">=", "==", "!="])
    return st.one_of(
        st.tuples(inner, binary, inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), leaves).map(lambda t: f"{t[0]}{t[1]}{t[2]}"),
        inner.map(lambda t: f"-({t})"),
        leaves.map(lambda t: f"-{t}**2"),
        st.tuples(st.sampled_from(["exp", "log", "abs"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(inner, inner, inner).map(lambda t: f"where(({t[0]}) > 0.3, {t[1]}, {t[2]})"),
    )


grammatical = st.recursive(leaves, _nested, max_leaves=10)


def compiled_or_refused(text: str) -> Expression | None:
    try:
        return compile_expression(text, PARAMETERS, "field")
    except InvalidExpression as error:
        position = error.position
    assert 0 <= position <= len(text)
    return None


@pytest.mark.parametrize("examples", [400, deep(10_000)])
def test_shuffled_pieces_compile_or_are_refused_with_a_position(examples):
    @settings(BOUNDED, max_examples=examples)
    @given(st.lists(pieces, max_size=40).map("".join))
    def check(text):
        expression = compiled_or_refused(text)
        if expression is not None:
            assert np.isfinite(expression.values(list(POINTS.T))).all()

    check()


@pytest.mark.parametrize("examples", [400, deep(10_000)])
def test_any_text_compiles_or_is_refused_with_a_position(examples):
    @settings(BOUNDED, max_examples=examples)
    @given(st.text(max_size=60))
    def check(text):
        compiled_or_refused(text)

    check()


@pytest.mark.parametrize("examples", [400, deep(10_000)])
def test_what_compiles_equals_python_and_stays_in_its_public_range(examples):
    settings(BOUNDED, max_examples=examples)(given(grammatical)(check_against_python))()


def check_against_python(text):
    expression = compiled_or_refused(text)
    if expression is None:
        return
    values = expression.values(list(POINTS.T))
    assert expression.lower <= values.min()
    assert values.max() <= expression.upper
    for value, (theta, x) in zip(values.tolist(), POINTS.tolist(), strict=True):
        reference = float(eval(text, NAMESPACE, {"theta": theta, "x": x}))  # noqa: S307
        assert abs(value - reference) <= 1e-9 * max(1.0, abs(reference), abs(expression.upper))


@pytest.mark.parametrize("examples", [200, deep(10_000)])
def test_the_public_range_holds_at_every_point(examples):
    @settings(BOUNDED, max_examples=examples)
    @given(grammatical, st.floats(0.05, 0.95), st.floats(-2, 3))
    def check(text, theta, x):
        expression = compiled_or_refused(text)
        if expression is not None:
            value = expression.values([np.array([theta]), np.array([x])])[0]
            assert expression.lower <= value <= expression.upper

    check()


def test_the_longest_texts_are_refused_or_compiled_quickly():
    texts = ["(" * 1000, "-" * 1000, "1**" * 333, "9" * 1000, "1e" * 500, "a" * 1000, "theta+" * 166 + "1", " " * 1000]
    texts += ["min(" * 250, "1," * 500, "<" * 1000, "." * 1000, "1." * 500, "0" * 999 + "x", "1e" + "0" * 998]
    texts += ["1" * 999 + "_", "1" * 300 + "." + "2" * 300 + "e" + "3" * 300 + "_", "`" + "a" * 999]
    start = time.process_time()
    for text in texts:
        compiled_or_refused(text)
    assert time.process_time() - start < allowed(1)
