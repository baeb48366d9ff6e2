"""Statistics without rows: the key they are sealed to, and plans to seal them by."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app.api.auth import AnyKey, OwnerKey
from app.api.documentation import JSON, KEY, ONCE, ROLE, THING, operation
from app.api.idempotency import REPLAY_HEADERS, answer_once, reply_of
from app.api.json_body import read_spec
from app.api.parameters import DatasetId, IdempotencyKey, runtime_of
from app.api.responses import model_response
from app.api.schemas.releases import ReleaseBody, SeveralReleaseBody
from app.api.schemas.statistics import SealingKey, SealingPlan
from app.services.releases import plan_statistics, sealing_key_view

router = APIRouter(prefix="/v1", tags=["releases"])


@router.get(
    "/statistics/key",
    response_model=SealingKey,
    **operation("read_sealing_key", "Read the key that statistics are sealed to", KEY),
)
async def get_key(request: Request, principal: AnyKey) -> Response:
    """Its public half. Whoever seals compares it with what the operator told them (`postern sealing-key`)."""
    return model_response(SealingKey.of(sealing_key_view(runtime_of(request))))


@router.post(
    "/datasets/{dataset_id}/statistics",
    response_model=SealingPlan,
    **operation(
        "plan_statistics",
        "Get a plan to seal statistics by",
        ROLE,
        THING,
        JSON,
        ONCE,
        (
            "invalid_model",
            "invalid_mechanism",
            "invalid_statistics",
            "vacuous_guarantee",
            "numerical_failure",
            "too_busy",
        ),
        ("data_missing", "conflict", "invalid_check", "check_not_offered"),
        body=(ReleaseBody, SeveralReleaseBody),
        status=201,
        headers=REPLAY_HEADERS,
    ),
)
async def post_plan(
    request: Request, steward: OwnerKey, dataset_id: DatasetId, idempotency_key: IdempotencyKey = None
) -> Response:
    """For a dataset whose source is `statistics`. The body is that of the release: `postern statistics` computes the plan's
    numbers beside the data and seals them, and the same body with a `source` asks for the release. Charges nothing; good for
    one release, for a week."""
    spec = await read_spec(request, ReleaseBody, instead={"models": SeveralReleaseBody})
    return await answer_once(
        request,
        steward,
        idempotency_key,
        spec,
        lambda once: plan_statistics(runtime_of(request), steward=steward, dataset_id=dataset_id, spec=spec, once=once),
        lambda view: reply_of(SealingPlan.of(view), 201),
    )
