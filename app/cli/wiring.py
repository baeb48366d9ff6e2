"""What only `app.main` may put together, handed to the commands when the command line starts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from app.services.runtime.runtime import Runtime
    from app.settings import Settings


@dataclass(frozen=True, slots=True)
class Wiring:
    factory: str
    """Where each server process finds the application, as `module:function`."""
    configure_logs: Callable[[Settings], None]
    openapi_text: Callable[[], str]
    running: Callable[[Settings], AbstractAsyncContextManager[Runtime]]
    """Services with their background work, for `postern worker`."""


def wiring_of(context: typer.Context) -> Wiring:
    wiring = context.find_object(Wiring)
    if wiring is None:
        raise RuntimeError("start the command line through app.main:cli")
    return wiring
