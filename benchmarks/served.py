"""Servers under measurement: real processes on loopback, pinned to cores, with their CPU clocks readable to the nanosecond."""

import http.client
import os
import signal
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.process import Server, free_port, fresh_folder

_POSTERN = [sys.executable, "-c", "from app.main import cli; cli()", "serve", "--host", "127.0.0.1"]
_ECHO = [sys.executable, "-m", "uvicorn", "benchmarks.echo_app:app", "--host", "127.0.0.1", "--loop", "uvloop"]
_ECHO += ["--http", "httptools", "--no-access-log", "--log-level", "warning", "--no-server-header"]
ROOT = Path(__file__).parents[1]
START_S_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """`pids` are the processes that answer: one, or the workers of a supervisor."""

    port: int
    pids: tuple[int, ...]

    def cpu_s(self) -> tuple[float, ...]:
        return tuple(cpu_seconds(pid) for pid in self.pids)


def cpu_seconds(pid: int) -> float:
    """All threads of a process, by its CPU clock: clock_getcpuclockid(3) gives (~pid << 3) | 2 on Linux."""
    return time.clock_gettime((~pid << 3) | 2)


@contextmanager
def serving(
    what: str, environment: Mapping[str, str], *, cores: Collection[int] = (0,), workers: int = 1
) -> Iterator[Served]:
    """`what` is "echo" or "postern". Several workers are pinned to one core each."""
    port = free_port()
    command = [*(_ECHO if what == "echo" else _POSTERN), "--port", str(port), "--workers", str(workers)]
    server = Server(
        command,
        fresh_folder("postern-bench-"),
        stop_signal=signal.SIGTERM,
        env={**environment, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    try:
        path = "/docs" if what == "echo" else "/readyz"
        server.wait_until(lambda: _answers(port, path), START_S_MAX)
        if workers > 1:
            server.wait_until(lambda: server.log.read_text().count("startup complete") >= workers)
        pids = (server.process.pid,) if workers == 1 else _workers_of(server.process.pid, workers)
        if workers > 1:
            for pid, core in zip(pids, sorted(cores), strict=True):
                _pin(pid, core)
        yield Served(port, pids)
    finally:
        server.stop()


def _workers_of(supervisor: int, count: int) -> tuple[int, ...]:
    """The supervisor's children that serve; a helper that tracks resources is told by its command."""
    deadline = time.monotonic() + START_S_MAX
    while time.monotonic() < deadline:
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
        serving = [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        if len(serving) == count:
            return tuple(serving)
        time.sleep(0.05)
    raise RuntimeError(f"{count} workers did not start")


def _pin(pid: int, core: int) -> None:
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
