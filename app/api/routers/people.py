"""People (analysts, dashboards, auditors), their keys, and what the key in hand is and may do."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.auth import AnyKey, StewardKey
from app.api.documentation import JSON, KEY, ONCE, PARAMETERS, ROLE, THING, operation
from app.api.idempotency import REPLAY_HEADERS, answer_once, reply_of
from app.api.json_body import read_model
from app.api.parameters import LIMIT_DEFAULT, AnalystId, Cursor, IdempotencyKey, KeyId, Limit, runtime_of
from app.api.responses import model_response, page_headers
from app.api.schemas.me import Me
from app.api.schemas.principals import Analyst, AnalystBody, AnalystPage, KeyBody, KeyList, NewKey
from app.api.schemas.shapes import microseconds
from app.services.people import create_key, create_principal, list_keys, list_principals, read_me, revoke_key
from app.storage.paging import Page

router = APIRouter(prefix="/v1", tags=["analysts"])


@router.post(
    "/analysts",
    response_model=Analyst,
    **operation(
        "create_analyst",
        "Add a person",
        ROLE,
        JSON,
        ONCE,
        ("name_taken",),
        body=AnalystBody,
        status=201,
        headers=REPLAY_HEADERS,
    ),
)
async def post_analyst(request: Request, steward: StewardKey, idempotency_key: IdempotencyKey = None) -> Response:
    """An analyst, dashboard or auditor. They can do nothing until they hold a key and a cap."""
    body = await read_model(request, AnalystBody)
    return await answer_once(
        request,
        steward,
        idempotency_key,
        body.model_dump(mode="json"),
        lambda once: create_principal(
            runtime_of(request), role=body.role, name=body.name, created_by=steward, once=once
        ),
        lambda view: reply_of(Analyst.of(view), 201),
    )


@router.get(
    "/analysts",
    response_model=AnalystPage,
    **operation("list_analysts", "List people", ROLE, PARAMETERS),
)
async def get_analysts(
    request: Request, steward: StewardKey, limit: Limit = LIMIT_DEFAULT, cursor: Cursor = None
) -> Response:
    """Everyone this steward may give keys and caps to."""
    page = await list_principals(runtime_of(request), steward=steward, cursor=cursor, limit=limit)
    return model_response(AnalystPage.of(page), headers=page_headers(request, page))


@router.post(
    "/analysts/{analyst_id}/keys",
    response_model=NewKey,
    **operation(
        "create_key",
        "Give a person a key",
        ROLE,
        THING,
        JSON,
        ONCE,
        body=KeyBody,
        status=201,
        headers=REPLAY_HEADERS,
    ),
)
async def post_key(
    request: Request, steward: StewardKey, analyst_id: AnalystId, idempotency_key: IdempotencyKey = None
) -> Response:
    """The answer holds the token, this once: only its hash is stored. With an `Idempotency-Key` the same API key can have
    it repeated, from a copy that no stolen database opens."""
    body = await read_model(request, KeyBody)
    return await answer_once(
        request,
        steward,
        idempotency_key,
        body.model_dump(mode="json"),
        lambda once: create_key(
            runtime_of(request),
            actor=steward,
            principal_id=analyst_id,
            label=body.label,
            expires_us=None if body.expires_at is None else microseconds(body.expires_at),
            role=body.role,
            once=once,
        ),
        lambda view: reply_of(NewKey.of(view), 201),
    )


@router.get(
    "/analysts/{analyst_id}/keys",
    response_model=KeyList,
    **operation("list_keys", "List a person's keys", ROLE, THING),
)
async def get_keys(request: Request, steward: StewardKey, analyst_id: AnalystId) -> Response:
    """When each was made, last used, expires and was revoked. Tokens are never shown again."""
    keys = await list_keys(runtime_of(request), steward=steward, principal_id=analyst_id)
    return model_response(KeyList.of(Page(items=keys, next_cursor=None)))


@router.delete(
    "/keys/{key_id}",
    response_class=Response,
    **operation("revoke_key", "Revoke a key", ROLE, THING, status=204),
)
async def delete_key(request: Request, steward: StewardKey, key_id: KeyId) -> Response:
    """Takes effect on every worker within a second. Revoking twice is fine."""
    await revoke_key(runtime_of(request), actor=steward, key_id=key_id)
    return Response(status_code=204)


me_router = APIRouter(prefix="/v1", tags=["me"])


@me_router.get("/me", response_model=Me, **operation("read_me", "Who am I", KEY))
async def get_me(request: Request, principal: AnyKey) -> Response:
    """Role, caps, what was spent, what is left, and the prefixes paid for."""
    return model_response(Me.of(await read_me(runtime_of(request), principal=principal)))
