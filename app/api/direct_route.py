"""A route that calls its endpoint at once when there is nothing for the framework to check.

Solving dependencies, two exit stacks and a second layer of exception handlers cost a warm question as much as answering it.
A request without a query string, whose path parameters are sane ids, needs none of them; any other takes the framework's
way, so there is one place where parameters are validated and refused. OpenAPI reads the route like every other.
"""

from collections.abc import Callable
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from app.api.parameters import SANE_ID


class DirectRoute(APIRoute):
    """For endpoints of a request and path ids; query parameters must have defaults, and dependencies are not solved."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self._checked = self.app
        self.app = self._direct

    async def _direct(self, scope: Scope, receive: Receive, send: Send) -> None:
        ids = scope["path_params"]
        if scope["query_string"] or not all(map(SANE_ID.fullmatch, ids.values())):
            await self._checked(scope, receive, send)
            return
        response = await self.endpoint(Request(scope, receive, send), **ids)
        await response(scope, receive, send)
