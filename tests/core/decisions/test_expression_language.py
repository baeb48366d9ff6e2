"""The grammar: what parses, what it means, and where a refusal points."""

import numpy as np
import pytest

from app.core.decisions.expressions import Expression, check_work, compile_expression
from app.core.language.tree import DEPTH_MAX, NODES_MAX, OPERATIONS_MAX, TEXT_LENGTH_MAX
from app.core.parameters import Parameter
from app.errors import InvalidExpression, InvalidQuery

THETA = Parameter("theta", 0.05, 0.95)
SHIFT = Parameter("shift", -2.0, 3.0)
PARAMETERS = (THETA, SHIFT)
COLUMNS = (np.array([0.05, 0.25, 0.5, 0.95]), np.array([-2.0, 0.0, 1.0, 3.0]))


def compiled(text: str) -> Expression:
    return compile_expression(text, PARAMETERS, "field")


def values(text: str) -> list[float]:
    return compiled(text).values(COLUMNS).tolist()


def refusal(text: str) -> InvalidExpression:
    with pytest.raises(InvalidExpression) as caught:
        compiled(text)
    assert 0 <= caught.value.position <= max(len(text), 1)
    return caught.value


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("-theta**2", lambda t, s: -(t**2)),
        ("2**-theta", lambda t, s: 2**-t),
        ("2**3**theta", lambda t, s: 2 ** (3**t)),
        ("10 - 4 - theta", lambda t, s: 6 - t),
        ("8 / 4 / theta", lambda t, s: 2 / t),
        ("8 / 4 * theta", lambda t, s: 2 * t),
        ("1 + 2 * theta", lambda t, s: 1 + 2 * t),
        ("(1 + 2) * theta", lambda t, s: 3 * t),
        ("--theta", lambda t, s: t),
        ("2 * -shift", lambda t, s: -2 * s),
        ("shift ** 2", lambda t, s: s**2),
        ("shift ** 3", lambda t, s: s**3),
        ("(theta > 0.3) + 1", lambda t, s: (t > 0.3) + 1),
        ("theta + 1 > shift", lambda t, s: t + 1 > s),
        ("theta - shift >= 0", lambda t, s: t - s >= 0),
        ("theta == 0.5", lambda t, s: t == 0.5),
        ("theta != 0.5", lambda t, s: t != 0.5),
        ("where(shift <= 0, theta, 10)", lambda t, s: np.where(s <= 0, t, 10)),
        ("where((shift > 0) * (theta < 0.9), 1, 2)", lambda t, s: np.where((s > 0) & (t < 0.9), 1, 2)),
        ("where(max(shift > 2, theta < 0.1), 1, 2)", lambda t, s: np.where((s > 2) | (t < 0.1), 1, 2)),
        ("min(theta, shift, 0.4)", lambda t, s: np.minimum(np.minimum(t, s), 0.4)),
        ("max(theta, shift, 0.4)", lambda t, s: np.maximum(np.maximum(t, s), 0.4)),
        ("abs(shift)", lambda t, s: np.abs(s)),
        ("log(theta / (1 - theta))", lambda t, s: np.log(t / (1 - t))),
        ("exp(-shift)", lambda t, s: np.exp(-s)),
        (" \t\n1.5e+1*theta\r", lambda t, s: 15 * t),
        (".5 + 2. + theta", lambda t, s: 2.5 + t),
        ("7", lambda t, s: 7 + 0 * t),
    ],
)
def test_text_means_what_arithmetic_says(text, reference):
    assert values(text) == pytest.approx(reference(*COLUMNS).astype(float).tolist(), rel=1e-14)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("   ", 3),
        ("theta +", 7),
        ("theta theta", 6),
        ("theta shift()", 6),
        ("(theta", 6),
        ("theta)", 5),
        ("+theta", 0),
        ("theta // 2", 7),
        ("theta % 2", 6),
        ("theta.real", 5),
        ("theta[0]", 5),
        ("__import__('os')", 11),
        ("unknown + 1", 0),
        ("1 + unknown", 4),
        ("sqrt(theta)", 0),
        ("theta(1)", 0),
        ("exp", 3),
        ("exp()", 4),
        ("exp(theta, 1)", 0),
        ("1 + min(theta)", 4),
        ("where(theta > 1, 2)", 0),
        ("where(theta, 1, 2)", 0),
        ("where((theta > 1) + 1, 1, 2)", 0),
        ("0 < theta < 1", 10),
        ("theta = 1", 6),
        ("1_000", 0),
        ("0x10", 0),
        ("1e", 0),
        ("theta + 1e", 8),
        ("1e+ theta", 0),
        ("1.2.3", 0),
        ("2theta", 0),
        (".", 0),
        ("1 + 1e999", 4),
        ("1 + " + "9" * 400, 4),
        ("1e-999 + theta", 0),
        ("theta + ٣", 8),
        ("theta − 1", 6),
        ("θ", 0),
        ("theta and 1", 6),
        ("lambda: 0", 6),
        ("'theta'", 0),
        ("theta\x00", 5),
        ("theta; 1", 5),
        ("where(theta < 0.5, 1, 0", 23),
        (",", 0),
        ("min(,1)", 4),
    ],
)
def test_everything_else_is_refused_where_it_stands(text, position):
    assert refusal(text).position == position


def test_refusal_names_the_field_and_what_was_expected():
    error = refusal("1 + unknown")
    assert error.problems[0].field == "field"
    assert "theta, shift" in error.problems[0].expected


def test_zero_may_be_written_with_any_exponent():
    assert values("0e-999 + theta") == COLUMNS[0].tolist()


def test_a_parameter_may_share_a_name_with_a_function():
    expression = compile_expression("min(min, 0.5)", [Parameter("min", 0.0, 1.0)], "field")
    assert expression.values([np.array([0.2, 0.9])]).tolist() == [0.2, 0.5]


@pytest.mark.parametrize("value", [None, 1, True, ["theta"], {"text": "theta"}, b"theta"])
def test_an_expression_that_is_not_text_is_refused(value):
    with pytest.raises(InvalidQuery):
        compile_expression(value, PARAMETERS, "field")


def test_length_is_limited():
    compiled("theta".ljust(TEXT_LENGTH_MAX))
    assert refusal("theta".ljust(TEXT_LENGTH_MAX + 1)).position == TEXT_LENGTH_MAX


@pytest.mark.parametrize(
    ("opening", "middle", "closing"),
    [("(", "theta", ")"), ("-", "theta", ""), ("1**", "theta", ""), ("abs(", "theta", ")"), ("1-(2*(", "1", "))")],
)
def test_depth_is_limited_without_touching_the_interpreters_own_limit(opening, middle, closing):
    levels = DEPTH_MAX // (2 if opening.count("(") == 2 else 1)
    compiled(opening * levels + middle + closing * levels)
    text = opening * (levels + 1) + middle + closing * (levels + 1)
    assert "nesting" in refusal(text).problems[0].expected
    assert "nesting" in refusal((opening * 1000)[:TEXT_LENGTH_MAX]).problems[0].expected


def test_a_long_sum_is_not_deep():
    assert values("+".join(["theta"] * (NODES_MAX // 2)))[2] == NODES_MAX // 2 * 0.5


def test_the_number_of_nodes_is_limited():
    compiled("1" + "+1" * (NODES_MAX // 2 - 1))
    assert "200" in refusal("1" + "+1" * (NODES_MAX // 2)).problems[0].expected
    assert "200" in refusal(f"min({','.join('1' * 150)})").problems[0].expected


def test_operations_times_samples_are_limited_by_public_numbers():
    check_work("field", 200, OPERATIONS_MAX // 200)
    with pytest.raises(InvalidExpression) as caught:
        check_work("field", 200, OPERATIONS_MAX // 200 + 1)
    assert caught.value.position == 0


def test_values_do_not_depend_on_how_many_samples_are_evaluated_together():
    theta = np.random.default_rng(1).uniform(0.05, 0.95, 10_000)
    expression = compile_expression("exp(log(theta)*theta)**1.7 / (1 + theta)", [THETA], "field")
    whole = expression.values([theta])
    for size in (1, 7, 4_095, 4_096, 4_097, 9_999):
        assert expression.values([theta[:size]]).tobytes() == whole[:size].tobytes()


def test_expressions_are_equal_and_hash_alike_when_text_and_parameters_are():
    assert {compiled("theta + 1"): 1}[compiled("theta + 1")] == 1
    assert compiled("theta + 1") != compiled("theta +1")
    assert compiled("theta") != compile_expression("theta", [THETA], "field")
