"""Servers of a test's own that can be killed and come back: PostgreSQL with its data, Redis empty."""

import os
import signal
import time
from pathlib import Path

from tests.servers.postgres import PostgresServer
from tests.servers.process import Server
from tests.servers.valkey import ValkeyServer

ORPHANS_S = 20.0


class RestartablePostgres(PostgresServer):
    """Keeps fsync on: what was committed has to be there after a crash."""

    def __init__(self) -> None:
        super().__init__(durable=True)
        self._gone: list[Server] = []

    def crash(self) -> None:
        """SIGKILL of the postmaster; its backends notice and end by themselves, nothing is written on the way."""
        backends = _children(self.pid)
        self._server.process.kill()
        self._server.process.wait(timeout=10)
        deadline = time.monotonic() + ORPHANS_S
        while any(Path(f"/proc/{pid}").exists() for pid in backends):
            assert time.monotonic() < deadline, "a backend outlived its postmaster"
            time.sleep(0.005)

    def freeze(self) -> None:
        """SIGSTOP of all its processes: connections stay open, and the kernel goes on acknowledging what is sent."""
        for pid in (self.pid, *_children(self.pid)):
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in (self.pid, *_children(self.pid)):
            os.kill(pid, signal.SIGCONT)

    def start_again(self) -> None:
        """Replays the log. The old one's watchdog would remove the folder, so it is kept until both stop."""
        self._gone.append(self._server)
        self._server = self._start()

    def stop(self) -> None:
        super().stop()
        for server in self._gone:
            server.stop()


class RestartableValkey(ValkeyServer):
    def crash(self) -> None:
        self._server.process.kill()
        self._server.process.wait(timeout=10)

    def start_again(self) -> None:
        self._server.stop()
        self._server = self._start()


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
