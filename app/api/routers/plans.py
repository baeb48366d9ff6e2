"""Plans: the cost of a release that does not exist."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.auth import AnyKey
from app.api.documentation import JSON, KEY, operation
from app.api.json_body import read_spec
from app.api.parameters import runtime_of
from app.api.responses import model_response
from app.api.schemas.plans import Plan, PlanBody
from app.services.plans import plan_release

router = APIRouter(prefix="/v1", tags=["plans"])


@router.post(
    "/plans",
    response_model=Plan,
    **operation(
        "plan_release",
        "Plan a release",
        KEY,
        JSON,
        ("invalid_model", "invalid_mechanism", "invalid_schema", "numerical_failure", "too_busy"),
        body=PlanBody,
    ),
)
async def post_plan(request: Request, principal: AnyKey) -> Response:
    """Cost and accuracy from public numbers only. Touches no data and charges nothing.

    With a `target` it finds what is missing: samples, temperature or trim, or with `auto` the mechanism itself. What it
    found comes back in `mechanism` and `model`, ready to be sent in a release.
    """
    spec = await read_spec(request, PlanBody)
    return model_response(Plan.of(await plan_release(runtime_of(request), spec=spec)))
