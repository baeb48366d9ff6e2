"""Questions: one or many, answered from samples already paid for.

Bytes in, bytes out: the service answers a question it has seen from memory, so nothing is built here.
"""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from app.api.auth import read_reader
from app.api.conditional import weighted
from app.api.direct_route import DirectRoute
from app.api.documentation import JSON, ROLE, THING, operation
from app.api.json_body import read_strict
from app.api.line_stream import NDJSON, LineStream
from app.api.parameters import ReleaseId, runtime_of
from app.api.responses import json_response
from app.api.schemas.queries import EITHER, STREAM, QueriesBody, QueryAnswer, QueryAnswers, QueryBody, QueryPreview
from app.services.reading import answer_queries, answer_query, one_turn, preview_query, stream_queries

router = APIRouter(prefix="/v1", tags=["queries"], route_class=DirectRoute)

DryRun = Annotated[
    bool,
    Query(
        description="Check only: compile, compare with all limits, say what an answer would rest on. Reads no sample."
    ),
]

_REFUSALS = (
    "access_required",
    "calibrated_unavailable",
    "invalid_query",
    "invalid_expression",
    "release_not_ready",
    "release_withdrawn",
    "too_busy",
)


@router.post(
    "/releases/{release_id}/query",
    response_model=QueryAnswer | QueryPreview,
    **operation("answer_query", "Ask a question", ROLE, THING, JSON, _REFUSALS, body=QueryBody, extra=EITHER),
)
async def post_query(request: Request, release_id: ReleaseId, dry_run: DryRun = False) -> Response:
    """The response that maximises expected utility over your samples. The same question gives the same bytes."""
    reader = await read_reader(request)
    runtime = runtime_of(request)
    body, spec = await read_strict(request, one_turn(runtime, reader))
    ask = preview_query if dry_run else answer_query
    return json_response(await ask(runtime, reader=reader, release_id=release_id, body=body, spec=spec))


@router.post(
    "/releases/{release_id}/queries",
    response_model=QueryAnswers,
    **operation("answer_queries", "Ask many questions", ROLE, THING, JSON, _REFUSALS, body=QueriesBody, extra=STREAM),
)
async def post_queries(request: Request, release_id: ReleaseId, dry_run: DryRun = False) -> Response:
    """Answers in the order asked; one bad question is a problem in its place and does not spoil the others.

    `together` makes all regret bounds hold at once. With `Accept: application/x-ndjson` answers come as they are found,
    one a line, for up to 100,000 questions.
    """
    reader = await read_reader(request)
    runtime = runtime_of(request)
    body, _ = await read_strict(request, one_turn(runtime, reader))
    if _wants_lines(request):
        lines = await stream_queries(runtime, reader=reader, release_id=release_id, body=body, dry_run=dry_run)
        return LineStream(lines)
    work = answer_queries(runtime, reader=reader, release_id=release_id, body=body, dry_run=dry_run)
    return json_response(await _while_connected(request, work))


def _wants_lines(request: Request) -> bool:
    """Only if named, and not liked less than JSON."""
    weights = dict(weighted(",".join(request.headers.getlist("accept"))))
    lines = weights.get(NDJSON, 0.0)
    return lines > 0 and lines >= weights.get("application/json", 0.0)


async def _while_connected(request: Request, work: Coroutine[Any, Any, bytes]) -> bytes:
    """Work for a caller who goes away is given up. Nothing but that can arrive once the body is read."""
    answering = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise ClientDisconnect
        return answering.result()
    finally:
        for task in (answering, leaving):
            task.cancel()
        await asyncio.gather(answering, leaving, return_exceptions=True)
