"""Only strict JSON gets in, and only values that can be kept."""

import json
import math
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field
from starlette.requests import Request

from app.api.json_body import DEPTH_MAX, check_json, parse_json, read_json, read_plain, read_spec, read_strict, validate
from app.api.schemas.shapes import Moment
from app.core.specs import Spec as Body
from app.errors import InvalidRequest, MalformedBody, UnsupportedFormat


def request_with(body: bytes, content_type: str | None = "application/json") -> Request:
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [] if content_type is None else [(b"content-type", content_type.encode())]
    return Request({"type": "http", "method": "POST", "headers": headers}, receive)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"{'a': 1}",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b"[1,]",
        b'{"a": 1, "a": 1}',
        b'{"deep": {"a": 1, "a": 2}}',
        b'{"a": 01}',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": "\\ud800"}',
        b'{"\\udc00": 1}',
        b"{} {}",
        b"[" * (DEPTH_MAX + 1) + b"]" * (DEPTH_MAX + 1),
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'"\n"',
    ],
    ids=lambda text: repr(text[:24]),
)
def test_what_is_not_strict_json_is_malformed(text):
    with pytest.raises(MalformedBody):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (b'{"a": 9223372036854775808}', "a"),
        (b'{"a": -9223372036854775809}', "a"),
        (b'{"a": [0, ' + b"9" * 5000 + b"]}", "a.1"),
        (b'{"a": {"b": 1e999}}', "a.b"),
        (b'{"a": -1e999}', "a"),
        (b'{"a": "x\\u0000y"}', "a"),
        (b'{"a\\u0000": 1}', "body"),
    ],
    ids=["2**63", "-2**63-1", "5000 digits", "1e999", "-1e999", "NUL", "NUL in a key"],
)
def test_values_no_database_keeps_are_refused_by_field(text, field):
    with pytest.raises(InvalidRequest) as refused:
        parse_json(text)
    assert [problem.field for problem in refused.value.problems] == [field]


def test_the_largest_kept_values_pass():
    text = b'{"a": 9223372036854775807, "b": -9223372036854775808, "c": 1.7976931348623157e308, "d": "\\ud83d\\ude00"}'
    assert parse_json(text) == {"a": 2**63 - 1, "b": -(2**63), "c": 1.7976931348623157e308, "d": "😀"}
    nested = b"[" * DEPTH_MAX + b"]" * DEPTH_MAX
    assert parse_json(nested) == json.loads(nested)


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(_VALUES)
def test_every_value_that_can_be_kept_is_read_as_it_was_written(value):
    assert parse_json(json.dumps(value).encode()) == value


@given(st.binary(max_size=64))
def test_no_bytes_escape_as_anything_but_a_refusal(raw):
    try:
        value = parse_json(raw)
    except (MalformedBody, InvalidRequest):
        return
    assert value is None or isinstance(value, dict | list | str | bool | int | float)


def outcome(read, raw: bytes) -> str:
    try:
        read(raw)
    except (MalformedBody, InvalidRequest) as refused:
        return f"{refused.code}: {refused.detail}"
    return "read"


_TOKENS = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        '"a"',
        '"b"',
        '"\\u0000"',
        '"\\ud800"',
        '"é"',
        "1",
        "-0",
        "1e999",
        "1.5",
        "9" * 25,
        "NaN",
        "null",
        " ",
    ]
)


@given(st.binary(max_size=64) | st.lists(_TOKENS, max_size=14).map(lambda parts: "".join(parts).encode()))
def test_looking_at_a_text_refuses_what_reading_it_refuses(raw):
    assert outcome(check_json, raw) == outcome(parse_json, raw)


_NUMBERS = [
    "-0",
    "-0.0",
    "1e5",
    "1E400",
    "-1e999",
    "0.1",
    "01",
    "1.",
    "9223372036854775807",
    "9223372036854775808",
    "1e19",
]
_TEXTS = [
    '"a"',
    '"b"',
    '"',
    '"\\""',
    '"\\u0000"',
    '"\\u0061"',
    '"\x00"',
    '"\x7f"',
    '"é"',
    '"{"',
    "NaN",
    "\ufeff",
    "\x0b",
    "true",
]
_PAIRS = ['{"a":1,"a":2}', '{"a":{"b":1,"b":1}}', '[{"a":"b"},{"a":"b"}]', '{"a":"a","b":"a"}', '{"":"",' + '"a":""}']
_MANY = st.lists(st.sampled_from([*"{}[]:,", *_NUMBERS, *_TEXTS, *_PAIRS, " ", "null"]), max_size=12)


def same(one, other) -> bool:
    """Equal, of the same types, and with the same signs of zeros."""
    return repr(one) == repr(other)


@pytest.mark.slow
@settings(max_examples=1_000)
@given(_MANY.map(lambda parts: "".join(parts).encode()) | st.binary(max_size=32))
def test_the_fast_way_reads_what_the_careful_way_reads_and_nothing_else(raw):
    found = read_plain(raw)
    assert found is None or same(found, parse_json(raw))


@given(_VALUES, st.booleans())
def test_the_fast_way_reads_every_value_as_the_careful_way_does(value, ascii_only):
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    found = read_plain(raw)
    assert found is None or same(found, parse_json(raw))


@pytest.mark.parametrize(
    "text", [*_PAIRS[:2], '{"a":1}x', '{"a":1E400}', '{"a":"\\u0000"}', "\ufeff{}", '{"a":1}\x00', "9" * 30]
)
def test_the_fast_way_leaves_what_is_unusual_to_the_careful_way(text):
    assert read_plain(text.encode()) is None
    assert read_plain(b'{"a":"\xff"}') is None


def test_the_fast_way_takes_an_ordinary_question():
    raw = b'{"estimand":{"kind":"parameter","name":"theta"},"utility":{"kind":"pinball","tau":0.9},"confidence":0.95}'
    assert read_plain(raw) == json.loads(raw)


async def test_a_body_seen_before_is_checked_no_more_and_a_refused_one_every_time():
    async def in_thread(work, *arguments):
        raise AssertionError("a short body goes to no thread")

    raw = b'{"seen": "before"}'
    assert await read_strict(request_with(raw), in_thread) == (raw, {"seen": "before"})
    assert await read_strict(request_with(raw), in_thread) == (raw, None)
    for _ in range(2):
        with pytest.raises(MalformedBody):
            await read_strict(request_with(b'{"a": 1, "a": 1}'), in_thread)


@given(_VALUES)
def test_looking_passes_every_value_that_can_be_kept(value):
    check_json(json.dumps(value).encode())
    check_json(json.dumps(value, ensure_ascii=False).encode())


@pytest.mark.parametrize("depth", [DEPTH_MAX, DEPTH_MAX + 1, 5_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_looking_counts_the_same_levels_as_reading(depth, opening, closing):
    times = depth // opening.count("[") // 2 if opening.startswith("[{") else depth
    raw = (opening * times + "0" + closing * times).encode()
    assert outcome(check_json, raw) == outcome(parse_json, raw)


def test_a_hostile_body_gets_a_short_answer():
    with pytest.raises(InvalidRequest) as refused:
        parse_json(json.dumps([2**64] * 1000).encode())
    assert len(refused.value.problems) == 20


async def test_only_json_content_types_are_read():
    for kind in ("application/json", "application/json; charset=utf-8", "APPLICATION/JSON", None):
        assert await read_json(request_with(b"{}", kind)) == {}
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""):
        with pytest.raises(UnsupportedFormat):
            await read_json(request_with(b"{}", kind))


class Sample(Body):
    name: str
    size: int = Field(ge=1, default=1)
    ratio: float | None = None
    tags: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    until: Moment | None = None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], "body"),
        ({}, "name"),
        ({"name": 1}, "name"),
        ({"name": "x", "size": 0}, "size"),
        ({"name": "x", "size": 1.0}, "size"),
        ({"name": "x", "size": True}, "size"),
        ({"name": "x", "size": "1"}, "size"),
        ({"name": "x", "ratio": "1"}, "ratio"),
        ({"name": "x", "ratio": math.inf}, "ratio"),
        ({"name": "x", "tags": ["a", ""]}, "tags.1"),
        ({"name": "x", "surprise": 1}, "surprise"),
        ({"name": "x", "until": 1_900_000_000}, "until"),
        ({"name": "x", "until": "2030-01-01T00:00:00"}, "until"),
        ({"name": "x", "until": "soon"}, "until"),
    ],
)
def test_a_body_that_does_not_fit_is_named_by_field(body, field):
    with pytest.raises(InvalidRequest) as refused:
        validate(body, Sample)
    assert [problem.field for problem in refused.value.problems] == [field]


def test_refusals_do_not_repeat_what_was_sent():
    with pytest.raises(InvalidRequest) as refused:
        validate({"name": "x", "size": "canary-99"}, Sample)
    assert "canary-99" not in refused.value.detail


async def test_a_specification_is_handed_on_as_it_was_sent():
    spec = await read_spec(request_with(b'{"name": "x", "ratio": 1}'), Sample)
    assert spec == {"name": "x", "ratio": 1}
    assert isinstance(spec["ratio"], int)
