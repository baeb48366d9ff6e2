"""What was sealed for a release goes when the release has ended, whichever way it ended."""

import asyncio

from app.services.runtime.failpoints import failpoint
from app.services.runtime.runtime import Runtime
from app.storage.vouched import sealing_plans
from app.storage.vouched.sealing_plans import StoredPlan


async def wipe_sealed(runtime: Runtime, release_id: str) -> None:
    """Nothing to do for a release of rows. Forgotten first, then wiped: after a crash in between nobody knows the file, and the
    next sweep takes it."""
    async with runtime.database.read() as connection:
        plan = await sealing_plans.plan_of_release(connection, release_id)
    if plan is not None:
        await _wipe(runtime, plan)


async def wipe_ended(runtime: Runtime) -> None:
    """Where a release ended in a process that did not live to wipe, or was cancelled."""
    async with runtime.database.read() as connection:
        ended = [plan for plan, status in await sealing_plans.list_sealed(connection) if status != "pending"]
    for plan in ended:
        await _wipe(runtime, plan)


async def _wipe(runtime: Runtime, plan: StoredPlan) -> None:
    if plan.sealed_name is None:
        return
    async with runtime.database.write() as connection:
        await sealing_plans.forget_sealed(connection, plan.nonce, plan.sealed_name)
    failpoint("statistics.wiping")
    await asyncio.to_thread(runtime.uploads.wipe, plan.sealed_name)
