"""Ledger: entries, head, verification."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.auth import LedgerKey, OverseerKey
from app.api.documentation import PARAMETERS, ROLE, THING, operation
from app.api.parameters import LIMIT_DEFAULT, Cursor, DatasetId, Limit, runtime_of
from app.api.responses import model_response, page_headers
from app.api.schemas.ledger import LedgerHead, LedgerPage, Verification
from app.services.ledger import read_head, read_ledger, verify_ledger

router = APIRouter(prefix="/v1", tags=["ledger"])


@router.get(
    "/datasets/{dataset_id}/ledger",
    response_model=LedgerPage,
    **operation("read_ledger", "Read a dataset's ledger", ROLE, THING, PARAMETERS),
)
async def get_ledger(
    request: Request,
    overseer: LedgerKey,
    dataset_id: DatasetId,
    limit: Limit = LIMIT_DEFAULT,
    cursor: Cursor = None,
) -> Response:
    """Every charge and void on the dataset's accounts, in order. Entries are never changed."""
    page = await read_ledger(runtime_of(request), overseer=overseer, dataset_id=dataset_id, cursor=cursor, limit=limit)
    return model_response(LedgerPage.of(page), headers=page_headers(request, page))


@router.get(
    "/ledger/head",
    response_model=LedgerHead,
    **operation("read_ledger_head", "Read the head of the chain", ROLE),
)
async def get_head(request: Request, overseer: OverseerKey) -> Response:
    """Keep it somewhere else: a ledger cut short or rolled back cannot produce it again."""
    return model_response(LedgerHead.of(await read_head(runtime_of(request))))


@router.post(
    "/ledger/verify",
    response_model=Verification,
    **operation("verify_ledger", "Verify the chain", ROLE, ("integrity_failure",)),
)
async def post_verify(request: Request, overseer: OverseerKey) -> Response:
    """Recomputes every digest from the first entry and says where the chain breaks, if it does."""
    return model_response(Verification.of(await verify_ledger(runtime_of(request))))
