"""The one way a JSON body comes in.

Python's and most C parsers are lenient in ways that end as a 500 three layers down or, worse, as a silent choice:
NaN and Infinity, the last of two equal keys, 1e999 as infinity, lone surrogates that no database stores, U+0000
that PostgreSQL refuses. Here a text that is not strict JSON is `malformed_body`; numbers and characters that are
valid JSON but cannot be kept (beyond 64 bits, overflowing to infinity, U+0000) are `invalid_request` by field.
"""

import json
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from app.core.specs import PROBLEMS_MAX, field_problems, place
from app.errors import (
    FieldProblem,
    InvalidCheck,
    InvalidInput,
    InvalidMechanism,
    InvalidModel,
    InvalidRequest,
    InvalidSchema,
    MalformedBody,
    UnsupportedFormat,
)

DEPTH_MAX = 32
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1
_DIGITS_MAX = 20
_REMEMBERED_MAX = 4_096
_SHORT_BYTES_MAX = 4_096
_ON_LOOP_BYTES_MAX = 16_384
_TOO_LARGE = INTEGER_MAX + 1

_REFUSALS: dict[str, type[InvalidInput]] = {
    "check": InvalidCheck,
    "columns": InvalidSchema,
    "mechanism": InvalidMechanism,
    "model": InvalidModel,
    "privacy_unit": InvalidSchema,
    "source": InvalidSchema,
}
"""What is wrong inside one of these is refused as whoever reads it would; a body may say otherwise in its `REFUSALS`."""

M = TypeVar("M", bound=BaseModel)


async def read_model(request: Request, model: type[M]) -> M:
    """The body as a validated model."""
    return validate(await read_json(request), model)


async def read_spec(
    request: Request, model: type[BaseModel], *, instead: Mapping[str, type[BaseModel]] | None = None
) -> dict[str, Any]:
    """The body as sent, once `model` accepts its shape: for services that parse a specification themselves.

    Handing on what was sent, not what a model made of it, keeps `1` an integer and an absent field absent. `instead` has other
    shapes, by a field that only they have.
    """
    body = await read_json(request)
    others = [other for field, other in (instead or {}).items() if isinstance(body, dict) and field in body]
    validate(body, others[0] if others else model)
    return dict(body)


async def read_json(request: Request) -> Any:
    return parse_json(await read_json_bytes(request))


async def read_strict(request: Request, in_thread: Callable[..., Awaitable[Any]]) -> tuple[bytes, Any]:
    """The body as bytes, once it is known to be strict JSON, and its value where finding out gave it, else None.

    For the query path, where equal bytes are answered from memory. Short bodies that passed are remembered, so that a
    question asked again is not parsed again; long ones are checked `in_thread`, at a tenth of a second a megabyte."""
    raw = await read_json_bytes(request)
    if len(raw) <= _SHORT_BYTES_MAX:
        return raw, None if raw in _remembered else _read_short(raw)
    if len(raw) <= _ON_LOOP_BYTES_MAX:
        check_json(raw)
    else:
        await in_thread(check_json, raw)
    return raw, None


async def read_json_bytes(request: Request) -> bytes:
    kind = request.headers.get("content-type", "application/json")
    if kind != "application/json" and kind.partition(";")[0].strip().lower() != "application/json":
        raise UnsupportedFormat("Content-Type", "application/json")
    return await _whole_body(request)


async def _whole_body(request: Request) -> bytes:
    """Most bodies come in one piece; nothing is then copied, and no generator is run to find out."""
    message = await request.receive()
    parts: list[bytes] = []
    while message["type"] == "http.request" and message.get("more_body", False):
        parts.append(message.get("body", b""))
        message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    last: bytes = message.get("body", b"")
    return b"".join([*parts, last]) if parts else last


def parse_json(raw: bytes) -> Any:
    if not raw:
        raise MalformedBody("body", "a JSON document, not an empty body")
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_int=_integer,
        )
    except UnicodeDecodeError as error:
        raise MalformedBody("body", f"UTF-8, which ends at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise MalformedBody("body", f"JSON, which ends at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise MalformedBody("body", f"at most {DEPTH_MAX} levels of nesting") from None
    problems = list(_unkeepable(value, (), DEPTH_MAX))[:PROBLEMS_MAX]
    if problems:
        raise InvalidRequest(problems)
    return value


def check_json(raw: bytes) -> None:
    """Raises what `parse_json` raises, and builds nothing: every object is let go as soon as it has been looked at.

    Without an escape that names a character by number no text can hold U+0000 or half of a pair: JSON and UTF-8 forbid them.
    """
    try:
        text = raw.decode("utf-8")
        depth = DEPTH_MAX + 1 if "\\u" in text else _depth(_LOOK.decode(text))
    except (ValueError, RecursionError):
        depth = DEPTH_MAX + 1
    if depth > DEPTH_MAX:
        parse_json(raw)  # has a closer look, and says what is wrong and where


_remembered: dict[bytes, None] = {}
"""Short bodies that passed, in the order they came; the oldest goes first."""


def _read_short(raw: bytes) -> Any:
    """What raises is not remembered."""
    value = read_plain(raw)
    if value is None:
        check_json(raw)
    if len(_remembered) >= _REMEMBERED_MAX:
        del _remembered[next(iter(_remembered))]
    _remembered[raw] = None
    return value


def read_plain(raw: bytes) -> Any:
    """The value of an ordinary short text that `parse_json` accepts, five times as fast; None for any other, to be looked at.

    Ordinary is ASCII without escapes, with few brackets and with numbers inside 64 bits, and what msgspec takes is then
    strict but for keys given twice. A text has two quotation marks for every key and every string, and a key given twice
    is one key in the value: the numbers agree only if none is.
    """
    if b"\\" in raw or not raw.isascii() or raw.count(b"{") + raw.count(b"[") > DEPTH_MAX:
        return None
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return None
    texts = 0
    found = [value]
    for item in found:
        kind = type(item)
        if kind is str:
            texts += 1
        elif kind is dict:
            texts += len(item)
            found.extend(item.values())
        elif kind is list:
            found.extend(item)
        elif item is not None and not INTEGER_MIN <= item <= INTEGER_MAX:
            return None
    return value if raw.count(b'"') == 2 * texts else None


class _Depth(int):
    """What is left of an object that was looked at: how deep it goes."""


_DEPTHS = tuple(map(_Depth, range(DEPTH_MAX + 2)))


def _look(pairs: list[tuple[str, Any]]) -> _Depth:
    if len(pairs) > 1 and len({name for name, _ in pairs}) != len(pairs):
        raise ValueError
    return _DEPTHS[min(1 + max([_depth(value) for _, value in pairs], default=0), DEPTH_MAX + 1)]


def _depth(value: Any) -> int:
    kind = type(value)
    if kind is _Depth:
        return int(value)
    return 1 + max(map(_depth, value), default=0) if kind is list else 0


def _look_integer(text: str) -> int:
    if len(text) > _DIGITS_MAX or not INTEGER_MIN <= int(text) <= INTEGER_MAX:
        raise ValueError
    return 0


def _look_real(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError
    return 0.0


def _look_constant(name: str) -> NoReturn:
    raise ValueError


_LOOK = json.JSONDecoder(
    object_pairs_hook=_look, parse_constant=_look_constant, parse_int=_look_integer, parse_float=_look_real
)


def validate(body: Any, model: type[M]) -> M:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        found = field_problems(error.errors(include_url=False, include_input=False), described=model)
    part, inside, _ = found[0].field.partition(".")
    refusals = {**_REFUSALS, **getattr(model, "REFUSALS", {})}
    if inside and part in refusals:
        raise refusals[part](found[0].field, found[0].expected, *found[1:])
    raise InvalidRequest(found)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MalformedBody("body", "every key once in each object")
    return found


def _constant(name: str) -> NoReturn:
    raise MalformedBody("body", f"numbers, and {name} is not one in JSON")


def _integer(text: str) -> int:
    """Long digit strings cost quadratic time and stop at an interpreter limit; all of them are too large anyway."""
    return int(text) if len(text) <= _DIGITS_MAX else _TOO_LARGE


def _unkeepable(value: Any, path: tuple[str, ...], depth: int) -> Iterator[FieldProblem]:
    if isinstance(value, str):
        yield from _unkeepable_text(value, path)
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield FieldProblem(place(path), "a finite number")
    elif isinstance(value, int):
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            yield FieldProblem(place(path), "a whole number of at most 64 bits")
    elif isinstance(value, dict | list):
        if depth == 0:
            raise MalformedBody("body", f"at most {DEPTH_MAX} levels of nesting")
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            if isinstance(key, str):
                yield from _unkeepable_text(key, path)
            yield from _unkeepable(item, (*path, str(key)), depth - 1)


def _unkeepable_text(text: str, path: tuple[str, ...]) -> Iterator[FieldProblem]:
    if "\x00" in text:
        yield FieldProblem(place(path), "text without the character U+0000")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise MalformedBody("body", "text without unpaired surrogates")
