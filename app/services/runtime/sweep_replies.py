"""Background: forget answers that nobody may ask for again."""

import asyncio
import random

import structlog

from app.errors import Unavailable
from app.services.runtime.async_tasks import wait_for_any
from app.services.runtime.idempotency import forget_expired
from app.services.runtime.runtime import Runtime

SWEEP_S = 300.0

log = structlog.get_logger("postern.replies")


async def sweep_replies(runtime: Runtime, *, stop: asyncio.Event) -> None:
    """Until `stop`. Processes started together spread out, and pass by rows that another is dropping."""
    while not stop.is_set():
        await wait_for_any(SWEEP_S * random.uniform(0.5, 1.0), stop)  # noqa: S311 (a pause, not a secret)
        if stop.is_set():
            return
        try:
            dropped = await forget_expired(runtime)
        except Unavailable:
            log.warning("expired answers could not be dropped")
        else:
            if dropped:
                log.info("expired answers dropped", answers=dropped)
