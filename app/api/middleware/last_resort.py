"""Whatever escapes the handlers becomes a 500 problem here and goes no further.

The framework's own outermost layer re-raises after answering, and the server then prints the traceback with the
exception's message: private values could reach the log that way.
"""

import asyncio

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import last_resort, problem_response
from app.errors import Unavailable


class LastResortMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = False

        async def send_noted(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, send_noted)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:
            # Only a stop cancels requests, those that outlasted its patience.
            if begun:
                raise
            stopping = Unavailable("the service is stopping; try again")
            request_id = str(scope.get("state", {}).get("request_id", "unknown"))
            headers = {"Retry-After": str(stopping.retry_after_s)}
            response = problem_response(stopping.code, stopping.detail, request_id=request_id, headers=headers)
            await response(scope, receive, send)
        except Exception as error:
            response = last_resort(error, request_id=str(scope.get("state", {}).get("request_id", "unknown")))
            if not begun:
                await response(scope, receive, send)
