"""One request as a value, and its answer as bytes: what to send and how to read it, apart from who sends it.

Both clients send the same `Call`; nothing in this package but their `wire.py` touches a socket.
"""

import asyncio
import json
import re
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

import msgspec

from postern.client.problems import Misconfigured, UnexpectedReply, problem_from_body

T = TypeVar("T")

JSON = "application/json"
_SHOWN_MAX = 300
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"Reply({self.status}, {len(self.body)} bytes)"

    @property
    def retry_after_s(self) -> float | None:
        """Seconds only: this service never sends a date, and a proxy's clock is not ours."""
        text = self.headers.get("retry-after", "")
        return float(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None


@dataclass(frozen=True, slots=True)
class Chunks:
    """A body made anew for every attempt, in pieces none of which is empty. `again` is False for what can be read once only."""

    open: Callable[[], Iterator[bytes]]
    length: int | None = None
    again: bool = True

    async def open_async(self) -> AsyncIterator[bytes]:
        """The same, read in a thread so that the event loop stays free."""
        pieces = self.open()
        while piece := await asyncio.to_thread(next, pieces, b""):
            yield piece


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """`read` gets the body of a success. Every call may be repeated: reads change nothing, replacing twice is replacing once,
    and what creates or charges carries an `Idempotency-Key` made here, once, before the first attempt."""

    method: str
    path: str
    read: Callable[[bytes], T]
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | Chunks | None = None
    content_type: str = JSON
    accept: str = JSON
    idempotency_key: str | None = None

    @property
    def target(self) -> str:
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def repeatable(self) -> bool:
        return not isinstance(self.body, Chunks) or self.body.again

    def headers(self) -> dict[str, str]:
        sent = {"Accept": self.accept}
        if self.body is not None:
            sent["Content-Type"] = self.content_type
        if isinstance(self.body, Chunks) and self.body.length is not None:
            sent["Content-Length"] = str(self.body.length)
        if self.idempotency_key is not None:
            sent["Idempotency-Key"] = self.idempotency_key
        return sent

    def result(self, reply: Reply) -> T:
        """Raises PosternProblem for a refusal, UnexpectedReply for what this service never says."""
        if 300 <= reply.status < 400:
            raise UnexpectedReply(
                f"{self.name} was answered with a redirect ({reply.status}); redirects are not followed, so that the key "
                "reaches no other address. Set the url to the service's own"
            )
        if reply.status >= 400:
            raise problem_from_body(reply.status, reply.body, reply.retry_after_s)
        try:
            return self.read(reply.body)
        except (msgspec.DecodeError, ValueError, KeyError, TypeError) as error:
            sentence = str(error)[:_SHOWN_MAX]
        raise UnexpectedReply(f"the answer to {self.name} is not as expected: {sentence}")

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def reads(kind: type[T]) -> Callable[[bytes], T]:
    """A decoder: fields this client does not know are ignored, missing ones named."""
    decoder = msgspec.json.Decoder(kind)
    return decoder.decode


def nothing(body: bytes) -> None:
    return None


def path(*parts: str) -> str:
    """`/v1/…`. What is no id is refused, not escaped: a server undoes escapes, and `x/ledger` would be another address."""
    for part in parts:
        if not _ID.fullmatch(part):
            raise Misconfigured(f"{part[:80]!r} is no id")
    return "/v1/" + "/".join(parts)


def query(**given: str | int | float | bool | Iterable[str] | None) -> tuple[tuple[str, str], ...]:
    """Left out where None; once for each value of a list."""
    pairs: list[tuple[str, str]] = []
    for name, value in given.items():
        if isinstance(value, bool):
            pairs.append((name, str(value).lower()))
        elif isinstance(value, str | int | float):
            pairs.append((name, str(value)))
        elif value is not None:
            pairs.extend((name, item) for item in value)
    return tuple(pairs)


def encode(value: Any) -> bytes:
    """Strict JSON. Not a number is refused here, by name, not turned into null on the way."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_plain).encode()
    except ValueError:
        raise Misconfigured("what is sent holds NaN, an infinity or a cycle, which JSON cannot say") from None
    except TypeError as error:
        raise Misconfigured(f"what is sent cannot be written as JSON: {error}") from None


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None: an absent field stays absent."""
    return {name: value for name, value in fields.items() if value is not None}


def once(key: str | None) -> str:
    return secrets.token_hex(16) if key is None else key


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if hasattr(value, "item"):
        return value.item()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")
