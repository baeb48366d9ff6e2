"""Plans: the cost of a release that does not exist."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.auth import AnyKey
from app.api.disconnects import while_wanted
from app.api.documentation import JSON, KEY, operation
from app.api.json_body import read_spec
from app.api.parameters import runtime_of
from app.api.responses import model_response
from app.api.schemas.plans import Plan, PlanBody
from app.api.schemas.shared_plans import SharedPlan, SharedPlanBody
from app.services.plans import plan_release, plan_together

router = APIRouter(prefix="/v1", tags=["plans"])


@router.post(
    "/plans",
    response_model=Plan | SharedPlan,
    **operation(
        "plan_release",
        "Plan a release, or several on one budget",
        KEY,
        JSON,
        ("invalid_model", "invalid_mechanism", "invalid_schema", "accuracy_unreachable", "vacuous_guarantee"),
        ("numerical_failure", "too_busy", "forbidden", "not_found", "data_missing", "budget_exhausted"),
        ("invalid_check", "check_not_offered"),
        body=(PlanBody, SharedPlanBody),
        answers=(Plan, SharedPlan),
    ),
)
async def post_plan(request: Request, principal: AnyKey) -> Response:
    """Cost and accuracy from public numbers only. Touches no data and charges nothing.

    With a `target` it finds what is missing: samples, temperature or trim, or with `auto` the mechanism itself. A target may be
    an (ε, δ) or an accuracy, the half width of an interval or an sd, for which the cheapest mechanism is found. What it found
    comes back in `mechanism` and `model`, ready to be sent in a release.

    With `models`, a list, it says how to split one budget between them: each at its own accuracy, or all wider by the same
    factor.
    """
    spec = await read_spec(request, PlanBody, instead={"models": SharedPlanBody})
    runtime = runtime_of(request)
    if "models" in spec:
        together = plan_together(runtime, principal=principal, spec=spec)
        return model_response(SharedPlan.of(await while_wanted(request, together)))
    return model_response(Plan.of(await while_wanted(request, plan_release(runtime, spec=spec))))
