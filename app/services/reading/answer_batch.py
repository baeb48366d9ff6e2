"""Answer many questions at once, as one document or as a stream of lines.

A bad question is a problem in its own place and spoils no other. Between questions other callers are served; large ones go
to threads in the reader's own line (`answer_room.py`). Whether the reader may still read is asked again as time passes, and
nothing leaves without having been asked at most `RECHECK_S` before.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import msgspec

from app.core.decisions import SAMPLES, View, view_asked
from app.errors import CalibratedUnavailable, InvalidInput, InvalidQuery, MalformedBody, PosternError
from app.services.principals import Reader
from app.services.reading.answer_query import (
    answer_bytes,
    decode_json,
    encode,
    preview_json,
    problem_of,
    reach_asked,
    read_question,
)
from app.services.reading.other_releases import OTHER_REFUSED, describe_asked, open_asked
from app.services.reading.published_release import (
    describe_view,
    open_view,
    reading_right,
    require_still_readable,
)
from app.services.runtime.answer_thread_pool import Line
from app.services.runtime.reading_rights import Reach, ReadingRight
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import PublicRelease, PublishedRelease

QUESTIONS_PER_BATCH_MAX = 1_000
QUESTIONS_PER_STREAM_MAX = 100_000
WORK_PER_BATCH_MAX = 2_000_000_000
"""Operations times samples of one document, some seconds. Streams have no such limit: they take turns until they end."""
RECHECK_S = 0.2
PIECE_BYTES = 32_768
PIECE_S = 0.05
"""A piece of a stream is sent when it is this large or this old."""

_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_lists = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(slots=True)
class Batch:
    """Questions of one request, and what became of them so far."""

    runtime: Runtime
    reader: Reader
    release_id: str
    right: ReadingRight
    """The reader's, as it was when they asked."""
    dry_run: bool
    line: Line
    queries: Sequence[msgspec.Raw]
    together: bool
    work_left: int | None
    answers: int = 0
    problems: int = 0
    doubt: Fraction = Fraction(0)
    """Σ δ of the answered, or the greatest δ if the bounds hold together."""
    checked_at: float = field(default_factory=time.monotonic)
    described: dict[tuple[Reach, View], PublicRelease] = field(default_factory=dict)

    async def outcomes(self) -> AsyncIterator[tuple[str, bytes]]:
        """("answer" or "problem", JSON) for every question in order. Raises what `require_still_readable` raises."""
        for raw in self.queries:
            try:
                async with self.line:
                    body = await self._answer(bytes(raw))
            except (InvalidInput, CalibratedUnavailable, *OTHER_REFUSED) as refusal:
                outcome = "problem", encode(problem_of(refusal))
                self.problems += 1
            else:
                outcome = "answer", body
                self.answers += 1
            if time.monotonic() - self.checked_at > RECHECK_S:
                whole = Reach(self.right.samples, None, self.right.parts)
                await require_still_readable(self.runtime, self.reader, self.release_id, whole)
                self.checked_at = time.monotonic()
            yield outcome

    async def _answer(self, body: bytes) -> bytes:
        keep, spec = self.work_left is not None, decode_json(body)
        public, release = await self._opened(spec)
        question = await read_question(self.runtime, public, body, self.line.in_thread, spec=spec, keep=keep)
        asked = len(self.queries) if self.together else 1
        question.utility.check(public.size)
        self._spend(question.work * public.size)
        if release is None:
            answer = encode(preview_json(question.preview(public.size, questions=asked), public))
        else:
            options: dict[str, Any] = {"questions": asked, "keep": keep}
            answer = await answer_bytes(self.runtime, release, question, body, self.line.in_thread, **options)
        delta = 1 - question.confidence
        self.doubt = max(self.doubt, delta) if self.together else self.doubt + delta
        return answer

    async def _opened(self, spec: Any) -> tuple[PublicRelease, PublishedRelease | None]:
        """With None in a dry run: there is nothing to answer from, and a view is described once."""
        reach, view = reach_asked(self.right, spec), view_asked(spec)
        asked = self.runtime, self.reader, self.release_id, reach, spec
        if not self.dry_run:
            release = await open_asked(*asked)
            return release.public, release
        if (reach, view) not in self.described:
            self.described[reach, view] = await describe_view(self.runtime, self.release_id, reach, view)
        return await describe_asked(*asked, own=self.described[reach, view]), None

    def _spend(self, work: int) -> None:
        if self.work_left is None:
            return
        if work > self.work_left:
            limit = f"questions of at most {WORK_PER_BATCH_MAX:,} operations in all: ask fewer at once, or stream"
            raise InvalidQuery("queries", limit, work=work, work_left=self.work_left)
        self.work_left -= work

    @property
    def held_together(self) -> dict[str, Any]:
        """By the union bound all regret bounds given hold at once with this probability.

        Bounds at 1 − δ_i each: 1 − Σδ_i. Bounds at 1 − δ_i/T each: 1 − Σδ_i/T ≥ 1 − max δ_i.
        """
        return {"questions": len(self.queries), "confidence": float(max(Fraction(0), 1 - self.doubt))}


async def answer_queries(
    runtime: Runtime, *, reader: Reader, release_id: str, body: bytes, dry_run: bool = False
) -> bytes:
    """All answers in one document. Raises as `answer_query`, and InvalidQuery for a batch that is none."""
    with ExitStack() as stack:
        batch = await _open(stack, runtime, reader, release_id, body, dry_run, streamed=False)
        answers = []
        async for kind, outcome in batch.outcomes():
            answers.append(msgspec.Raw(outcome if kind == "answer" else b'{"problem":%b}' % outcome))
    return encode(
        {
            "answers": answers,
            "together": batch.held_together,
            "release": batch.release_id,
            "samples": batch.right.samples,
        }
    )


async def stream_queries(
    runtime: Runtime, *, reader: Reader, release_id: str, body: bytes, dry_run: bool = False
) -> AsyncGenerator[bytes, None]:
    """One JSON line an answer, in pieces, then one that says how it ended. What is wrong with the whole is raised first.

    Once lines have left, a right that is gone or a failure of the service is the last line; lines not sent are then kept back.
    """
    pieces = _pieces(runtime, reader, release_id, body, dry_run)
    await anext(pieces)
    return pieces


async def _pieces(
    runtime: Runtime, reader: Reader, release_id: str, body: bytes, dry_run: bool
) -> AsyncGenerator[bytes, None]:
    with ExitStack() as stack:
        batch = await _open(stack, runtime, reader, release_id, body, dry_run, streamed=True)
        yield b""  # opened; the caller takes this one before anything is sent
        piece, begun_at = bytearray(), time.monotonic()
        try:
            async for kind, outcome in batch.outcomes():
                index = batch.answers + batch.problems - 1
                piece += b'{"index":%d,"%b":%b}\n' % (index, kind.encode(), outcome)
                if len(piece) >= PIECE_BYTES or time.monotonic() - begun_at > PIECE_S:
                    yield bytes(piece)
                    piece, begun_at = bytearray(), time.monotonic()
        except PosternError as refusal:
            yield encode({"done": False, "problem": problem_of(refusal)}) + b"\n"
            return
        yield bytes(piece) + _last_line(batch)


def _last_line(batch: Batch) -> bytes:
    counts = {"done": True, "answers": batch.answers, "problems": batch.problems}
    told = {"together": batch.held_together, "release": batch.release_id, "samples": batch.right.samples}
    return encode(counts | told) + b"\n"


async def _open(
    stack: ExitStack, runtime: Runtime, reader: Reader, release_id: str, body: bytes, dry_run: bool, *, streamed: bool
) -> Batch:
    right = await reading_right(runtime, reader, release_id)
    if not dry_run:
        await open_view(runtime, release_id, right.reach(), SAMPLES)  # what fails, fails before anything is sent
    queries, together = _read_batch(body, QUESTIONS_PER_STREAM_MAX if streamed else QUESTIONS_PER_BATCH_MAX)
    line = stack.enter_context(runtime.answers.line(reader.id))
    work_left = None if streamed else WORK_PER_BATCH_MAX
    return Batch(runtime, reader, release_id, right, dry_run, line, queries, together, work_left)


def _read_batch(body: bytes, questions_max: int) -> tuple[list[msgspec.Raw], bool]:
    """Questions stay text until their turn comes: a hundred thousand of them decoded would be a hundred megabytes."""
    expected = f"a list of 1 to {questions_max:,} questions, and nothing else but `together`"
    try:
        fields = _objects.decode(body)
        queries = _lists.decode(fields.pop("queries", b"null"))
    except msgspec.ValidationError:
        raise InvalidQuery("queries", expected) from None
    except (msgspec.DecodeError, RecursionError):
        raise MalformedBody("body", "JSON") from None
    together = bytes(fields.pop("together", b"false"))
    if fields or not 1 <= len(queries) <= questions_max:
        raise InvalidQuery("queries", expected)
    if together not in (b"true", b"false"):
        raise InvalidQuery("together", "true or false")
    return queries, together == b"true"
