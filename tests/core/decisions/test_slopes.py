"""Slopes by interval arithmetic contain every difference quotient; what jumps or is endlessly steep is refused at its place."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from app.core.decisions.expressions import Expression, compile_expression
from app.core.decisions.expressions.slopes import motion, public_box
from app.core.parameters import Parameter
from app.errors import InvalidExpression
from tests.deep import deep

THETA = Parameter("theta", 0.05, 0.95)
X = Parameter("x", -2.0, 3.0)
R = Parameter("r", -1.0, 2.0)
MOVING = 2
BOUNDED = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))

leaves = st.sampled_from(["theta", "x", "r", "r", "1", "2", "0.5", "3", "0", "10"])


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from("+ - * / **".split()), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),  # noqa: SIM905
        st.tuples(inner, st.sampled_from(["2", "3", "0.5", "1.5", "-1"])).map(lambda t: f"({t[0]}) ** {t[1]}"),
        inner.map(lambda t: f"-({t})"),
        st.tuples(st.sampled_from(["exp", "log", "abs"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
        inner.map(lambda t: f"log(abs({t}) + 0.5)"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner, inner).map(
            lambda t: f"where(theta {t[0]} 0.5, {t[1]}, {t[2]})"
        ),
    )


texts = st.recursive(leaves, _nested, max_leaves=8)


def compiled(text: str) -> Expression:
    return compile_expression(text, [THETA, X], "field", [R])


def whole(expression: Expression):
    return motion(expression, public_box(expression, MOVING, (-1.0, 2.0)), MOVING, "field", errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [200, deep(4_000)])
def test_every_difference_quotient_lies_between_the_slopes_of_its_cell(examples):
    four = st.lists(st.floats(-1, 2), min_size=4, max_size=4, unique=True)
    drawn = given(texts, st.floats(0.05, 0.95), st.floats(-2, 3), four)
    settings(BOUNDED, max_examples=examples)(drawn(check_quotients))()


def check_quotients(text, theta, x, places):
    try:
        expression = compiled(text)
        public = whole(expression)
    except InvalidExpression:
        return
    low, a, b, high = sorted(places)
    cell = np.array([[low]]), np.array([[high]])
    sample = {0: (np.array([theta]),) * 2, 1: (np.array([x]),) * 2, MOVING: cell}
    exact = motion(expression, sample.__getitem__, MOVING, "field")
    wide = motion(expression, public_box(expression, MOVING, cell), MOVING, "field")
    values = expression.values([np.full(2, theta), np.full(2, x)], [np.array([a, b])])
    rise, slack = values[1] - values[0], 2 * public.error
    for found in (exact, wide, public):
        falls, rises = (float(np.squeeze(end)) for end in found.slope)
        assert falls * (b - a) - slack <= rise <= rises * (b - a) + slack
        assert np.all(found.value[0] - public.error <= values.min())
        assert np.all(values.max() <= found.value[1] + public.error)
    assert np.all(public.slope[0] <= wide.slope[0])
    assert np.all(wide.slope[1] <= public.slope[1])


through_r = st.recursive(
    st.just("r"),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), leaves).map(lambda t: f"({t[0]}) {t[1]} {t[2]}"),
        st.tuples(inner, leaves).map(lambda t: f"({t[1]} + 1e9) - ({t[0]})"),
        inner.map(lambda t: f"({t}) / (abs({t}) + 0.25)"),
        inner.map(lambda t: f"exp(-abs({t}))"),
        inner.map(lambda t: f"log(abs({t}) + 3)"),
        inner.map(lambda t: f"(abs({t}) + 0.5) ** 1.5"),
    ),
    max_leaves=6,
)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [120, deep(2_000)])
def test_rounding_stays_below_the_error_stated(examples):
    """Against 60 digits. Where parts without r are rounded, the real function is told to hold them: 1e9 + a leaf is."""
    drawn = given(through_r, st.floats(0.05, 0.95), st.floats(-2, 3), st.floats(-1, 2))
    settings(BOUNDED, max_examples=examples)(drawn(check_rounding))()


def check_rounding(text, theta, x, r):
    try:
        expression = compiled(text)
        error = whole(expression).error
    except InvalidExpression:
        return
    value = expression.values([np.array([theta]), np.array([x])], [np.array([r])])[0]
    if expression.lower == expression.upper:  # exp(−1e9) leaves nothing of r: a constant, held at its value as well
        assert value == expression.lower
        return
    names = {"abs": abs, "exp": mp.exp, "log": mp.log, "theta": mpf(theta), "x": mpf(x), "r": mpf(r)}
    for leaf in ("theta", "x", "1", "2", "0.5", "3", "0", "10"):
        held = float(eval(leaf, {"theta": theta, "x": x})) + 1e9  # noqa: S307
        text = text.replace(f"({leaf} + 1e9)", f"mpf({held!r})")
    with mp.workdps(60):
        exact = eval(text, {**names, "mpf": mpf})  # noqa: S307
        assert abs(exact - mpf(float(value))) <= error + 1e-300  # what underflows


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("r > theta", 2),
        ("1 + (r == x)", 7),
        ("where(theta > r, 1, 2)", 12),
        ("theta * where(r < 0, r, -r)", 16),
        ("(r + 1) ** 0.5", 8),
        ("theta + abs(r) ** 0.9", 15),
        ("(r + 1) ** (r + 2)", 8),
        ("min(r, r > 0)", 9),
        ("exp(300 * r - 300) * 1e20 * exp(100 * x - 20)", None),
    ],
)
def test_what_jumps_or_is_endlessly_steep_is_refused_where_it_stands(text, position):
    if position is None:
        with pytest.raises(InvalidExpression):
            whole(compiled(text))
        return
    with pytest.raises(InvalidExpression) as caught:
        whole(compiled(text))
    assert caught.value.position == position
    assert "steps" in caught.value.problems[0].expected


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("r", (1, 1)),
        ("theta * r", (0.05, 0.95)),
        ("-3 * r + x", (-3, -3)),
        ("abs(r)", (-1, 1)),
        ("max(r, 5)", (0, 0)),
        ("max(r, 0)", (0, 1)),
        ("min(2 * r, 3 * r)", (2, 3)),
        ("r ** 2", (-2, 4)),
        ("(r + 3) ** -1", (-0.25, -0.04)),
        ("2 / (r + 3)", (-0.5, -0.08)),
        ("log(r + 2)", (0.25, 1)),
        ("exp(r - 2)", (np.exp(-3), 1)),
        ("where(theta > 0.5, r, 3 * r)", (1, 3)),
        ("where(theta > 2, r, 3 * r)", (3, 3)),
        ("(r > 5) + r", (1, 1)),
        ("2 ** r", (np.log(2) / 2, np.log(2) * 4)),
        ("(r + 2) ** (theta + 1)", (1.05, 1.95 * 4**0.95)),
        ("0 * r + theta", (0, 0)),
    ],
)
def test_slopes_of_simple_expressions_are_the_known_ones(text, slope):
    assert [float(np.squeeze(end)) for end in whole(compiled(text)).slope] == pytest.approx(slope, rel=1e-9, abs=1e-300)
