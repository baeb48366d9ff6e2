"""Answers that arrive line by line (NDJSON), read without keeping more than one line."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from postern.client.problems import UnexpectedReply, problem_of
from postern.client.results.answers import Answer, Refused, StreamEnd, Together, answer_of

LINE_BYTES_MAX = 16 * 1024 * 1024


class Lines:
    """Bytes in, whole lines out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > LINE_BYTES_MAX:
            raise UnexpectedReply(f"a line of the stream has more than {LINE_BYTES_MAX} bytes")
        return whole

    def end(self) -> list[bytes]:
        return [self._rest] if self._rest else []


class Transcript:
    """What the lines of one stream mean: items in order, then the end, once."""

    def __init__(self) -> None:
        self._next = 0
        self.end: StreamEnd | None = None

    def read(self, lines: list[bytes]) -> Iterator[Answer | Refused]:
        for line in filter(None, lines):
            try:
                found = json.loads(line)
                item = self._item(found)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise UnexpectedReply(f"a line of the stream is not as expected: {str(error)[:200]}") from None
            if item is not None:
                yield item

    def finish(self) -> StreamEnd:
        if self.end is None:
            raise UnexpectedReply(f"the stream ended after {self._next} answers, without its last line")
        return self.end

    def _item(self, found: dict[str, Any]) -> Answer | Refused | None:
        if "done" in found:
            if not found["done"]:
                raise problem_of(found["problem"], status=0)
            self.end = msgspec.convert(found, StreamEnd)
            return None
        if found["index"] != self._next:
            raise ValueError(f"answer {found['index']} where {self._next} was due")
        self._next += 1
        return answer_of(found.get("answer", found))


def sum_of_ends(ends: list[StreamEnd]) -> StreamEnd:
    """Of streams asked one after the other. By the union bound all hold with 1 − Σ(1 − confidence)."""
    said = [end.together for end in ends if end.together is not None]
    together = None
    if said and len(said) == len(ends):
        missed = sum(1 - each.confidence for each in said)
        together = said[0] if len(said) == 1 else Together(sum(each.questions for each in said), max(0.0, 1 - missed))
    answers, problems = sum(end.answers for end in ends), sum(end.problems for end in ends)
    return StreamEnd(answers, problems, ends[0].release, ends[0].samples, together)
