"""Synthetic rows of a release: free, from what the reader may believe, as CSV or Parquet."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from app.api.auth import read_reader
from app.api.documentation import CACHED, PARAMETERS, ROLE, THING, UNCHANGED, operation
from app.api.downloads import file_response
from app.api.negotiation import SYNTHETIC_MEDIA_TYPES, chosen_format
from app.api.parameters import IfNoneMatch, ReleaseId, runtime_of
from app.services.reading import describe_synthetic
from app.services.reading.exports import SYNTHETIC_FORMATS
from app.services.reading.synthetic_rows import ROWS_DEFAULT, ROWS_MAX, SEED_MAX

router = APIRouter(prefix="/v1", tags=["readings"])

VIEW_HEADER, WARNING_HEADER = "Postern-View", "Postern-Warning"
_HEADERS = CACHED | {
    "Vary": "`Authorization, Accept, Accept-Encoding`.",
    "Content-Disposition": "A name for the file.",
    VIEW_HEADER: "`calibrated` where the release has that view, else `samples`: what the rows were drawn from.",
    WARNING_HEADER: "That the rows are made up, and no more accurate than the release.",
}
_Rows = Annotated[
    int,
    Query(ge=1, le=ROWS_MAX, description="How many rows. Large models make fewer; then the refusal says how many."),
]
_Seed = Annotated[
    int, Query(ge=0, le=SEED_MAX, description="The same seed gives the same rows; another one gives others.")
]
_Part = Annotated[
    str | None,
    Query(max_length=200, description="Of several models: the one that makes the rows. One of them has to be named."),
]
_Format = Annotated[
    str | None,
    Query(
        alias="format",
        max_length=20,
        json_schema_extra={"enum": [*SYNTHETIC_FORMATS]},
        description="What to send; `Accept` decides if left out, and CSV if that says nothing.",
    ),
]
_Accept = Annotated[str | None, Header(max_length=1000, description="Media types, best first; `format` wins over it.")]


def _as_files(described: dict[str, Any]) -> dict[str, Any]:
    described["responses"][200]["content"] = {
        media: {
            "schema": {"type": "string", "format": "binary"},
            "examples": {name: {"summary": "Rows.", "value": f"rel_p5n6t2dy4hgakq2m-100-synthetic-1000-0.{name}"}},
        }
        for name, media in SYNTHETIC_MEDIA_TYPES.items()
    }
    return described


@router.get(
    "/releases/{release_id}/synthetic",
    response_class=Response,
    **_as_files(
        operation(
            "make_synthetic_rows",
            "Make synthetic rows",
            ROLE,
            THING,
            PARAMETERS,
            ("access_required", "release_not_ready", "release_withdrawn", "too_busy"),
            ("synthetic_unavailable", "not_acceptable"),
            headers=_HEADERS,
            extra=UNCHANGED,
        )
    ),
)
async def get_synthetic(
    request: Request,
    release_id: ReleaseId,
    rows: _Rows = ROWS_DEFAULT,
    seed: _Seed = 0,
    part: _Part = None,
    name: _Format = None,
    accept: _Accept = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Rows made up from the calibrated posterior of your own prefix, as CSV or Parquet: free, and no more accurate than it."""
    runtime = runtime_of(request)
    planned = await describe_synthetic(
        runtime,
        reader=await read_reader(request),
        release_id=release_id,
        name=chosen_format(name, accept, SYNTHETIC_MEDIA_TYPES),
        rows=rows,
        seed=seed,
        part=part,
    )
    return await file_response(
        request, runtime, planned, {VIEW_HEADER: planned.release.view, WARNING_HEADER: planned.warning}
    )
