"""Datasets: declare, list, read, upload, cap."""

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from app.api.auth import AnyKey, OwnerKey, RehearserKey, StewardKey
from app.api.documentation import JSON, KEY, ONCE, PARAMETERS, ROLE, THING, operation
from app.api.idempotency import REPLAY_HEADERS, answer_once, reply_of
from app.api.json_body import read_spec
from app.api.parameters import LIMIT_DEFAULT, AnalystId, Cursor, DatasetId, IdempotencyKey, Limit, runtime_of
from app.api.responses import model_response, page_headers
from app.api.schemas.datasets import (
    Cap,
    CapBody,
    Dataset,
    DatasetBody,
    DatasetChange,
    DatasetPage,
    PublicDataset,
    PublicDatasetPage,
    RehearsalBody,
    Upload,
)
from app.api.schemas.drafts import SchemaDraft
from app.services.datasets import (
    change_dataset,
    check_data,
    create_dataset,
    delete_dataset,
    draft_from_file,
    list_datasets,
    read_dataset,
    rehearse_dataset,
    set_cap,
    upload_data,
    withdraw_access,
)
from app.services.principals import Steward
from app.services.views import DatasetView
from app.sources.files import read_declared

router = APIRouter(prefix="/v1", tags=["datasets"])

_FILE = {"schema": {"type": "string", "format": "binary", "description": "The file, byte for byte."}}
_UPLOAD_BODY = {
    "requestBody": {
        "required": True,
        "description": "CSV with a header line, Parquet, or an Arrow stream or file; packed with gzip or zstd if that is said as "
        "`Content-Encoding`, or shows in its first bytes. `application/octet-stream` is any of them, known by its first bytes.",
        "content": {
            "text/csv": {
                "schema": {
                    "type": "string",
                    "description": "A header line with the names of columns, then a line a row.",
                },
                "examples": {"two people": {"value": "cured\n1\n0\n"}},
            },
            "application/vnd.apache.parquet": _FILE,
            "application/vnd.apache.arrow.stream": _FILE,
            "application/vnd.apache.arrow.file": _FILE,
            "application/octet-stream": _FILE,
        },
    }
}

_LENGTH_DIGITS = 15
_Check = Annotated[bool, Query(description="Say what an upload would say, and keep nothing.")]
_Charset = Annotated[
    str | None,
    Query(
        max_length=40,
        description="The character set of CSV, where the content type does not say it: utf-8, windows-1252 (iso-8859-1 is "
        "read as that), utf-16.",
    ),
]
_Separator = Annotated[
    Literal["comma", "semicolon", "tab", "pipe"] | None,
    Query(description="What separates the cells of CSV; if not said, the header line shows it (not a pipe)."),
]
_ContentEncoding = Annotated[
    str | None, Header(alias="Content-Encoding", max_length=40, description="gzip or zstd, if the body is packed.")
]


@router.post(
    "/schemas/draft",
    response_model=SchemaDraft,
    **operation(
        "draft_schema",
        "Draft a schema from a file's names and types",
        ROLE,
        PARAMETERS,
        ("invalid_rows", "unsupported_format", "payload_too_large", "too_busy"),
        extra=_UPLOAD_BODY,
    ),
)
async def post_draft(
    request: Request,
    steward: StewardKey,
    charset: _Charset = None,
    separator: _Separator = None,
    content_encoding: _ContentEncoding = None,
) -> Response:
    """Of CSV the header line, which may be sent alone; of Parquet and Arrow the stored schema. No cell is looked at and nothing
    is kept: bounds and levels are left for you to fill in from public knowledge."""
    form = read_declared(request.headers.get("content-type"), content_encoding, charset, separator)
    made = await draft_from_file(runtime_of(request), steward=steward, form=form, chunks=request.stream())
    return model_response(SchemaDraft.of(made))


@router.post(
    "/datasets",
    response_model=Dataset,
    **operation(
        "create_dataset",
        "Declare a dataset",
        ROLE,
        JSON,
        ONCE,
        ("invalid_schema", "name_taken", "vacuous_guarantee"),
        body=DatasetBody,
        status=201,
        headers={"Location": "The dataset's address.", **REPLAY_HEADERS},
    ),
)
async def post_dataset(request: Request, steward: StewardKey, idempotency_key: IdempotencyKey = None) -> Response:
    """Columns, bounds and budget are public and are chosen without looking at the data. No rows are read."""
    spec = await read_spec(request, DatasetBody)
    return await answer_once(
        request,
        steward,
        idempotency_key,
        spec,
        lambda once: create_dataset(runtime_of(request), steward=steward, spec=spec, once=once),
        lambda view: reply_of(Dataset.of(view), 201, f"/v1/datasets/{view.id}"),
    )


@router.get(
    "/datasets",
    response_model=DatasetPage | PublicDatasetPage,
    **operation(
        "list_datasets", "List datasets you may see", KEY, PARAMETERS, answers=(DatasetPage, PublicDatasetPage)
    ),
)
async def get_datasets(
    request: Request, principal: AnyKey, limit: Limit = LIMIT_DEFAULT, cursor: Cursor = None
) -> Response:
    """Newest first, a page at a time; `Link: rel="next"` and `next_cursor` lead on. A steward's own, with their budgets; others
    see what is public of the datasets they have a right on."""
    page = await list_datasets(runtime_of(request), principal=principal, cursor=cursor, limit=limit)
    shown = DatasetPage if isinstance(principal, Steward) else PublicDatasetPage
    return model_response(shown.of(page), headers=page_headers(request, page))


@router.get(
    "/datasets/{dataset_id}",
    response_model=Dataset | PublicDataset,
    **operation("read_dataset", "Read a dataset", KEY, THING, answers=(Dataset, PublicDataset)),
)
async def get_dataset(request: Request, principal: AnyKey, dataset_id: DatasetId) -> Response:
    """To its steward: schema, budget, what was spent and what is left. To others with a right on it: what is public, that is
    name, description, columns with their levels and bounds, and the number of people. An analyst is the steward of their own
    rehearsals."""
    view = await read_dataset(runtime_of(request), principal=principal, dataset_id=dataset_id)
    return model_response((Dataset if isinstance(view, DatasetView) else PublicDataset).of(view))


@router.post(
    "/datasets/{dataset_id}/rehearsals",
    response_model=Dataset,
    **operation(
        "rehearse_dataset",
        "Make a rehearsal of a dataset you may see",
        ROLE,
        THING,
        JSON,
        ONCE,
        ("name_taken", "vacuous_guarantee", "conflict", "too_busy"),
        body=RehearsalBody,
        status=201,
        headers={"Location": "The rehearsal's address.", **REPLAY_HEADERS},
    ),
)
async def post_rehearsal(
    request: Request, principal: RehearserKey, dataset_id: DatasetId, idempotency_key: IdempotencyKey = None
) -> Response:
    """A dataset of rows made up from the public schema, with accounts of its own: the same calls, nobody's data. An analyst owns
    what they make, as a steward would, with a cap on it like the one they have; a few at a time."""
    spec = await read_spec(request, RehearsalBody)
    return await answer_once(
        request,
        principal,
        idempotency_key,
        spec,
        lambda once: rehearse_dataset(
            runtime_of(request), principal=principal, dataset_id=dataset_id, spec=spec, once=once
        ),
        lambda view: reply_of(Dataset.of(view), 201, f"/v1/datasets/{view.id}"),
    )


@router.patch(
    "/datasets/{dataset_id}",
    response_model=Dataset,
    **operation(
        "change_dataset",
        "Rename, describe, correct or archive a dataset",
        ROLE,
        THING,
        JSON,
        ("invalid_schema", "invalid_rows", "name_taken", "conflict"),
        body=DatasetChange,
    ),
)
async def patch_dataset(request: Request, steward: OwnerKey, dataset_id: DatasetId) -> Response:
    """The schema may be changed until the first release is asked for; that discards uploaded rows. A change made after rows had
    been uploaded or checked is recorded, and told on every card. Archiving wipes the rows for good; releases go on answering."""
    spec = await read_spec(request, DatasetChange)
    view = await change_dataset(runtime_of(request), steward=steward, dataset_id=dataset_id, spec=spec)
    return model_response(Dataset.of(view))


@router.delete(
    "/datasets/{dataset_id}",
    response_class=Response,
    **operation("delete_dataset", "Delete a dataset that was never charged", ROLE, THING, ("conflict",), status=204),
)
async def remove_dataset(request: Request, steward: OwnerKey, dataset_id: DatasetId) -> Response:
    """Rows are wiped and its name is free again. Only while no release was ever asked for; archive it otherwise."""
    await delete_dataset(runtime_of(request), steward=steward, dataset_id=dataset_id)
    return Response(status_code=204)


@router.put(
    "/datasets/{dataset_id}/data",
    response_model=Upload,
    **operation(
        "upload_data",
        "Upload rows",
        ROLE,
        THING,
        ("invalid_rows", "unsupported_format", "payload_too_large", "conflict", "too_busy"),
        extra=_UPLOAD_BODY,
    ),
)
async def put_data(
    request: Request,
    steward: OwnerKey,
    dataset_id: DatasetId,
    check: _Check = False,
    charset: _Charset = None,
    separator: _Separator = None,
    content_encoding: _ContentEncoding = None,
) -> Response:
    """Streamed to a private file and checked strictly against the schema. What does not fit is told to you alone, by column: how
    many cells, the first lines, what was expected and which policy would take them; and nothing is kept. A new upload
    replaces the last; the budget already spent stays spent. `check=true` says the same and keeps nothing either way."""
    form = read_declared(request.headers.get("content-type"), content_encoding, charset, separator)
    take = check_data if check else upload_data
    said = request.headers.get("content-length", "")
    view = await take(
        runtime_of(request),
        steward=steward,
        dataset_id=dataset_id,
        form=form,
        chunks=request.stream(),
        length=int(said) if said.isascii() and said.isdigit() and len(said) <= _LENGTH_DIGITS else None,
    )
    return model_response(Upload.of(view))


@router.put(
    "/datasets/{dataset_id}/analysts/{analyst_id}",
    response_model=Cap,
    **operation("set_cap", "Cap an analyst on a dataset", ROLE, THING, JSON, ("vacuous_guarantee",), body=CapBody),
)
async def put_cap(request: Request, steward: OwnerKey, dataset_id: DatasetId, analyst_id: AnalystId) -> Response:
    """`epsilon` and `delta` for an analyst, who then buys prefixes; `samples` for a dashboard, which buys nothing."""
    spec = await read_spec(request, CapBody)
    view = await set_cap(
        runtime_of(request), steward=steward, dataset_id=dataset_id, principal_id=analyst_id, spec=spec
    )
    return model_response(Cap.of(view))


@router.delete(
    "/datasets/{dataset_id}/analysts/{analyst_id}",
    response_model=Cap,
    **operation("withdraw_access", "Take back what a person may read", ROLE, THING),
)
async def delete_cap(request: Request, steward: OwnerKey, dataset_id: DatasetId, analyst_id: AnalystId) -> Response:
    """Nothing of the dataset is read or bought by them from now on, on every process within a second. What was paid stays
    spent; another cap gives back what was paid for."""
    view = await withdraw_access(runtime_of(request), steward=steward, dataset_id=dataset_id, principal_id=analyst_id)
    return model_response(Cap.of(view))
