"""Questions: one or many, answered from samples already paid for.

Bytes in, bytes out: the service answers a question it has seen from memory, so nothing is built here.
"""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.auth import read_reader
from app.api.direct_route import DirectRoute
from app.api.documentation import JSON, ROLE, THING, operation
from app.api.json_body import read_strict_bytes
from app.api.parameters import ReleaseId
from app.api.responses import json_response
from app.api.runtime import runtime_of
from app.api.schemas.queries import QueriesBody, QueryAnswer, QueryAnswers, QueryBody
from app.services.answer_query import answer_queries, answer_query

router = APIRouter(prefix="/v1", tags=["queries"], route_class=DirectRoute)

_REFUSALS = (
    "access_required",
    "invalid_query",
    "invalid_expression",
    "release_not_ready",
    "release_withdrawn",
)


@router.post(
    "/releases/{release_id}/query",
    response_model=QueryAnswer,
    **operation("answer_query", "Ask a question", ROLE, THING, JSON, _REFUSALS, body=QueryBody),
)
async def post_query(request: Request, release_id: ReleaseId) -> Response:
    """The response that maximises expected utility over your samples. The same question gives the same bytes."""
    reader = await read_reader(request)
    body = await read_strict_bytes(request)
    return json_response(await answer_query(runtime_of(request), reader=reader, release_id=release_id, body=body))


@router.post(
    "/releases/{release_id}/queries",
    response_model=QueryAnswers,
    **operation("answer_queries", "Ask several questions", ROLE, THING, JSON, _REFUSALS, body=QueriesBody),
)
async def post_queries(request: Request, release_id: ReleaseId) -> Response:
    """Answers in the order asked; one bad question is a problem in its place and does not spoil the others."""
    reader = await read_reader(request)
    body = await read_strict_bytes(request)
    return json_response(await answer_queries(runtime_of(request), reader=reader, release_id=release_id, body=body))
