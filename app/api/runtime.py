"""Where routes find what `main` wired: the running services, kept on the application."""

from starlette.requests import Request

from app.errors import Unavailable
from app.services.runtime import Runtime


def runtime_of(request: Request) -> Runtime:
    runtime = getattr(request.app.state, "runtime", None)
    if not isinstance(runtime, Runtime):
        raise Unavailable("the service is starting or stopping")
    return runtime
