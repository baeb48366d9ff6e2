"""`postern serve` and `postern worker` as operating-system processes, on loopback, ended by their process id."""

import http.client
import os
import signal
import ssl
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.conftest import Backend
from tests.servers.process import Server, free_port, fresh_folder

ROOT = Path(__file__).parents[2]
_COMMAND = [sys.executable, "-c", "from app.main import cli; cli()"]
_NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Nothing here speaks TLS, and loading certificates takes a tenth of a second a client."""
_START_S = 60
_ANSWER_S = 30


class PosternProcess:
    """One process with its log. The data folder is the caller's and outlives it."""

    def __init__(self, environment: Mapping[str, str], *arguments: str) -> None:
        self._server = Server(
            [*_COMMAND, *arguments], fresh_folder("postern-process-"), stop_signal=signal.SIGTERM, env=environment
        )

    @property
    def pid(self) -> int:
        return self._server.process.pid

    @property
    def log(self) -> str:
        return self._server.log.read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, no handler runs."""
        self._server.process.kill()
        self._server.process.wait(timeout=10)

    def stop(self) -> None:
        self._server.stop()

    def wait_until(self, ready: Any) -> None:
        self._server.wait_until(ready, _START_S)


class Address:
    """Where a server of this machine answers."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.arguments = ("serve", "--host", "127.0.0.1", "--port", str(self.port))

    def connect(self, answer_s: float = _ANSWER_S) -> httpx.AsyncClient:
        """A client without a key; tests pass theirs with each call."""
        return httpx.AsyncClient(base_url=self.url, timeout=answer_s, verify=_NO_AUTHORITIES)

    def answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class ServingProcess(PosternProcess):
    """A server in an interpreter of its own."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.address = Address()
        self.url = self.address.url
        super().__init__(environment, *self.address.arguments)

    def wait_until_ready(self) -> "ServingProcess":
        self.wait_until(self.address.answers)
        return self


def inherited(bytecode: Path | None) -> dict[str, str]:
    """For a process that runs this code with its own settings. Compiled modules are shared: only the first start is slow."""
    foreign = ("POSTERN_", "PYTHONDONTWRITEBYTECODE", "PYTEST_", "COV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    place = {} if bytecode is None else {"PYTHONPYCACHEPREFIX": str(bytecode)}
    return kept | {"PYTHONPATH": str(ROOT)} | place


def environment_for(backend: Backend, folder: Path, bytecode: Path | None, **changes: str) -> dict[str, str]:
    """`POSTERN_*` for a process on this backend."""
    chosen = {
        "DATA_DIR": str(folder / "data"),
        "DATABASE_URL": backend.database_url,
        "LOG_LEVEL": "debug",
        "PUBLICATION_PACE": "0.001",
        "DATABASE_SILENCE_S": "20",
        **({} if backend.redis_url is None else {"REDIS_URL": backend.redis_url}),
        **changes,
    }
    return inherited(bytecode) | {f"POSTERN_{name}": value for name, value in chosen.items()}
