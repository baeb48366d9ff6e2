"""`postern worker`: draws releases for API processes that do not."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import typer

from app.cli.session import prepare_database
from app.cli.wiring import wiring_of

if TYPE_CHECKING:
    from app.cli.wiring import Wiring
    from app.settings import Settings


def worker(context: typer.Context) -> None:
    """Take releases from the queue until stopped. Any number may run on one PostgreSQL."""
    from app.settings import Settings

    settings = Settings().model_copy(update={"embedded_worker": True})
    wiring = wiring_of(context)
    wiring.configure_logs(settings)
    prepare_database(settings)
    asyncio.run(_work(wiring, settings))


async def _work(wiring: Wiring, settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with wiring.running(settings):
        await stop.wait()
