"""Tables, curves, draws and the check of fit of a release: read without asking a question, cached, compressed, with receipts."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from app.api.auth import read_reader
from app.api.conditional import ready_response
from app.api.documentation import CACHED, PARAMETERS, ROLE, THING, UNCHANGED, operation
from app.api.downloads import file_response
from app.api.negotiation import LONG_MEDIA_TYPES, MEDIA_TYPES, chosen_format
from app.api.parameters import Cursor, IfNoneMatch, ReleaseId, runtime_of
from app.api.responses import page_headers
from app.api.schemas.checks import Check
from app.api.schemas.readings import DensitySeries, DrawRows, LongTable, SummaryTable
from app.core.decisions import SAMPLES, View
from app.errors import InvalidInput
from app.services.reading import describe_export, describe_long, read_check, read_density, read_summary
from app.services.reading.exports import FORMATS, LONG_FORMATS
from app.services.reading.exports.draws import PARAMETERS_NAMED_MAX, Draws
from app.services.reading.long_tables import Long, long_samples, of_bins, of_level
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
_Layout = Annotated[
    Literal["wide", "long"],
    Query(
        description="`long`: a whole table with one row a group and parameter, and draw or cell, and the group's columns, and "
        "`part` of several models, as columns; as JSON, CSV, Arrow or Parquet."
    ),
]
_LongFormat = Annotated[
    str | None,
    Query(
        alias="format",
        max_length=20,
        json_schema_extra={"enum": [*LONG_FORMATS]},
        description="With `layout=long`: what to send; `Accept` decides if left out, and JSON if that says nothing.",
    ),
]
_View = Annotated[
    View,
    Query(
        description="`samples`: the draws as they are. `calibrated`: points of the posterior given what was released, where the "
        "release's `views` names it."
    ),
]
_Part = Annotated[
    str | None,
    Query(
        max_length=200,
        description="Of several models: the one that is read, as if it were alone. Without it all that `parameter` names, or all "
        "you may read, as `cured.theta`, as many draws as the fewest.",
    ),
]
_CheckPart = Annotated[
    str | None, Query(max_length=200, description="Of several models: the one whose check is read; each has its own.")
]
_Accept = Annotated[str | None, Header(max_length=1000, description="Media types, best first; `format` wins over it.")]


def _with_files(described: dict[str, Any], types: Mapping[str, str] = MEDIA_TYPES) -> dict[str, Any]:
    """The other media types of the same draws or table."""
    files = {
        media: {
            "schema": {"type": "string", "format": "binary"},
            "examples": {
                name: {"summary": "A file with the receipt inside.", "value": f"rel_p5n6t2dy4hgakq2m-100.{name}"}
            },
        }
        for name, media in types.items()
        if media != "application/json"
    }
    described["responses"][200].setdefault("content", {}).update(files)
    return described


async def _long(
    request: Request,
    release_id: str,
    name: str | None,
    parameters: list[str],
    view: View,
    part: str | None,
    long: Callable[[Draws], Long],
) -> Response:
    runtime = runtime_of(request)
    planned = await describe_long(
        runtime,
        reader=await read_reader(request),
        release_id=release_id,
        name=chosen_format(name, request.headers.get("accept"), LONG_MEDIA_TYPES),
        parameters=parameters,
        view=view,
        long=long,
        part=part,
    )
    return await file_response(request, runtime, planned)


def _refuse_format(name: str | None) -> None:
    if name not in (None, "json"):
        raise InvalidInput("format", "json, unless `layout` is long")


@router.get(
    "/releases/{release_id}/summary",
    response_model=SummaryTable | LongTable,
    **_with_files(
        operation(
            "read_summary",
            "Read the summary table",
            ROLE,
            THING,
            PARAMETERS,
            _REFUSALS,
            ("not_acceptable",),
            answers=(SummaryTable, LongTable),
            headers=_HEADERS,
            extra=UNCHANGED,
        ),
        LONG_MEDIA_TYPES,
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
    part: _Part = None,
    layout: _Layout = "wide",
    name: _LongFormat = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Mean, sd, Monte-Carlo error, quantiles and narrowest interval of each parameter, in either view; long, all on one page."""
    if layout == "long":
        if cursor is not None:
            raise InvalidInput("cursor", "nothing, with `layout=long`: there is one page")
        return await _long(request, release_id, name, parameter, view, part, of_level(level))
    _refuse_format(name)
    table = await read_summary(
        runtime_of(request),
        reader=await read_reader(request),
        release_id=release_id,
        level=level,
        parameters=parameter,
        limit=limit,
        cursor=cursor,
        view=view,
        part=part,
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
        PARAMETERS,
        ("access_required", "check_not_bought", "release_not_ready", "release_withdrawn", "too_busy"),
        headers=_HEADERS,
        extra=UNCHANGED,
    ),
)
async def get_check(
    request: Request, release_id: ReleaseId, part: _CheckPart = None, if_none_match: IfNoneMatch = None
) -> Response:
    """Whether rows look like the model's: a noisy histogram that was paid for with the release, and the verdict on it."""
    reader = await read_reader(request)
    return ready_response(
        request, await read_check(runtime_of(request), reader=reader, release_id=release_id, part=part)
    )


@router.get(
    "/releases/{release_id}/density",
    response_model=DensitySeries | LongTable,
    response_model_exclude_none=True,
    **_with_files(
        operation(
            "read_density",
            "Read a series to plot",
            ROLE,
            THING,
            PARAMETERS,
            _REFUSALS,
            ("not_acceptable",),
            answers=(DensitySeries, LongTable),
            headers=_HEADERS,
            extra=UNCHANGED,
        ),
        LONG_MEDIA_TYPES,
    ),
)
async def get_density(
    request: Request,
    release_id: ReleaseId,
    parameter: _Names = [],  # noqa: B006 (never changed)
    kind: _Kind = "histogram",
    bins: _Bins = BINS_DEFAULT,
    view: _View = SAMPLES,
    part: _Part = None,
    layout: _Layout = "wide",
    name: _LongFormat = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """A histogram or a smooth curve over the public range of one parameter; of two, their joint histogram; long, of each one."""
    if layout == "long":
        return await _long(request, release_id, name, parameter, view, part, of_bins(kind, bins))
    _refuse_format(name)
    ready = await read_density(
        runtime_of(request),
        reader=await read_reader(request),
        release_id=release_id,
        parameters=parameter,
        kind=kind,
        bins=bins,
        view=view,
        part=part,
    )
    return ready_response(request, ready)


@router.get(
    "/releases/{release_id}/samples",
    response_model=DrawRows | LongTable,
    **_with_files(
        operation(
            "export_samples",
            "Export the joint draws",
            ROLE,
            THING,
            PARAMETERS,
            _REFUSALS,
            ("not_acceptable",),
            answers=(DrawRows, LongTable),
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
    part: _Part = None,
    layout: _Layout = "wide",
    accept: _Accept = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Joint draws, or points of the belief given them, as JSON, CSV, Arrow, Parquet or ArviZ's netCDF, with their receipt."""
    if layout == "long":
        return await _long(request, release_id, name, parameter, view, part, long_samples)
    runtime, reader = runtime_of(request), await read_reader(request)
    export = await describe_export(
        runtime,
        reader=reader,
        release_id=release_id,
        name=chosen_format(name, accept),
        parameters=parameter,
        view=view,
        part=part,
    )
    return await file_response(request, runtime, export)
