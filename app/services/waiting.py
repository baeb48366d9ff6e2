"""Waiting for the first of several events, but not for ever."""

import asyncio


async def wait_for_any(seconds: float, *events: asyncio.Event) -> None:
    waiting = {asyncio.create_task(event.wait()) for event in events}
    _, late = await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
