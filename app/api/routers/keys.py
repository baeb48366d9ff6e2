"""Keys: revoke."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.auth import StewardKey
from app.api.documentation import ROLE, THING, operation
from app.api.parameters import KeyId
from app.api.runtime import runtime_of
from app.services.revoke_key import revoke_key

router = APIRouter(prefix="/v1", tags=["analysts"])


@router.delete(
    "/keys/{key_id}",
    response_class=Response,
    **operation("revoke_key", "Revoke a key", ROLE, THING, status=204),
)
async def delete_key(request: Request, steward: StewardKey, key_id: KeyId) -> Response:
    """Takes effect on every worker within a second. Revoking twice is fine."""
    await revoke_key(runtime_of(request), actor=steward, key_id=key_id)
    return Response(status_code=204)
