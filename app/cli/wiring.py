"""What only `app.main` may put together, handed to the commands when the command line starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from uvicorn import Config

    from app.services.runtime.runtime import Runtime
    from app.settings import Settings


@dataclass(frozen=True, slots=True)
class Wiring:
    server: Callable[[Settings, str | None, int | None, int | None], Config]
    """How the web server is set up, by settings and what the command line says of host, port and processes."""
    configure_logs: Callable[[Settings], None]
    openapi_text: Callable[[], str]
    running: Callable[[Settings], AbstractAsyncContextManager[Runtime]]
    """Services with their background work, for `postern worker`."""


def wiring_of(context: typer.Context) -> Wiring:
    wiring = context.find_object(Wiring)
    if wiring is None:
        raise RuntimeError("start the command line through app.main:cli")
    return wiring
