"""A worker process that stops for ever at a stage of its first release, to be killed there.

Run as a program with the stage as its argument; says `at <stage>` once it is there.
"""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Any

from app.services import run_release
from app.services.run_release import run_next_release
from app.services.runtime import open_runtime
from app.settings import Settings
from app.storage import ledger_book


async def stop_here(*_: Any, **__: Any) -> Any:
    announce()
    await asyncio.Event().wait()


def announce() -> None:
    sys.stdout.write(f"at {sys.argv[1]}\n")
    sys.stdout.flush()


def stop_before_reading() -> None:
    run_release._begin_reading = stop_here


def stop_while_reading() -> None:
    """The stage is on disk and a row may have been seen."""

    class Reading:
        def statistic(self, *_: Any) -> None:
            announce()
            time.sleep(3600)

    run_release.dataset_source = lambda *_: Reading()  # type: ignore[assignment,return-value]


def stop_before_storing() -> None:
    run_release._publish = stop_here


def stop_while_storing() -> None:
    """Samples and the ledger's line are written, the transaction is open."""
    post = ledger_book.post

    async def post_and_stop(*given: Any) -> Any:
        await post(*given)
        return await stop_here()

    ledger_book.post = post_and_stop


def stop_before_wiping() -> None:
    run_release.wipe_used_upload = stop_here


STAGES: dict[str, Callable[[], None]] = {
    "claimed": stop_before_reading,
    "reading": stop_while_reading,
    "drawn": stop_before_storing,
    "storing": stop_while_storing,
    "published": stop_before_wiping,
}


async def main() -> None:
    STAGES[sys.argv[1]]()
    await run_next_release(await open_runtime(Settings()))


if __name__ == "__main__":
    asyncio.run(main())
