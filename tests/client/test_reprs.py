"""What people see: escaped in notebooks, spelt out in terminals, whatever the names are."""

import re
from array import array
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest

from postern.client import (
    Answer,
    Answers,
    Card,
    Question,
    Receipt,
    Refused,
    Regret,
    Release,
    Samples,
    Summary,
    SummaryRow,
    interval,
    parameter,
    probability,
    squared,
)
from postern.client.problems import problem_of
from postern.client.questions import actions, comparison, describe, expression
from postern.client.results.accounts import Cost, SampleCost
from postern.client.results.cards import CardLine
from postern.client.results.people import Analyst, NewKey
from postern.client.results.receipts import LedgerLine
from postern.client.results.releases import Parameter, ReleaseFacts
from postern.client.tables import cell, printable, text_table

HOSTILE = "<script>alert('x')</script>&\"\x1b[31m\u202e\r\n\u0000"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
REGRET = Regret(0.1, 0.95, HOSTILE)
RECEIPT = Receipt(1, HOSTILE, 2, (HOSTILE,), "0", "0", LedgerLine(None, 1, HOSTILE))
FACTS = ReleaseFacts(
    HOSTILE, HOSTILE, HOSTILE, {"family": HOSTILE}, {"kind": HOSTILE}, (Parameter(HOSTILE, 0, 1),),
    Cost(1.0, 1e-6, None, SampleCost(0.1, None, ())), 10, 2, NOW, None,
)  # fmt: skip
ANSWER = Answer(HOSTILE, 0.5, REGRET, 2, HOSTILE, {HOSTILE: HOSTILE})
SHOWN: list[Any] = [
    ANSWER,
    Answers((ANSWER, Refused(problem_of({"code": HOSTILE, "detail": HOSTILE}, status=422))), HOSTILE, 2),
    Samples(HOSTILE, (HOSTILE,), RECEIPT, array("d", [0.25, 0.5])),
    Summary(HOSTILE, 2, 0.9, (SummaryRow(HOSTILE, 0, 1, 0.3, None, None, 0.2, {"0.5": 0.2}, (0.1, 0.2)),), (RECEIPT,)),
    Card(HOSTILE, "published", 1, 2, HOSTILE, 1, 1.0, 1e-6, None, None, False,
         (CardLine(HOSTILE, {HOSTILE: HOSTILE}, HOSTILE, HOSTILE, HOSTILE),), (HOSTILE,), "0"),
    Analyst(HOSTILE, HOSTILE, HOSTILE, NOW),
    RECEIPT,
    FACTS,
    Release(None, FACTS),
]  # fmt: skip


@pytest.mark.parametrize("thing", SHOWN, ids=lambda thing: type(thing).__name__)
def test_nothing_of_a_hostile_name_reaches_a_notebook_as_markup(thing: Any) -> None:
    html = thing._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    tags = set(re.findall(r"</?([a-z]+)", html))
    assert tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", html)


@pytest.mark.parametrize("thing", SHOWN, ids=lambda thing: type(thing).__name__)
def test_nothing_of_a_hostile_name_moves_the_cursor(thing: Any) -> None:
    for text in (str(thing), repr(thing)):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)


def test_a_new_key_keeps_its_token_to_itself() -> None:
    key = NewKey("k", "an", "analyst", "l", NOW, None, None, None, token="pstn_canary")
    assert key.token == "pstn_canary"
    assert "canary" not in repr(key) + str(key) + key._repr_html_()
    assert [found.name for found in fields(key) if not found.repr] == ["token"]


def test_tables_line_up() -> None:
    shown = text_table(("name", "value"), [("a", "1.5"), ("日本", "10"), ("bcd", "–")]).splitlines()
    assert shown == ["name  value", "────  ─────", "a       1.5", "日本     10", "bcd       –"]
    assert printable("plain é") == "plain é"
    assert cell(1 / 3) == "0.333333"
    assert cell(None) == "–"


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (Question(squared(), parameter("theta")), "mean of theta"),
        (Question(interval(0.9), expression("theta / 2")), "90 % interval of theta / 2"),
        (Question(actions({"a": "1", "b": "0"}, range=(0, 1))), "best of 2 actions"),
        (
            Question(squared(), probability({"cured": True}, given={"arm": ["drug", "none"]})),
            "mean of P(cured=true | arm=['drug', 'none'])",
        ),
        (Question(squared(), comparison(parameter("a"), parameter("b"))), "mean of a > b"),
        ({"utility": 3}, "answer"),
        ({}, "answer"),
    ],
)
def test_a_question_has_a_few_words(question: Any, words: str) -> None:
    assert describe(question) == words
