"""Audits: ask, list, read, the signed report."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from app.api.auth import OverseerKey
from app.api.documentation import JSON, ONCE, PARAMETERS, ROLE, THING, operation
from app.api.idempotency import REPLAY_HEADERS, answer_once, reply_of
from app.api.json_body import read_spec
from app.api.parameters import LIMIT_DEFAULT, SANE_ID, Cursor, IdempotencyKey, Limit, runtime_of
from app.api.responses import model_response, page_headers
from app.api.schemas.audits import Audit, AuditBody, AuditPage, AuditReport
from app.services.audits import list_audits, read_audit, read_report, request_audit

router = APIRouter(prefix="/v1", tags=["audits"])

AuditId = Annotated[
    str, Path(description="The audit's id.", pattern=SANE_ID.pattern, examples=["aud_5n6t2dy4hgakq2mp"])
]


@router.post(
    "/audits",
    response_model=Audit,
    **operation(
        "request_audit",
        "Ask for an audit",
        ROLE,
        JSON,
        ONCE,
        ("invalid_audit", "invalid_model", "invalid_mechanism", "invalid_schema"),
        body=AuditBody,
        status=202,
        headers={
            "Location": "The audit's address.",
            "Retry-After": "Seconds until it is worth looking.",
            **REPLAY_HEADERS,
        },
    ),
)
async def post_audit(request: Request, overseer: OverseerKey, idempotency_key: IdempotencyKey = None) -> Response:
    """Free: reads no row and runs nothing that was sent. Its seed is signed and stored first. Poll the `Location`.

    Samples of a release of real rows have no place here: how they fit their own table is a function of those rows.
    """
    spec = await read_spec(request, AuditBody)
    return await answer_once(
        request,
        overseer,
        idempotency_key,
        spec,
        lambda once: request_audit(runtime_of(request), overseer=overseer, spec=spec, once=once),
        lambda view: reply_of(Audit.of(view), 202, f"/v1/audits/{view.id}"),
    )


@router.get(
    "/audits",
    response_model=AuditPage,
    **operation("list_audits", "List audits", ROLE, PARAMETERS),
)
async def get_audits(
    request: Request, overseer: OverseerKey, limit: Limit = LIMIT_DEFAULT, cursor: Cursor = None
) -> Response:
    """Newest first: a steward's own, for an auditor everybody's."""
    page = await list_audits(runtime_of(request), overseer=overseer, cursor=cursor, limit=limit)
    return model_response(AuditPage.of(page), headers=page_headers(request, page))


@router.get(
    "/audits/{audit_id}",
    response_model=Audit,
    **operation("read_audit", "Read an audit", ROLE, THING),
)
async def get_audit(request: Request, overseer: OverseerKey, audit_id: AuditId) -> Response:
    """Pending at first; once it is done, what it found: tests, certificates, a verdict."""
    return model_response(Audit.of(await read_audit(runtime_of(request), overseer=overseer, audit_id=audit_id)))


@router.get(
    "/audits/{audit_id}/report",
    response_model=AuditReport,
    **operation("read_audit_report", "Read an audit's signed report", ROLE, THING),
)
async def get_report(request: Request, overseer: OverseerKey, audit_id: AuditId) -> Response:
    """For `postern audit verify`, which checks its signatures and makes it again, without this service."""
    report = await read_report(runtime_of(request), overseer=overseer, audit_id=audit_id)
    return model_response(AuditReport.of(report))
