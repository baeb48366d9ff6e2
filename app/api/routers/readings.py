"""Tables, curves, draws and the check of fit of a release: read without asking a question, cached, compressed, with receipts."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from app.api.auth import read_reader
from app.api.conditional import ready_response
from app.api.documentation import CACHED, PARAMETERS, ROLE, THING, UNCHANGED, operation
from app.api.downloads import file_response
from app.api.negotiation import MEDIA_TYPES, chosen_format
from app.api.parameters import Cursor, IfNoneMatch, ReleaseId, runtime_of
from app.api.responses import page_headers
from app.api.schemas.checks import Check
from app.api.schemas.readings import DensitySeries, DrawRows, SummaryTable
from app.core.decisions import SAMPLES, View
from app.services.reading import describe_export, read_check, read_density, read_summary
from app.services.reading.exports import FORMATS
from app.services.reading.exports.draws import PARAMETERS_NAMED_MAX
from app.services.reading.read_density import BINS_MAX, Kind
from app.storage.paging import Page

router = APIRouter(prefix="/v1", tags=["readings"])

LEVEL_DEFAULT, LEVEL_ENDS = 0.9, (0.001, 0.999)
SUMMARY_LIMIT_DEFAULT, SUMMARY_LIMIT_MAX = 100, 1_000
BINS_DEFAULT = 50

_REFUSALS = ("access_required", "calibrated_unavailable", "release_not_ready", "release_withdrawn", "too_busy")
_HEADERS = CACHED | {"Vary": "`Authorization, Accept, Accept-Encoding`."}

_Names = Annotated[
    list[str],
    Query(max_length=PARAMETERS_NAMED_MAX, description="A parameter's name; repeat for several. All if left out."),
]
_Level = Annotated[
    float, Query(ge=LEVEL_ENDS[0], le=LEVEL_ENDS[1], description="The share of samples that intervals hold.")
]
_Rows = Annotated[int, Query(ge=1, le=SUMMARY_LIMIT_MAX, description="How many parameters at most.")]
_Kind = Annotated[Kind, Query(description="Counts in cells, or a smooth curve.")]
_Bins = Annotated[
    int, Query(ge=1, le=BINS_MAX, description="Cells over the public range; at most 100 for two parameters.")
]
_Format = Annotated[
    str | None,
    Query(
        alias="format",
        max_length=20,
        json_schema_extra={"enum": [*FORMATS]},
        description="What to send; `Accept` decides if left out, and JSON if that says nothing.",
    ),
]
_View = Annotated[
    View,
    Query(
        description="`samples`: the draws as they are. `calibrated`: points of the posterior given what was released, where the "
        "release's `views` names it."
    ),
]
_Accept = Annotated[str | None, Header(max_length=1000, description="Media types, best first; `format` wins over it.")]


def _with_files(described: dict[str, Any]) -> dict[str, Any]:
    """The other media types of the same draws."""
    files = {
        media: {
            "schema": {"type": "string", "format": "binary"},
            "examples": {
                name: {"summary": "A file with the receipt inside.", "value": f"rel_p5n6t2dy4hgakq2m-100.{name}"}
            },
        }
        for name, media in MEDIA_TYPES.items()
        if media != "application/json"
    }
    described["responses"][200]["content"] = files
    return described


@router.get(
    "/releases/{release_id}/summary",
    response_model=SummaryTable,
    **operation(
        "read_summary", "Read the summary table", ROLE, THING, PARAMETERS, _REFUSALS, headers=_HEADERS, extra=UNCHANGED
    ),
)
async def get_summary(
    request: Request,
    release_id: ReleaseId,
    level: _Level = LEVEL_DEFAULT,
    parameter: _Names = [],  # noqa: B006 (never changed)
    limit: _Rows = SUMMARY_LIMIT_DEFAULT,
    cursor: Cursor = None,
    view: _View = SAMPLES,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Mean, sd, Monte-Carlo error, quantiles and narrowest interval of each parameter, in either view."""
    table = await read_summary(
        runtime_of(request),
        reader=await read_reader(request),
        release_id=release_id,
        level=level,
        parameters=parameter,
        limit=limit,
        cursor=cursor,
        view=view,
    )
    return ready_response(request, table.ready, page_headers(request, Page([], table.next_cursor)))


@router.get(
    "/releases/{release_id}/check",
    response_model=Check,
    **operation(
        "read_check",
        "Read the check of fit",
        ROLE,
        THING,
        ("access_required", "check_not_bought", "release_not_ready", "release_withdrawn", "too_busy"),
        headers=_HEADERS,
        extra=UNCHANGED,
    ),
)
async def get_check(request: Request, release_id: ReleaseId, if_none_match: IfNoneMatch = None) -> Response:
    """Whether rows look like the model's: a noisy histogram that was paid for with the release, and the verdict on it."""
    return ready_response(
        request, await read_check(runtime_of(request), reader=await read_reader(request), release_id=release_id)
    )


@router.get(
    "/releases/{release_id}/density",
    response_model=DensitySeries,
    response_model_exclude_none=True,
    **operation(
        "read_density", "Read a series to plot", ROLE, THING, PARAMETERS, _REFUSALS, headers=_HEADERS, extra=UNCHANGED
    ),
)
async def get_density(
    request: Request,
    release_id: ReleaseId,
    parameter: _Names = [],  # noqa: B006 (never changed)
    kind: _Kind = "histogram",
    bins: _Bins = BINS_DEFAULT,
    view: _View = SAMPLES,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """A histogram or a smooth curve over the public range of one parameter; of two, their joint histogram."""
    ready = await read_density(
        runtime_of(request),
        reader=await read_reader(request),
        release_id=release_id,
        parameters=parameter,
        kind=kind,
        bins=bins,
        view=view,
    )
    return ready_response(request, ready)


@router.get(
    "/releases/{release_id}/samples",
    response_model=DrawRows,
    **_with_files(
        operation(
            "export_samples",
            "Export the joint draws",
            ROLE,
            THING,
            PARAMETERS,
            _REFUSALS,
            ("not_acceptable",),
            headers=_HEADERS | {"Content-Disposition": "A name for the file."},
            extra=UNCHANGED,
        )
    ),
)
async def get_samples(
    request: Request,
    release_id: ReleaseId,
    name: _Format = None,
    parameter: _Names = [],  # noqa: B006 (never changed)
    view: _View = SAMPLES,
    accept: _Accept = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Joint draws, or points of the belief given them, as JSON, CSV, Arrow, Parquet or ArviZ's netCDF, with their receipt."""
    runtime, reader = runtime_of(request), await read_reader(request)
    export = await describe_export(
        runtime,
        reader=reader,
        release_id=release_id,
        name=chosen_format(name, accept),
        parameters=parameter,
        view=view,
    )
    return await file_response(request, runtime, export)
