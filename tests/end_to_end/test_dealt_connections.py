"""Workers of one `postern serve` each get their share of connections, and end with it; a second service on the port fails."""

import http.client
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.conftest import POSTGRES_DEEP, Backend
from tests.end_to_end.served import PosternProcess, ServingProcess, environment_for

CONNECTIONS = 40
LEAST = 5
"""Dealt out evenly at random, one of two workers gets fewer than this of forty once in five million runs."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the kernel does not deal connections out")


def workers_of(supervisor: int) -> list[int]:
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def sockets_of(pid: int) -> int:
    """A few more or fewer are the database's and the cache's."""
    return sum(str(link.readlink()).startswith("socket:") for link in Path(f"/proc/{pid}/fd").iterdir())


@pytest.fixture
def process(backend: Backend, tmp_path: Path, bytecode: Path | None) -> Iterator[ServingProcess]:
    started = ServingProcess(environment_for(backend, tmp_path, bytecode, WORKERS="2"))
    yield started.wait_until_ready()
    started.stop()


@POSTGRES_DEEP
def test_connections_opened_together_reach_every_worker_and_workers_end_with_their_supervisor(
    process: ServingProcess, backend: Backend, tmp_path: Path, bytecode: Path | None
):
    deadline = time.monotonic() + 60
    while process.log.count("startup complete") < 2:
        assert time.monotonic() < deadline, process.log
        time.sleep(0.05)
    workers = workers_of(process.pid)
    time.sleep(0.2)
    before = [sockets_of(pid) for pid in workers]
    with ExitStack() as stack:
        opened = []
        for _ in range(CONNECTIONS):
            connection = http.client.HTTPConnection("127.0.0.1", process.address.port, timeout=30)
            stack.enter_context(closing(connection))
            connection.connect()
            opened.append(connection)
        for connection in opened:
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
        dealt = [sockets_of(pid) - held for pid, held in zip(workers, before, strict=True)]
    assert min(dealt) >= LEAST, dealt
    second = PosternProcess(environment_for(backend, tmp_path, bytecode), "serve", "--port", str(process.address.port))
    try:
        assert second._server.process.wait(timeout=60) != 0
        assert "in use" in second.log
    finally:
        second.stop()
    process.kill()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline, "a worker outlived its supervisor and holds the port"
        time.sleep(0.05)
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", process.address.port))
