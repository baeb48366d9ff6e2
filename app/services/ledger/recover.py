"""At every start: compare the ledger with what was seen before, and wipe what a crash left on disk.

Unfinished releases resolve themselves when their lease runs out.
"""

import structlog

from app.services.datasets.wipe_uploads import wipe_remains
from app.services.ledger.watch_ledger import check_ledger_on_start
from app.services.runtime.runtime import Runtime
from app.storage import releases

log = structlog.get_logger("postern.recover")


async def recover_on_start(runtime: Runtime) -> None:
    """While the ledger is not trusted nothing is wiped: an older database does not know today's uploads."""
    await check_ledger_on_start(runtime)
    if runtime.notary.fault is not None:
        log.warning("no file is wiped while the ledger is not trusted", fault=runtime.notary.fault.name)
        return
    swept = await wipe_remains(runtime)
    async with runtime.database.read() as connection:
        waiting = {release.dataset_id for release in await releases.list_unfinished(connection)}
    if swept:
        log.info("wiped files left by an earlier run", files=swept)
    if waiting:
        log.info("releases waiting", datasets=len(waiting))
