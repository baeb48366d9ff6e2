"""Operations: for whoever runs the service; no key, no data."""

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import PlainTextResponse, Response

from app import __version__
from app.api.documentation import operation
from app.api.parameters import runtime_of
from app.api.responses import model_response
from app.api.schemas.operations import Health, Readiness
from app.services.runtime.check_readiness import check_readiness, is_ready

router = APIRouter(tags=["operations"])

_NOT_READY = {
    "responses": {
        "503": {
            "description": "Not ready: some check failed, or the service is starting or stopping.",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Readiness"}}},
        }
    }
}
_METRICS = {
    "responses": {"200": {"content": {"text/plain": {"examples": {"one": {"value": "postern_requests_total 1.0"}}}}}}
}


@router.get("/healthz", response_model=Health, **operation("check_health", "Is the process alive", ("internal",)))
async def get_health() -> Response:
    """Answers without touching anything else: a reason to restart the process, not to stop sending requests."""
    return model_response(Health(status="ok", version=__version__))


@router.get(
    "/readyz",
    response_model=Readiness,
    **operation("check_readiness", "Can it serve", ("internal", "unavailable"), extra=_NOT_READY),
)
async def get_readiness(request: Request) -> Response:
    """Database and migrations decide; Redis, if configured, is reported, since losing it only makes answers slower."""
    checks = await check_readiness(runtime_of(request))
    ready = is_ready(checks)
    return model_response(Readiness(ready=ready, checks=dict(checks)), status=200 if ready else 503)


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    **operation("read_metrics", "Metrics for Prometheus", ("internal",), extra=_METRICS),
)
async def get_metrics(request: Request) -> Response:
    """Counts and durations by route template: no ids, no data, nothing whose value depends on private rows.
    Each worker process counts its own requests."""
    return Response(generate_latest(request.app.state.registry), media_type=CONTENT_TYPE_LATEST)
