"""Me: what the key in hand is and may do."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.auth import AnyKey
from app.api.documentation import KEY, operation
from app.api.responses import model_response
from app.api.runtime import runtime_of
from app.api.schemas.me import Me
from app.services.read_me import read_me

router = APIRouter(prefix="/v1", tags=["me"])


@router.get("/me", response_model=Me, **operation("read_me", "Who am I", KEY))
async def get_me(request: Request, principal: AnyKey) -> Response:
    """Role, caps, what was spent, what is left, and the prefixes paid for."""
    return model_response(Me.of(await read_me(runtime_of(request), principal=principal)))
