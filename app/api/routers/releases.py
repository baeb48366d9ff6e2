"""Releases: request, list, read, card, access."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.auth import AnalystKey, AnyKey, OwnerKey
from app.api.conditional import cacheable_response
from app.api.documentation import CACHED, JSON, KEY, ONCE, PARAMETERS, ROLE, THING, UNCHANGED, operation
from app.api.idempotency import REPLAY_HEADERS, answer_once, reply_of
from app.api.json_body import read_model, read_spec
from app.api.parameters import (
    LIMIT_DEFAULT,
    SANE_ID,
    Cursor,
    DatasetId,
    IdempotencyKey,
    IfNoneMatch,
    Limit,
    ReleaseId,
    runtime_of,
)
from app.api.responses import model_response, page_headers
from app.api.schemas.cards import Card
from app.api.schemas.releases import Access, AccessBody, Release, ReleaseBody, ReleasePage, SeveralReleaseBody
from app.services.reading import read_card
from app.services.releases import buy_access, cancel_release, list_releases, read_release, request_release

router = APIRouter(prefix="/v1", tags=["releases"])

_DatasetFilter = Annotated[str | None, Query(pattern=SANE_ID.pattern, description="Only releases of this dataset.")]


@router.post(
    "/datasets/{dataset_id}/releases",
    response_model=Release,
    **operation(
        "request_release",
        "Request a release",
        ROLE,
        THING,
        JSON,
        ONCE,
        ("invalid_model", "invalid_mechanism", "vacuous_guarantee", "numerical_failure", "too_busy"),
        ("invalid_statistics", "statistics_used"),
        ("data_missing", "audit_failed", "budget_exhausted", "conflict", "invalid_check", "check_not_offered"),
        body=(ReleaseBody, SeveralReleaseBody),
        status=202,
        headers={
            "Location": "The release's address.",
            "Retry-After": "Seconds until it is worth looking.",
            **REPLAY_HEADERS,
        },
    ),
)
async def post_release(
    request: Request, steward: OwnerKey, dataset_id: DatasetId, idempotency_key: IdempotencyKey = None
) -> Response:
    """Charges the dataset's budget before a row is read, then draws in the background. Poll the `Location`.

    With `models`, a list, it is one release of several: one charge, one reading of the rows, one card. A dataset without rows
    (`"kind": "statistics"`) takes a `source` with what was sealed for the release; it is opened by the worker, after the charge.
    """
    spec = await read_spec(request, ReleaseBody, instead={"models": SeveralReleaseBody})
    return await answer_once(
        request,
        steward,
        idempotency_key,
        spec,
        lambda once: request_release(runtime_of(request), steward=steward, dataset_id=dataset_id, spec=spec, once=once),
        lambda view: reply_of(Release.of(view), 202, f"/v1/releases/{view.id}"),
    )


@router.get(
    "/releases",
    response_model=ReleasePage,
    **operation("list_releases", "List releases you may see", KEY, PARAMETERS, headers=CACHED, extra=UNCHANGED),
)
async def get_releases(
    request: Request,
    principal: AnyKey,
    limit: Limit = LIMIT_DEFAULT,
    cursor: Cursor = None,
    dataset: _DatasetFilter = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """A steward sees those of their datasets; others those of datasets on which they have a right."""
    page = await list_releases(runtime_of(request), principal=principal, cursor=cursor, limit=limit, dataset=dataset)
    return cacheable_response(request, ReleasePage.of(page), page_headers(request, page))


@router.get(
    "/releases/{release_id}",
    response_model=Release,
    **operation("read_release", "Read a release", KEY, THING, headers=CACHED, extra=UNCHANGED),
)
async def get_release(
    request: Request, principal: AnyKey, release_id: ReleaseId, if_none_match: IfNoneMatch = None
) -> Response:
    """Status, model, mechanism and cost: public numbers, the same for everyone who may see it."""
    view = await read_release(runtime_of(request), principal=principal, release_id=release_id)
    return cacheable_response(request, Release.of(view))


@router.get(
    "/releases/{release_id}/card",
    response_model=Card,
    **operation("read_card", "Read the guarantee card", KEY, THING, headers=CACHED, extra=UNCHANGED),
)
async def get_card(
    request: Request, principal: AnyKey, release_id: ReleaseId, if_none_match: IfNoneMatch = None
) -> Response:
    """What is promised to the people in the data, line by line, each with its assumption."""
    card = await read_card(runtime_of(request), principal=principal, release_id=release_id)
    return cacheable_response(request, Card.of(card))


@router.post(
    "/releases/{release_id}/cancel",
    response_model=Release,
    **operation("cancel_release", "Cancel a release that waits", ROLE, THING, ("conflict", "release_withdrawn")),
)
async def post_cancel(request: Request, steward: OwnerKey, release_id: ReleaseId) -> Response:
    """Until the first row is about to be read: the release is withdrawn and its charge taken back, as a line of the ledger. After
    that the charge stands. Cancelling twice is fine."""
    view = await cancel_release(runtime_of(request), steward=steward, release_id=release_id)
    return model_response(Release.of(view))


@router.post(
    "/releases/{release_id}/access",
    response_model=Access,
    **operation(
        "buy_access",
        "Pay for a prefix of the samples",
        ROLE,
        THING,
        JSON,
        ONCE,
        ("access_required", "budget_exhausted", "release_not_ready", "release_withdrawn"),
        body=AccessBody,
        headers=REPLAY_HEADERS,
    ),
)
async def post_access(
    request: Request, analyst: AnalystKey, release_id: ReleaseId, idempotency_key: IdempotencyKey = None
) -> Response:
    """The first `samples` samples, charged to your own cap. Longer later costs the difference; shorter is free. Of several models
    `part` names one."""
    body = await read_model(request, AccessBody)
    return await answer_once(
        request,
        analyst,
        idempotency_key,
        body.model_dump(mode="json", exclude_none=True),
        lambda once: buy_access(
            runtime_of(request),
            analyst=analyst,
            release_id=release_id,
            samples=body.samples,
            part=body.part,
            once=once,
        ),
        lambda view: reply_of(Access.of(view), 200),
    )
