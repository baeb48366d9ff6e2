"""How the web server is set up: one way for `make run`, `postern serve`, its worker processes and tests."""

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from multiprocessing.connection import wait
from typing import Any

from uvicorn import Config

from app.api.edge.limits import ACCEPTED_AT_ONCE, EdgeLimits
from app.api.edge.protocol import EdgeProtocol
from app.api.edge.room import Room
from app.settings import Settings

STOP_GRACE_S = 15


class EdgeConfig(Config):
    """Travels to worker processes by pickle; the room is made where it is used."""

    def __init__(self, app: Any, limits: EdgeLimits, **options: Any) -> None:
        super().__init__(
            app,
            http=EdgeProtocol,
            ws="none",
            backlog=ACCEPTED_AT_ONCE,
            proxy_headers=bool(limits.trusted_proxies),
            forwarded_allow_ips=list(limits.trusted_proxies),
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=STOP_GRACE_S,
            **options,
        )
        self.limits = limits
        self._room: Room | None = None

    def load(self) -> None:
        super().load()
        end_with_parent()

    def room(self, loop: asyncio.AbstractEventLoop) -> Room:
        if self._room is None:
            self._room = Room(self.limits, loop)
        return self._room


def edge_config(
    app: Any, settings: Settings, *, host: str | None = None, port: int | None = None, workers: int | None = None
) -> EdgeConfig:
    """`app` is the application, or where to find a function that makes it, as `module:function`."""
    return EdgeConfig(
        app,
        EdgeLimits.of(settings),
        factory=isinstance(app, str),
        host=host or settings.host,
        port=settings.port if port is None else port,
        workers=workers or settings.workers,
        loop="uvloop",
    )


def end_with_parent() -> None:
    """A worker process whose supervisor is gone, even by SIGKILL, stops in good order, and in any case soon."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True, name="postern-parent").start()


def _follow(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_GRACE_S + 15)
    os._exit(1)
