"""Answer questions from samples already paid for. Warm: no database, no cache server, nothing that blocks.

The same question about the same prefix gives the same bytes, from any worker, before and after any restart: an
answer is a function of the stored samples and the question's text.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from app.core.decisions import Question, answer_question, compile_question
from app.errors import InvalidInput, InvalidQuery, MalformedBody, PosternError
from app.services.principals import Reader
from app.services.published_release import open_release
from app.services.runtime import Runtime
from app.services.warm_memory import COMPILED_BYTES_PER_BYTE, ENTRY_OVERHEAD_BYTES, PublishedRelease

QUESTIONS_PER_BATCH_MAX = 1_000
OFF_LOOP_SAMPLES = 20_000
OFF_LOOP_WORK = 1_000_000
OFF_LOOP_PARAMETERS = 64
"""From this many samples, or operations in all, answering moves to a thread: it may then take longer than the loop should
wait. Questions about this many parameters are also compiled there: a network's elimination has to be planned."""

_encode = msgspec.json.Encoder().encode


async def answer_query(runtime: Runtime, *, reader: Reader, release_id: str, body: bytes) -> bytes:
    """Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired, InvalidQuery, InvalidExpression."""
    release = await open_release(runtime, reader, release_id)
    memo = (release.id, release.samples.size, body)
    known = runtime.warm.answers.get(memo)
    if known is not None:
        return known
    question = await _question(runtime, release, body)
    answer = _encode(await _answer(release, question))
    runtime.warm.answers.put(memo, answer, len(answer) + len(body) + ENTRY_OVERHEAD_BYTES)
    return answer


async def answer_queries(runtime: Runtime, *, reader: Reader, release_id: str, body: bytes) -> bytes:
    """A batch in order; a bad question is a problem in its own place and spoils no other."""
    release = await open_release(runtime, reader, release_id)
    batch = _decode(body)
    queries = batch.get("queries") if isinstance(batch, Mapping) and set(batch) == {"queries"} else None
    if not isinstance(queries, list) or not 1 <= len(queries) <= QUESTIONS_PER_BATCH_MAX:
        raise InvalidQuery("queries", f"a list of 1 to {QUESTIONS_PER_BATCH_MAX} questions, and nothing else")
    answers = []
    for query in queries:
        try:
            answers.append(await _answer(release, await _compiled(release, query)))
        except InvalidInput as refusal:
            answers.append({"problem": problem_of(refusal)})
        await asyncio.sleep(0)
    return _encode({"answers": answers, "release": release.id, "samples": release.samples.size})


def problem_of(refusal: PosternError) -> dict[str, Any]:
    problem: dict[str, Any] = {"code": refusal.code, "detail": refusal.detail, **refusal.facts}
    if isinstance(refusal, InvalidInput):
        problem["errors"] = [{"field": p.field, "expected": p.expected} for p in refusal.problems]
    return problem


async def _answer(release: PublishedRelease, question: Question) -> dict[str, Any]:
    size = release.samples.size
    if size >= OFF_LOOP_SAMPLES or question.work * size >= OFF_LOOP_WORK:
        answer = await asyncio.to_thread(answer_question, question, release.samples)
    else:
        answer = answer_question(question, release.samples)
    return {**answer.as_json(), "release": release.id, "cost": {"epsilon": 0}}


async def _question(runtime: Runtime, release: PublishedRelease, body: bytes) -> Question:
    memo = (release.id, body)
    question = runtime.warm.questions.get(memo)
    if question is None:
        question = await _compiled(release, _decode(body))
        size = COMPILED_BYTES_PER_BYTE * len(body) + ENTRY_OVERHEAD_BYTES
        runtime.warm.questions.put(memo, question, size)
    return question


async def _compiled(release: PublishedRelease, query: Any) -> Question:
    if len(release.parameters) < OFF_LOOP_PARAMETERS:
        return compile_question(query, release.parameters, release.model)
    return await asyncio.to_thread(compile_question, query, release.parameters, release.model)


def _decode(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise MalformedBody("body", "JSON") from None
