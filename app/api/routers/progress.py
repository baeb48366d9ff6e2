"""How far a release or an upload is: a state to ask for, and server-sent events to follow. For the steward of the dataset
alone."""

from collections.abc import AsyncGenerator

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from app.api.auth import OwnerKey
from app.api.documentation import ROLE, THING, operation
from app.api.line_stream import LineStream
from app.api.parameters import DatasetId, ReleaseId, runtime_of
from app.api.responses import model_response
from app.api.schemas.progress import ReleaseProgress, UploadProgress
from app.services.releases import follow_release, follow_upload, release_progress, upload_progress

EVENTS = "text/event-stream"
_NOT_KEPT = {"Cache-Control": "no-store"}
_EXAMPLE = 'event: progress\ndata: {"stage":"reading","bytes_done":null,"bytes_total":46137344}\n\n'
_STREAM = {
    "responses": {
        "200": {
            "description": "An event `progress` whenever something changed, and every 15 seconds; its data is the state as JSON. "
            "Ends with the work.",
            "content": {
                EVENTS: {"schema": {"description": "Server-sent events."}, "examples": {"events": {"value": _EXAMPLE}}}
            },
        }
    }
}

router = APIRouter(prefix="/v1", tags=["releases"])


@router.get(
    "/releases/{release_id}/progress",
    response_model=ReleaseProgress,
    **operation("read_release_progress", "See how far a release is", ROLE, THING),
)
async def get_release_progress(request: Request, steward: OwnerKey, release_id: ReleaseId) -> Response:
    """Stage, bytes of bytes where they are known, attempts, and why a release was withdrawn. What it says depends on rows: it is
    for the steward of the dataset alone, is kept nowhere, and moves no moment that others see."""
    view = await release_progress(runtime_of(request), steward=steward, release_id=release_id)
    return model_response(ReleaseProgress.of(view), headers=_NOT_KEPT)


@router.get(
    "/releases/{release_id}/progress/events",
    response_class=Response,
    **operation("follow_release", "Follow a release", ROLE, THING, ("too_busy",), extra=_STREAM),
)
async def get_release_events(request: Request, steward: OwnerKey, release_id: ReleaseId) -> Response:
    """The same as server-sent events, looked at twice a second, until the release has ended; at most for an hour."""
    seen = await follow_release(runtime_of(request), steward=steward, release_id=release_id)
    return LineStream(_events(seen, ReleaseProgress), media_type=EVENTS, headers=_NOT_KEPT)


@router.get(
    "/datasets/{dataset_id}/progress",
    response_model=UploadProgress,
    **operation("read_upload_progress", "See how far an upload is", ROLE, THING),
)
async def get_upload_progress(request: Request, steward: OwnerKey, dataset_id: DatasetId) -> Response:
    """Of rows that are being sent or checked: stage, and bytes of bytes where their number was said beforehand."""
    view = await upload_progress(runtime_of(request), steward=steward, dataset_id=dataset_id)
    return model_response(UploadProgress.of(view), headers=_NOT_KEPT)


@router.get(
    "/datasets/{dataset_id}/progress/events",
    response_class=Response,
    **operation("follow_upload", "Follow an upload", ROLE, THING, ("too_busy",), extra=_STREAM),
)
async def get_upload_events(request: Request, steward: OwnerKey, dataset_id: DatasetId) -> Response:
    """The same as server-sent events, until no upload is under way: `EventSource` asks again by itself."""
    seen = await follow_upload(runtime_of(request), steward=steward, dataset_id=dataset_id)
    return LineStream(_events(seen, UploadProgress), media_type=EVENTS, headers=_NOT_KEPT)


async def _events(
    seen: AsyncGenerator[object, None], shown: type[ReleaseProgress] | type[UploadProgress]
) -> AsyncGenerator[bytes, None]:
    try:
        async for view in seen:
            state: BaseModel = shown.of(view)
            yield f"event: progress\ndata: {state.model_dump_json()}\n\n".encode()
    finally:
        await seen.aclose()
