"""Thousands of texts in one run, from a fixed seed: no crash, nothing executed, every refusal at a place in the text.

What is accepted is in the language the document prints and means what that grammar says, worked out without the engine.
"""

import itertools
import sys

import numpy as np
import pytest

from app.core.decisions.expressions import Expression, compile_expression
from app.core.language.tree import DEPTH_MAX, NODES_MAX, TEXT_LENGTH_MAX
from app.errors import InvalidExpression
from tests.core.decisions.documented_grammar import GRAMMAR, TOKEN, value_of
from tests.core.decisions.expression_fuzzer import CALLS, NUMBERS, Fuzzer
from tests.deep import deep

pytestmark = pytest.mark.slow

SYNTACTIC = ("a number,", "an operator", "a decimal number", "one comparison", "( after")
POINTS = {
    "theta": np.array([0.05, 0.95, 0.31, 0.5]),
    "x": np.array([-2.0, 3.0, 1.0, 0.0]),
    "a b=c": np.array([0.0, 1.0, 0.25, 0.0]),
}


class Watched:
    """A parameter that remembers which of its attributes are read."""

    def __init__(self, name: str, lower: float, upper: float, read: set[str]) -> None:
        self._facts = {"name": name, "lower": lower, "upper": upper}
        self._read = read

    def __getattr__(self, attribute: str):
        self._read.add(attribute)
        if attribute not in self._facts:
            raise AttributeError(attribute)
        return self._facts[attribute]


READ: set[str] = set()
PARAMETERS = (Watched("theta", 0.05, 0.95, READ), Watched("x", -2.0, 3.0, READ), Watched("a b=c", 0.0, 1.0, READ))
AUDIT = {"on": False, "events": set()}
sys.addaudithook(lambda event, _: AUDIT["events"].add(event) if AUDIT["on"] else None)


def outcome_of(text: str) -> Expression | InvalidExpression:
    AUDIT["on"] = True
    try:
        return compile_expression(text, PARAMETERS, "field")
    except InvalidExpression as refusal:
        return refusal
    finally:
        AUDIT["on"] = False


def values_of(expression: Expression) -> np.ndarray:
    AUDIT["on"] = True
    try:
        return expression.values(list(POINTS.values()))
    finally:
        AUDIT["on"] = False


def check_accepted(text: str, expression: Expression) -> None:
    assert len(text) <= TEXT_LENGTH_MAX
    assert expression.nodes <= NODES_MAX
    values = values_of(expression)
    assert np.isfinite(values).all(), text
    assert expression.lower <= values.min(), text
    assert values.max() <= expression.upper, text
    tree = GRAMMAR.tree(text)
    assert tree is not None, text
    with np.errstate(all="ignore"):
        meant = np.broadcast_to(value_of(tree, POINTS), 4)
    size = max(1.0, float(np.abs(meant).max()), abs(expression.lower), abs(expression.upper))
    assert np.abs(values - meant).max() <= 1e-9 * size, text


def check_refused(text: str, refusal: InvalidExpression, thorough: bool) -> None:
    assert 0 <= refusal.position <= len(text), text
    assert refusal.problems[0].field == "field"
    expected = refusal.problems[0].expected
    expected.encode()
    if thorough and len(text) <= TEXT_LENGTH_MAX:
        is_syntax = expected.startswith(SYNTACTIC)
        limited = "nesting" in expected or "numbers, names" in expected
        assert limited or is_syntax == (GRAMMAR.tree(text) is None) or _also_wrong_otherwise(expected), text


def _also_wrong_otherwise(expected: str) -> bool:
    """What is found while parsing may come before a fault of grammar further on."""
    return (
        expected.startswith(("a parameter of", "one of the functions", "a number of size", "a number that is 0"))
        or "with" in expected
    )


@pytest.mark.parametrize(("inputs", "behaviours"), [(10_000, 600), deep(100_000, 1_000)])
def test_fuzzed_texts_are_accepted_with_their_meaning_or_refused_at_a_position(inputs, behaviours):
    fuzzer = Fuzzer(seed=20_261)
    accepted = 0
    for number, text in enumerate(fuzzer.texts(inputs)):
        outcome = outcome_of(text)
        fuzzer.learn(text, outcome)
        if isinstance(outcome, Expression):
            accepted += 1
            check_accepted(text, outcome)
        else:
            check_refused(text, outcome, thorough=number % 8 == 0)
    assert accepted >= inputs // 10
    assert len(fuzzer.seen) >= behaviours
    assert AUDIT["events"] <= {"builtins.id"}, "compiling or evaluating imported, executed or opened something"
    assert not READ - {"name", "lower", "upper"}


def steps(text: str) -> int:
    """Calls of Python and of C functions while compiling: the same number on every run and machine."""
    count = itertools.count()

    def counted(frame, event, argument) -> None:
        next(count)

    sys.setprofile(counted)
    try:
        try:
            compile_expression(text, PARAMETERS, "field")
        except InvalidExpression as refusal:
            position = refusal.position
        else:
            position = 0
    finally:
        sys.setprofile(None)
    assert 0 <= position <= len(text)
    return next(count)


FAMILIES = {
    "parentheses": lambda n: "(" * (n // 2) + ")" * (n // 2),
    "open parentheses": lambda n: "(" * n,
    "signs": lambda n: "-" * n + "1",
    "powers": lambda n: "1**" * (n // 3) + "1",
    "sums": lambda n: "x+" * (n // 2) + "x",
    "products of conditions": lambda n: "(x>0)*" * (n // 6) + "(x>1)",
    "weights": lambda n: "+".join(f"{k}*(x>{k})" for k in range(max(1, n // 9))),
    "comparisons": lambda n: "x<" * (n // 2) + "x",
    "calls": lambda n: "min(" * (n // 4) + "x" + ",1)" * (n // 4),
    "arguments": lambda n: "max(" + "x," * (n // 2) + "x)",
    "nested where": lambda n: "where(x>0,1," * (n // 12) + "2" + ")" * (n // 12),
    "digits": lambda n: "9" * n,
    "fraction": lambda n: "0." + "1" * n,
    "exponent": lambda n: "1e" + "9" * n,
    "small exponent": lambda n: "1e-" + "9" * n,
    "long name": lambda n: "a" * n,
    "quoted name": lambda n: "`" + "a" * n + "`",
    "open quote": lambda n: "`" + "a" * n,
    "many open quotes": lambda n: "x`" * (n // 2),
    "spaces": lambda n: " " * n,
    "letters of other scripts": lambda n: "x+" + "й" * n,
    "points": lambda n: "." * n,
    "dotted": lambda n: "1." * (n // 2),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_steps_grow_no_faster_than_the_text_and_stop_growing_at_its_limit(family):
    grow = FAMILIES[family]
    counts = {n: steps(grow(n)) for n in (60, 120, 240, 480, 960)}
    for n in (60, 120, 240, 480):
        assert counts[2 * n] <= 2.2 * counts[n] + 400, counts
    assert max(counts.values()) <= 40 * TEXT_LENGTH_MAX
    beyond = [steps(grow(n)) for n in (3_000, 30_000, 300_000)]
    assert max(beyond) <= 40 + 10 * (family == "letters of other scripts"), beyond


@pytest.mark.parametrize("derivations", [600, deep(6_000)])
def test_the_language_of_the_document_is_the_one_parsed(derivations):
    """Every derivation of the printed grammar is refused, if at all, for what it means and not for how it is written."""
    fuzzer = Fuzzer(seed=3)
    syntactic = ("a number,", "an operator", "a decimal", "one comparison", "( after", "one of the functions")
    kinds = set()
    for _ in range(derivations):
        text = GRAMMAR.derive(
            fuzzer.rng,
            lambda rng, kind: rng.choice({"NUMBER": NUMBERS[:8], "NAME": ["theta", "x"], "FUNCTION": CALLS}[kind]),
            depth=fuzzer.rng.randint(4, 15),
        )
        outcome = outcome_of(text)
        assert GRAMMAR.tree(text) is not None
        if isinstance(outcome, InvalidExpression):
            assert not outcome.problems[0].expected.startswith(syntactic), text
            if "characters" not in outcome.problems[0].expected:
                kinds.add(TOKEN.match(text, outcome.position).lastgroup)
    assert kinds >= {"NAME", "SYMBOL"}
    assert DEPTH_MAX == 32
