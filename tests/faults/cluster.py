"""Postern as an operator runs it: processes on one database that a supervisor starts again when they end."""

import asyncio
import contextlib
import http.client
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import Backend
from tests.end_to_end.served import environment_for
from tests.faults.forked import Forked, ForkServer
from tests.servers.process import free_port

LEASE_S = 1
LOOK_S = 0.01
START_S = 30.0
HOUR_S = 3600


@dataclass(slots=True)
class Role:
    """What is started again after it ends, and how."""

    arguments: tuple[str, ...]
    process: Forked
    clock_offset_s: int = 0
    deaths: int = 0


class Cluster:
    """On SQLite one process serves and draws; on PostgreSQL one serves and one draws. One port for all lives."""

    def __init__(
        self, forks: ForkServer, backend: Backend, folder: Path, bytecode: Path | None, **settings: str
    ) -> None:
        self.backend = backend
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._forks = forks
        self._place = (folder, bytecode)
        self._settings = {
            "LEASE_S": str(LEASE_S),
            "PUBLICATION_TICK_S": "0.02",
            "LOG_LEVEL": "info",
            "RATE_LIMIT_HEAVY_PER_S": "0",
        } | settings
        serve = ("serve", "--host", "127.0.0.1", "--port", str(self.port))
        self.roles = {"api": Role(serve, self._fork(serve))}
        if backend.name == "postgres":
            self.roles["worker"] = Role(("worker",), self._fork(("worker",)))

    @property
    def drawing(self) -> str:
        """The role that draws releases."""
        return "worker" if "worker" in self.roles else "api"

    async def replace(self, role: str, *, failpoint: str | None = None, clock_offset_s: int = 0) -> Forked:
        """Kill what runs and start it otherwise; whatever comes after a death keeps the clock, not the failpoint."""
        found = self.roles[role]
        found.process.kill()
        found.clock_offset_s = clock_offset_s
        started = self._fork(found.arguments, failpoint=failpoint, clock_offset_s=clock_offset_s)
        found.process = started
        if role == "api":
            await self.until_ready()  # by itself, or by what follows it if it ends before
        return started

    def one_more_worker(self) -> Forked:
        """Beside the supervised ones; whoever asks for it ends it."""
        return self._fork(("worker",))

    @contextlib.asynccontextmanager
    async def supervised(self) -> AsyncIterator[None]:
        """Like a process manager with restart=always."""
        task = asyncio.create_task(self._supervise())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def until_ready(self) -> None:
        for _ in range(int(START_S / LOOK_S)):
            if await asyncio.to_thread(self._answers):
                return
            await asyncio.sleep(LOOK_S)
        raise AssertionError(f"no answer within {START_S} s:\n{self.roles['api'].process.log[-3000:]}")

    def stop(self) -> None:
        for role in self.roles.values():
            role.process.kill()

    async def _supervise(self) -> None:
        while True:
            for role in self.roles.values():
                if not role.process.alive:
                    role.deaths += 1
                    role.process = self._fork(role.arguments, clock_offset_s=role.clock_offset_s)
            await asyncio.sleep(LOOK_S)

    def _fork(self, arguments: tuple[str, ...], *, failpoint: str | None = None, clock_offset_s: int = 0) -> Forked:
        environment = environment_for(self.backend, *self._place, **self._settings)
        if failpoint is not None:
            environment["POSTERN_FAILPOINT"] = failpoint
        if clock_offset_s:
            environment["FAULTS_CLOCK_OFFSET_S"] = str(clock_offset_s)
        return self._forks.start(environment, *arguments)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
