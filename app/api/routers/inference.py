"""What correlated people lose by a release: from public numbers and what the caller declares."""

from typing import Annotated

from fastapi import APIRouter, Header, Request
from starlette.responses import Response

from app.api.auth import read_reader
from app.api.documentation import JSON, ROLE, THING, operation
from app.api.json_body import read_spec
from app.api.negotiation import chosen_format
from app.api.parameters import ReleaseId, runtime_of
from app.api.responses import model_response
from app.api.schemas.inference import Inference, InferenceBody
from app.services.reading import odds_picture, read_inference

router = APIRouter(prefix="/v1", tags=["readings"])

_TYPES = {"json": "application/json", "svg": "image/svg+xml"}
_Accept = Annotated[str | None, Header(include_in_schema=False)]


@router.post(
    "/releases/{release_id}/inference",
    response_model=Inference,
    **operation(
        "infer_from_release",
        "What correlated people lose by a release",
        ROLE,
        THING,
        JSON,
        (
            "access_required",
            "release_not_ready",
            "release_withdrawn",
            "too_busy",
            "numerical_failure",
            "not_acceptable",
        ),
        body=InferenceBody,
    ),
)
async def post_inference(request: Request, release_id: ReleaseId, accept: _Accept = None) -> Response:
    """How far anyone who believes that people's records depend on each other can move their belief about one person or group,
    from as many samples as you may read. Public numbers only: no sample is opened and nothing is charged; the same body has the
    same answer for ever.

    Several releases of a dataset, `releases`, are taken together as their curves add up. With `Accept: image/svg+xml` it is a
    picture of the odds before and after.
    """
    reader = await read_reader(request)
    chosen = chosen_format(None, accept, _TYPES)
    body = await read_spec(request, InferenceBody)
    answer = await read_inference(runtime_of(request), reader=reader, release_id=release_id, body=body)
    if chosen == "svg":
        return Response(odds_picture(answer), media_type=_TYPES["svg"], headers={"Vary": "Authorization, Accept"})
    return model_response(Inference.of(answer), headers={"Vary": "Authorization, Accept"})
