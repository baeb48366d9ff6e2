"""Many questions at once: one document, a stream of lines, a check beforehand."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from postern.client import (
    Answer,
    InvalidInput,
    Misconfigured,
    NotAuthenticated,
    Question,
    Refused,
    StreamEnd,
    UnexpectedReply,
    Unreachable,
    parameter,
    pinball,
    squared,
)
from postern.client.call import encode
from postern.client.calls import readers
from postern.client.questions import expression
from postern.client.streams import LINE_BYTES_MAX, Lines, Transcript, sum_of_ends
from tests.client.conftest import Opener
from tests.client.misbehaving import Drop, Say, misbehaving
from tests.client.served_place import Trial
from tests.client.test_misbehaviour import QUICK, SECRET

THETA = parameter("theta")
LEVELS = [place / 100 for place in range(1, 100)]
ANSWER = {
    "response": 0.5,
    "expected_utility": 0.9,
    "regret": {"bound": 0.1, "confidence": 0.95, "method": "m"},
    "samples": 8,
    "release": "rel_x",
}
END = {"done": True, "answers": 1, "problems": 0, "release": "rel_x", "samples": 8}


def questions() -> Iterator[Question]:
    return (Question(pinball(tau), THETA) for tau in LEVELS)


def test_a_stream_gives_what_a_batch_gives_in_order(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    with release.stream(questions()) as stream:
        found = list(stream)
        assert found == list(release.ask_many(questions()))
        assert stream.end is not None
        assert (stream.end.answers, stream.end.problems) == (99, 0)
        assert stream.end.samples == 8


def test_a_refusal_in_a_stream_stands_in_its_place(analyst: Any, trial: Trial) -> None:
    asked = [Question(squared(), THETA), {"utility": {"kind": "nonsense"}}, Question(squared(), expression("1 / 0"))]
    kinds = [type(item) for item in analyst.release(trial.release).stream(asked)]
    assert kinds == [Answer, Refused, Refused]


def test_bounds_that_hold_together_are_wider_and_say_so(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    asked = [Question(squared(), THETA), Question(pinball(0.5), THETA)]
    apart, together = release.ask_many(asked), release.ask_many(asked, together=True)
    assert apart.together is not None
    assert together.together is not None
    assert apart.together.confidence == pytest.approx(0.9)
    assert together.together.confidence == pytest.approx(0.95)
    for wide, narrow in zip(together.all(), apart.all(), strict=True):
        assert wide.response == narrow.response
        assert wide.regret.bound >= narrow.regret.bound
    with release.stream(asked, together=True) as stream:
        assert list(stream) == list(together)
        assert stream.end is not None
        assert stream.end.together == together.together


def test_a_stream_left_early_is_closed_and_the_client_goes_on(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    with release.stream(questions()) as stream:
        assert len(list(islice(stream, 3))) == 3
    assert release.mean("theta") == release.mean("theta")


def test_a_check_says_what_the_answer_will_carry(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    checked, answer = release.check(Question(squared(), THETA)), release.mean("theta")
    assert checked.regret == answer.regret
    assert (checked.view, checked.points) == ("calibrated", answer.points)
    assert checked.range == pytest.approx((0.0, 1.0), abs=1e-9)
    drawn = release.in_view("samples").check(Question(squared(), THETA))
    assert (drawn.view, drawn.points) == ("samples", None)
    assert drawn.range == (release.parameters[0].lower, release.parameters[0].upper)
    assert checked.samples == drawn.samples == 8
    with pytest.raises(InvalidInput, match="invalid_expression"):
        release.check(Question(squared(), expression("theta +")))
    good, bad = release.check_many([Question(squared(), THETA), {"utility": {"kind": "nonsense"}}])
    assert good == checked
    assert isinstance(bad, Refused)


def test_nothing_to_ask_is_said_before_anything_is_sent(analyst: Any, trial: Trial) -> None:
    release = analyst.release(trial.release)
    with pytest.raises(Misconfigured):
        release.ask_many([])
    assert list(release.stream([])) == []
    with pytest.raises(Misconfigured, match="NaN"):
        release.quantile("theta", float("nan"))


def test_streams_are_cut_to_what_a_service_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "BATCH_BYTES_MAX", 500)
    calls = list(readers.stream("rel_x", questions(), together=False))
    bodies = [json.loads(call.body) for call in calls if isinstance(call.body, bytes)]
    assert [q for body in bodies for q in body["queries"]] == [question.to_json() for question in questions()]
    assert len(calls) > 10
    assert all(isinstance(call.body, bytes) and len(call.body) < 600 for call in calls)
    (whole,) = readers.stream("rel_x", questions(), together=True)
    assert isinstance(whole.body, bytes)
    assert json.loads(whole.body)["together"] is True


def release_of(client: Any) -> Any:
    return client.release("rel_x")


FACTS = {
    "id": "rel_x", "dataset": "ds_x", "status": "published", "model": {}, "mechanism": {}, "parameters": [],
    "cost": {"epsilon": 1, "delta": 0, "pure_epsilon": None, "per_sample": {"epsilon": 1, "pure_epsilon": 1, "renyi": []}},
    "n": 1, "samples": 8, "created_at": "2026-03-01T09:30:00Z", "published_at": None,
}  # fmt: skip


def lines(*items: dict[str, Any]) -> bytes:
    return b"".join(encode(item) + b"\n" for item in items)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (lines({"index": 0, "answer": ANSWER}), UnexpectedReply),
        (lines({"index": 1, "answer": ANSWER}, END), UnexpectedReply),
        (lines({"index": 0, "answer": {}}, END), UnexpectedReply),
        (lines({"index": 0}, END), UnexpectedReply),
        (b"garbage\n", UnexpectedReply),
        (b"[1]\n", UnexpectedReply),
        (lines({"done": False, "problem": {"code": "key_revoked", "detail": "d"}}), NotAuthenticated),
    ],
    ids=["no end", "out of order", "no fields", "nothing", "garbage", "a list", "revoked"],
)
def test_a_stream_that_goes_wrong_is_never_taken_for_whole(opened: Opener, body: bytes, kind: type[Exception]) -> None:
    with misbehaving(lambda n, _: Say(body=encode(FACTS)) if n == 0 else Say(body=body)) as server:
        release = release_of(opened(server.url, SECRET, retries=QUICK))
        stream = release.stream([Question(squared(), THETA)])
        with pytest.raises(kind):
            list(stream)
        assert stream.end is None


def test_a_stream_is_opened_again_but_not_begun_again(opened: Opener) -> None:
    """Lost before it begins: asked again. Lost in the middle: said, with the rest left to the caller."""
    cut = lines({"index": 0, "answer": ANSWER}) + b" " * 100
    script = [
        Say(body=encode(FACTS)),
        Drop(),
        Say(body=lines({"index": 0, "answer": ANSWER}, END)),
        Say(body=cut, cut=True),
    ]
    with misbehaving(lambda n, _: script[min(n, 3)]) as server:
        release = release_of(opened(server.url, SECRET, retries=QUICK))
        assert len(list(release.stream([Question(squared(), THETA)]))) == 1
        assert len(server.seen) == 3
        with pytest.raises((UnexpectedReply, Unreachable)):
            list(release.stream([Question(squared(), THETA)]))
        assert len(server.seen) == 4


def test_lines_come_whole_however_bytes_arrive() -> None:
    text = lines({"index": 0, "answer": ANSWER}, {"index": 1, "problem": {"code": "invalid_query", "detail": "é"}}, END)
    for size in (1, 7, len(text)):
        split, transcript = Lines(), Transcript()
        found = [
            item
            for start in range(0, len(text), size)
            for item in transcript.read(split.feed(text[start : start + size]))
        ]
        assert [type(item) for item in found] == [Answer, Refused]
        assert transcript.finish() == StreamEnd(1, 0, "rel_x", 8)
    with pytest.raises(UnexpectedReply):
        Lines().feed(b"x" * (LINE_BYTES_MAX + 1))


def test_confidences_of_streams_add_up_by_the_union_bound() -> None:
    ends = [Transcript(), Transcript()]
    for transcript, confidence in zip(ends, (0.9, 0.95), strict=True):
        list(transcript.read([encode(END | {"together": {"questions": 2, "confidence": confidence}})]))
    total = sum_of_ends([transcript.finish() for transcript in ends])
    assert total.together is not None
    assert (total.answers, total.together.questions) == (2, 4)
    assert total.together.confidence == pytest.approx(0.85)
