"""Floods against a real server, from addresses of this machine's loopback: another client's `/healthz` stays quick.

`make test` has a few hundred sockets; thousands, and the limits of time and memory, are `deep`.
"""

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.end_to_end.fixtures import Start
from tests.faults.forked import ServingFork

pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)

FLOOD_S = 5.0
RECOVERS_S = 10.0
HEALTH_S_P99 = 0.25
GROWTH_BYTES_MAX = 100_000_000

Flood = Callable[[list[socket.socket]], None]


def resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096


def health_s(port: int) -> float:
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20, source_address=("127.0.0.9", 0))
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 200
    connection.close()
    return time.monotonic() - began


def send_to(sockets: list[socket.socket], data: bytes) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.send(data)


def endless_headers(sockets: list[socket.socket]) -> None:
    send_to(sockets, b"X-Flood: " + b"a" * 60_000)


def slow_headers(sockets: list[socket.socket]) -> None:
    send_to(sockets, b"X-Slow: 1\r\n")
    time.sleep(0.2)


def idle(_: list[socket.socket]) -> None:
    time.sleep(0.2)


def slow_bodies(sockets: list[socket.socket]) -> None:
    send_to(sockets, b"x")
    time.sleep(0.2)


HEAD = b"GET /healthz HTTP/1.1\r\n"
BODY = b"POST /v1/plans HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
FLOODS = {
    "headers without end": (endless_headers, HEAD, 50),
    "slow headers": (slow_headers, HEAD, 3_000),
    "slow bodies": (slow_bodies, BODY, 1_000),
    "idle sockets": (idle, b"", 5_000),
    "ten thousand sockets": (idle, b"", 10_000),
}


@contextlib.contextmanager
def flooding(port: int, flood: Flood, opening: bytes, number: int) -> Iterator[None]:
    """Sockets that the other side closes are left closed: what counts is what it does while they come and are there."""
    sockets: list[socket.socket] = []
    over = threading.Event()

    def run() -> None:
        for count in range(number):
            if over.is_set():
                break
            with contextlib.suppress(OSError):
                opened = socket.create_connection(
                    ("127.0.0.1", port), timeout=2, source_address=(f"127.0.1.{1 + count % 4}", 0)
                )
                opened.setblocking(False)
                opened.send(opening)
                sockets.append(opened)
        while not over.is_set():
            flood(sockets)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(30)
        for each in sockets:
            each.close()


def flooded(process: ServingFork, flood: Flood, opening: bytes, number: int, flood_s: float) -> tuple[float, int]:
    """The slowest of the quickest 99 % of another client's questions, and by how much the process grew."""
    before, took = resident(process.pid), []
    with flooding(process.port, flood, opening, number):
        ends = time.monotonic() + flood_s
        while time.monotonic() < ends:
            took.append(health_s(process.port))
            time.sleep(0.02)
        grown = resident(process.pid) - before
    took.sort()
    return took[int(0.99 * (len(took) - 1))], grown


def test_a_few_hundred_bad_sockets_neither_grow_a_server_nor_keep_others_waiting(serve: Start):
    """No limit of time but patience: the machine may be busy."""
    (process,) = serve(1, SOCKETS_MAX="150", SOCKETS_PER_ADDRESS_MAX="40", EMBEDDED_WORKER="false")
    for flood, opening, number in FLOODS.values():
        slowest_s, grown = flooded(process, flood, opening, min(number, 300), 0.2)
        assert slowest_s < 10
        assert grown < GROWTH_BYTES_MAX


@pytest.mark.deep
@pytest.mark.parametrize("name", FLOODS)
def test_thousands_of_bad_sockets_leave_health_quick_and_are_gone_soon_after(serve: Start, name: str):
    (process,) = serve(1)
    slowest_s, grown = flooded(process, *FLOODS[name], FLOOD_S)
    print(f"{name}: health {slowest_s * 1000:.0f} ms at the 99th percentile, grown {grown / 1e6:.1f} MB")  # noqa: T201
    assert slowest_s < HEALTH_S_P99
    assert grown < GROWTH_BYTES_MAX
    time.sleep(RECOVERS_S)
    assert max(health_s(process.port) for _ in range(20)) < HEALTH_S_P99
