"""Answer a question from samples already paid for. Warm: no database, no cache server, nothing that blocks.

The same question about the same prefix gives the same bytes, from any worker, before and after any restart: an
answer is a function of the stored samples and the question's text.
"""

from collections.abc import Awaitable
from typing import Any, Protocol

import msgspec

from app.core.decisions import Preview, Question, answer_question
from app.core.decisions.estimands.parameter import ParameterEstimand
from app.core.decisions.sample_set import SampleSet
from app.core.kinds import compile_question
from app.errors import InvalidInput, MalformedBody, PosternError
from app.services.principals import Reader
from app.services.reading.other_releases import describe_asked, open_asked
from app.services.reading.published_release import reading_right
from app.services.reading.small_print import print_of_answer
from app.services.runtime.reading_rights import Reach, ReadingRight
from app.services.runtime.runtime import Runtime
from app.services.runtime.warm_cache import (
    COMPILED_BYTES_PER_BYTE,
    ENTRY_OVERHEAD_BYTES,
    PublicRelease,
    PublishedRelease,
)

OFF_LOOP_SAMPLES = 20_000
OFF_LOOP_WORK = 1_000_000
OFF_LOOP_PARAMETERS = 64
OFF_LOOP_BYTES = 2_048
OFF_LOOP_BYTES_REAL = 256
"""From this many samples, or operations in all, answering moves to a thread: it may then take longer than the loop should
wait. So do compiling a question as long as this, or about this many parameters: a network's elimination has to be planned.
Over real responses slopes are bounded too, which takes a dozen times as long."""

FREE = {"epsilon": 0}
encode = msgspec.json.Encoder().encode


class InThread(Protocol):
    """`Line.in_thread`, or something that stands in a line first."""

    def __call__(self, work: Any, *arguments: Any) -> Awaitable[Any]: ...


async def answer_query(runtime: Runtime, *, reader: Reader, release_id: str, body: bytes, spec: Any = None) -> bytes:
    """`spec` is what the body says, if that is known already.

    Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired, CalibratedUnavailable, InvalidQuery, InvalidExpression,
    TooBusy."""
    right = await reading_right(runtime, reader, release_id)
    # Of this release alone: an answer with others is remembered with theirs, once they may be read.
    known = None if right.parts else runtime.warm.answers.get((release_id, right.samples, 1, body))
    if known is not None:
        return known
    spec = decode_json(body) if spec is None else spec
    release = await open_asked(runtime, reader, release_id, reach_asked(right, spec), spec)
    in_thread = one_turn(runtime, reader)
    question = await read_question(runtime, release.public, body, in_thread, spec=spec)
    return await answer_bytes(runtime, release, question, body, in_thread)


async def preview_query(runtime: Runtime, *, reader: Reader, release_id: str, body: bytes, spec: Any = None) -> bytes:
    """What answering would check, refuse and promise, from public numbers: no sample is read. Raises as `answer_query`."""
    spec = decode_json(body) if spec is None else spec
    right = await reading_right(runtime, reader, release_id)
    release = await describe_asked(runtime, reader, release_id, reach_asked(right, spec), spec)
    question = await read_question(runtime, release, body, one_turn(runtime, reader), spec=spec)
    return encode(preview_json(question.preview(release.size), release))


def reach_asked(right: ReadingRight, spec: Any) -> Reach:
    """`part`, before anything else of the question is looked at; without it, the parts that it names. Raises InvalidInput,
    AccessRequired."""
    return right.reach(spec.get("part") if isinstance(spec, dict) else None, spec)


def one_turn(runtime: Runtime, reader: Reader) -> InThread:
    async def in_thread(work: Any, *arguments: Any) -> Any:
        with runtime.answers.line(reader.id) as line:
            return await line.in_thread(work, *arguments)

    return in_thread


async def answer_bytes(
    runtime: Runtime,
    release: PublishedRelease,
    question: Question,
    body: bytes,
    in_thread: InThread,
    *,
    questions: int = 1,
    keep: bool = True,
) -> bytes:
    """The answer as it is sent, remembered by (release, prefix, how many were asked together, text) if `keep`; where the text
    names other releases, by theirs too."""
    memo = release.public.answer_key(questions, body)
    known = runtime.warm.answers.get(memo)
    if known is not None:
        return known
    if _is_quick(question, release.samples):
        answer = encode(answer_json(question, release, questions))
    else:
        answer = encode(await in_thread(_answer_and_sum, question, release, questions))
    if keep:
        runtime.warm.answers.put(memo, answer, len(answer) + len(body) + ENTRY_OVERHEAD_BYTES)
    return answer


async def read_question(
    runtime: Runtime,
    release: PublicRelease,
    body: bytes,
    in_thread: InThread,
    *,
    spec: Any = None,
    keep: bool = True,
) -> Question:
    """Compiled for the view that `release` is of, which is the one the body names."""
    memo = (*release.compiled_for, body)
    question = runtime.warm.questions.get(memo)
    if question is None:
        spec = decode_json(body) if spec is None else spec
        others = {other.named: (other.parameters, other.model) for other in release.beside}
        asked = spec, release.parameters, release.model, others
        parameters = len(release.parameters) + sum(len(own) for own, _ in others.values())
        if parameters < OFF_LOOP_PARAMETERS and len(body) < _length_max(spec):
            question = compile_question(*asked)
        else:
            question = await in_thread(compile_question, *asked)
        if keep:
            size = COMPILED_BYTES_PER_BYTE * len(body) + ENTRY_OVERHEAD_BYTES
            runtime.warm.questions.put(memo, question, size)
    return question


def _length_max(spec: Any) -> int:
    """What is compiled on the loop; nothing here has been checked yet."""
    utility = spec.get("utility") if isinstance(spec, dict) else None
    responses = utility.get("responses") if isinstance(utility, dict) else None
    real = isinstance(responses, dict) and "steps" not in responses
    return OFF_LOOP_BYTES_REAL if real else OFF_LOOP_BYTES


def answer_json(question: Question, release: PublishedRelease, questions: int) -> dict[str, Any]:
    public = release.public
    found, told = answer_question(question, release.samples, questions=questions), print_of_answer(question, release)
    return {
        **found.as_json(),
        "samples": public.samples_used,
        **parts_json(public),
        "view": public.view,
        "points": public.points,
        **told.as_json(),
        "release": public.id,
        "cost": FREE,
    }


def parts_json(public: PublicRelease) -> dict[str, Any]:
    """Of several models: how many samples of each an answer rests on."""
    return {} if public.parts is None else {"parts": public.parts}


def preview_json(preview: Preview, release: PublicRelease) -> dict[str, Any]:
    regret = preview.regret
    return {
        "valid": True,
        "work": preview.work,
        "samples": release.samples_used,
        **parts_json(release),
        "view": release.view,
        "points": release.points,
        "range": preview.range,
        "responses": preview.responses,
        "regret": {"bound": regret.bound, "confidence": regret.confidence, "method": regret.method},
        "release": release.id,
        "cost": FREE,
    }


def problem_of(refusal: PosternError) -> dict[str, Any]:
    problem: dict[str, Any] = {"code": refusal.code, "detail": refusal.detail, **refusal.facts}
    if isinstance(refusal, InvalidInput):
        problem["errors"] = [{"field": p.field, "expected": p.expected} for p in refusal.problems]
    return problem


def decode_json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        raise MalformedBody("body", "JSON") from None


def _is_quick(question: Question, samples: SampleSet) -> bool:
    """Of many samples only questions about a parameter whose sums are at hand, which then take as long as of a few."""
    if question.work * samples.size >= OFF_LOOP_WORK and question.work > 1:
        return False
    estimand = question.estimand
    return samples.size < OFF_LOOP_SAMPLES or (
        isinstance(estimand, ParameterEstimand) and samples.is_summed(estimand.index)
    )


def _answer_and_sum(question: Question, release: PublishedRelease, questions: int) -> dict[str, Any]:
    """In a thread: also the sums that the next question about this parameter will need, so that it needs no thread."""
    found = answer_json(question, release, questions)
    if isinstance(question.estimand, ParameterEstimand):
        release.samples.marginal(question.estimand.index).sum_up()
    return found
