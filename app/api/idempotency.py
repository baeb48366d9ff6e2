"""`Idempotency-Key` on every request that creates or charges: one way in for all of them."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response

from app.api.auth import bearer_token
from app.api.parameters import runtime_of
from app.services.principals import AnyPrincipal
from app.services.runtime.idempotency import Once, Reply, input_hash, perform_once

T = TypeVar("T")

REPLAYED = "Idempotent-Replayed"
REPLAY_HEADERS = {REPLAYED: "`true` if this is the answer to an earlier request with the same `Idempotency-Key`."}
_POLL_S = 1


async def answer_once(
    request: Request,
    principal: AnyPrincipal,
    key: str | None,
    body: Any,
    work: Callable[[Once[T] | None], Awaitable[T]],
    render: Callable[[T], Reply],
) -> Response:
    """`work` calls one service, which claims and answers the `Once` it is given inside its own transaction."""
    if key is None:
        return _response(render(await work(None)), replayed=False)
    once = Once(
        principal_id=principal.id,
        route=f"{request.method} {request.url.path}",
        input_hash=input_hash(body),
        key=key,
        token=bearer_token(request) or "",
        render=render,
    )
    reply, replayed = await perform_once(runtime_of(request), once, lambda: work(once))
    return _response(reply, replayed=replayed)


def reply_of(model: BaseModel, status: int, location: str | None = None) -> Reply:
    return Reply(status, model.model_dump_json().encode(), location)


def _response(reply: Reply, *, replayed: bool) -> Response:
    headers = {} if reply.location is None else {"Location": reply.location}
    if reply.status == 202:
        headers["Retry-After"] = str(_POLL_S)
    if replayed:
        headers[REPLAYED] = "true"
    return Response(reply.body, reply.status, headers, "application/json")
