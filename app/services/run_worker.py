"""Background: draw releases as they come due, until told to stop."""

import asyncio

import structlog

from app.errors import PosternError
from app.services.request_release import CHANNEL
from app.services.run_release import run_next_release
from app.services.runtime import Runtime
from app.services.waiting import wait_for_any

POLL_S = 1.0
FAILURE_PAUSE_S = 2.0

log = structlog.get_logger("postern.worker")


async def run_worker(runtime: Runtime, *, stop: asyncio.Event) -> None:
    """A message says when something is waiting; the poll finds what messages missed and leases that ran out."""
    wake = asyncio.Event()
    listener = asyncio.create_task(_listen(runtime, wake))
    try:
        while not stop.is_set():
            wake.clear()
            pause = POLL_S
            try:
                runtime.notary.require_trust()
                while not stop.is_set() and await run_next_release(runtime):
                    pass
            except PosternError as error:
                log.error("worker paused", error=type(error).__qualname__, code=error.code)
                pause = FAILURE_PAUSE_S
            await wait_for_any(pause, stop, wake)
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)


async def _listen(runtime: Runtime, wake: asyncio.Event) -> None:
    async with runtime.cache.subscribe(CHANNEL) as messages:
        async for _ in messages:
            wake.set()
