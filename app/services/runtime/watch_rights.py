"""Background: notice changes of rights made elsewhere, and write down when keys were last used."""

import asyncio
import time

import structlog

from app.errors import Unavailable
from app.services.runtime.async_tasks import wait_for_any
from app.services.runtime.runtime import Runtime
from app.storage import installation, keys
from app.storage.engine import Database

USED_FLUSH_S = 5.0

log = structlog.get_logger("postern.rights")


async def watch_rights(runtime: Runtime, *, stop: asyncio.Event) -> None:
    """Until `stop`: read the epoch every `rights_poll_s`, sooner when another worker says something changed.

    On a connection of its own, and waiting for nothing else: requests that hold all the others, or a write that has
    to queue, must not keep a revoked key alive.
    """
    nudge = asyncio.Event()
    own = Database.open(runtime.settings.database_url, pool_size=1, beside=runtime.database)
    beside = [asyncio.create_task(_listen(runtime, nudge)), asyncio.create_task(_flush_regularly(runtime))]
    try:
        while not stop.is_set():
            nudge.clear()
            await check_rights(runtime, own)
            for task in beside:
                if task.done():
                    task.result()
            await wait_for_any(runtime.settings.rights_poll_s, stop, nudge)
    finally:
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await flush_used(runtime)
        await own.dispose()


async def check_rights(runtime: Runtime, database: Database | None = None) -> None:
    """One reading of the epoch. Unreachable: say nothing, and let what is remembered grow stale by itself."""
    asked_at = time.monotonic()
    try:
        async with (database or runtime.database).read() as connection:
            epoch = await installation.get_epoch(connection)
    except Unavailable:
        log.warning("rights epoch could not be read")
        return
    runtime.rights.confirm(epoch, asked_at)


async def flush_used(runtime: Runtime) -> None:
    used, runtime.rights.used_us = runtime.rights.used_us, {}
    if not used:
        return
    try:
        async with runtime.database.write() as connection:
            await keys.touch_keys(connection, used)
    except (Unavailable, asyncio.CancelledError) as interrupted:
        runtime.rights.used_us = used | runtime.rights.used_us
        if isinstance(interrupted, asyncio.CancelledError):
            raise


async def _flush_regularly(runtime: Runtime) -> None:
    while True:
        await asyncio.sleep(USED_FLUSH_S)
        await flush_used(runtime)


async def _listen(runtime: Runtime, nudge: asyncio.Event) -> None:
    async with runtime.cache.subscribe(CHANNEL) as messages:
        async for _ in messages:
            nudge.set()


CHANNEL = "rights"


async def announce_rights(runtime: Runtime) -> None:
    """Called after the commit that raised the epoch. The message only saves the others a fraction of a second."""
    runtime.rights.forget()
    await runtime.cache.publish(CHANNEL, b"changed")
