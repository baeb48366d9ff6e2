"""The HTTP application without its services: routes, problems and the layers around them."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from starlette.middleware import Middleware

from app import __version__
from app.api import reference
from app.api.middleware.body_limit import BodyLimitMiddleware
from app.api.middleware.envelope import EnvelopeMiddleware
from app.api.middleware.last_resort import LastResortMiddleware
from app.api.middleware.observation import ObservationMiddleware, RequestMetrics, ServiceMetrics
from app.api.openapi import openapi_document
from app.api.problems import install_problem_handlers
from app.api.routers import ROUTERS

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[None]]


class PosternAPI(FastAPI):
    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = openapi_document(self.routes)
        return self.openapi_schema


def build_api(*, body_bytes_max: int, lifespan: Lifespan | None = None) -> PosternAPI:
    """The framework's own telemetry stays off: it would record validation errors with the values that failed."""
    registry = CollectorRegistry()
    registry.register(ServiceMetrics())
    app = PosternAPI(
        title="Postern",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(EnvelopeMiddleware),
            Middleware(ObservationMiddleware, metrics=RequestMetrics(registry)),
            Middleware(LastResortMiddleware),
            Middleware(BodyLimitMiddleware, bytes_max=body_bytes_max),
        ],
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
        },
    )
    app.state.registry = registry
    install_problem_handlers(app)
    # Flat, not `include_router`: an included router is matched twice on the way to its route. Before the documentation's
    # own routes: addresses are matched in order.
    app.router.routes[:0] = [*(route for router in ROUTERS for route in router.routes), *reference.ROUTES]
    return app
