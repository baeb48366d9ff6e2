"""Background: draw releases as they come due, until told to stop."""

import asyncio
import time

import structlog

from app.errors import PosternError
from app.services.datasets.wipe_uploads import wipe_remains
from app.services.releases.request_release import CHANNEL
from app.services.releases.run_release import run_next_release
from app.services.runtime.async_tasks import wait_for_any
from app.services.runtime.runtime import Runtime

POLL_S = 1.0
FAILURE_PAUSE_S = 2.0
SWEEP_S = 10.0

log = structlog.get_logger("postern.worker")


async def run_worker(runtime: Runtime, *, stop: asyncio.Event) -> None:
    """A message says when something is waiting; the poll finds what messages missed and leases that ran out.

    Rows are wiped as their last release ends. Where that failed, or whoever held them was killed, they go here: after any
    work, after any failure, and once in a while.
    """
    sweep_at = time.monotonic() + SWEEP_S
    wake = asyncio.Event()
    listener = asyncio.create_task(_listen(runtime, wake))
    try:
        while not stop.is_set():
            wake.clear()
            pause = POLL_S
            try:
                runtime.notary.require_trust()
                while not stop.is_set() and await run_next_release(runtime):
                    sweep_at = 0.0
                if time.monotonic() >= sweep_at:
                    await wipe_remains(runtime)
                    sweep_at = time.monotonic() + SWEEP_S
            except PosternError as error:
                log.error("worker paused", error=type(error).__qualname__, code=error.code)
                pause, sweep_at = FAILURE_PAUSE_S, 0.0
            await wait_for_any(pause, stop, wake)
    finally:
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)


async def _listen(runtime: Runtime, wake: asyncio.Event) -> None:
    async with runtime.cache.subscribe(CHANNEL) as messages:
        async for _ in messages:
            wake.set()
