"""The only place where everything meets: settings, services, background work, HTTP and the command line.

Imports of the heavy parts are inside functions, so that `postern --help` does not load a numerics library.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from app.api.edge import EdgeConfig
    from app.services.runtime.runtime import Runtime
    from app.settings import Settings

FACTORY = "app.main:create_app"
STOP_GRACE_S = 10.0
RESTART_DELAY_S = 1.0

Work = Callable[[], Awaitable[None]]


def create_app(settings: Settings | None = None) -> FastAPI:
    """The application. Without settings this is a server process: read the environment and set up its logs."""
    from app.api.application import build_api
    from app.settings import Settings

    is_server = settings is None
    if settings is None:
        settings = Settings()
        configure_logs(settings)
    chosen = settings

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with running(chosen) as runtime:
            app.state.runtime = runtime
            if is_server:
                spare_the_collector()
            try:
                yield
            finally:
                app.state.runtime = None

    return build_api(body_bytes_max=settings.body_bytes_max, lifespan=lifespan)


@asynccontextmanager
async def running(settings: Settings) -> AsyncIterator[Runtime]:
    """Services open, the remains of a crash resolved, background work going; all of it stopped on the way out."""
    from app.services.audits import run_audits
    from app.services.ledger import keep_last_head, recover_on_start, watch_ledger
    from app.services.releases import run_worker
    from app.services.runtime.failpoints import arm_from
    from app.services.runtime.runtime import open_runtime
    from app.services.runtime.sweep_replies import sweep_replies
    from app.services.runtime.watch_rights import watch_rights
    from app.storage.migrate import upgrade

    arm_from(os.environ)
    if settings.uses_sqlite:
        await asyncio.to_thread(upgrade, settings.database_url)
    runtime = await open_runtime(settings)
    stop = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []
    try:
        await recover_on_start(runtime)
        tasks.append(_start("rights", lambda: watch_rights(runtime, stop=stop), stop))
        tasks.append(_start("ledger", lambda: watch_ledger(runtime, stop=stop), stop))
        tasks.append(_start("replies", lambda: sweep_replies(runtime, stop=stop), stop))
        tasks.append(_start("audits", lambda: run_audits(runtime, stop=stop), stop))
        if settings.embedded_worker:
            lanes = range(settings.releases_at_once)
            tasks.extend(_start("worker", lambda: run_worker(runtime, stop=stop), stop) for _ in lanes)
        yield runtime
    finally:
        stop.set()
        await _finish(tasks)
        await keep_last_head(runtime)
        await runtime.close()


def _start(name: str, work: Work, stop: asyncio.Event) -> asyncio.Task[None]:
    return asyncio.create_task(keep_going(name, work, stop), name=f"postern-{name}")


async def keep_going(name: str, work: Work, stop: asyncio.Event) -> None:
    """Background work that fails is logged by the type of its error and begun again, until told to stop."""
    import structlog

    log = structlog.get_logger("postern.background")
    while not stop.is_set():
        try:
            await work()
        except Exception as error:
            log.error("background work failed", work=name, error=type(error).__qualname__)
        try:
            await asyncio.wait_for(stop.wait(), RESTART_DELAY_S)
        except TimeoutError:
            continue


async def _finish(tasks: list[asyncio.Task[None]]) -> None:
    """Whatever is not done after the grace period is cancelled; the next start resolves what it leaves."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=STOP_GRACE_S)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)


def spare_the_collector() -> None:
    """What was made at the start stays for good. Looking through it all again for garbage, as happens every few thousand
    requests, would hold up whoever asks then by a quarter of a second."""
    gc.collect()
    gc.freeze()


def configure_logs(settings: Settings) -> None:
    from app.api.structured_logs import configure_logs as configure

    configure(level=settings.log_level, style=settings.log_format)


def server(settings: Settings, host: str | None, port: int | None, workers: int | None) -> EdgeConfig:
    """The web server of `postern serve`, in one process or several."""
    from app.api.edge import edge_config

    return edge_config(FACTORY, settings, host=host, port=port, workers=workers)


def openapi_text() -> str:
    """The OpenAPI document as committed. Needs no settings, no database and no network."""
    from app.api import openapi
    from app.api.application import build_api

    return openapi.openapi_text(build_api(body_bytes_max=1).openapi())


def cli() -> None:
    """The console script."""
    from app.cli.main import run
    from app.cli.wiring import Wiring

    run(Wiring(server=server, configure_logs=configure_logs, openapi_text=openapi_text, running=running))
