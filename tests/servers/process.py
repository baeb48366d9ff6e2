"""Child processes that never outlive the tests, however those end."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

# Waits on a pipe that only the test process holds open. When that process is gone, even by SIGKILL, the pipe ends. A server
# that is shutting down still writes: its folder is removed when it has ended, or after a minute.
_WATCHDOG = """
import os, shutil, sys, time
sys.stdin.buffer.read()
pid, sent, ends = int(sys.argv[1]), int(sys.argv[2]), time.monotonic() + 60
try:
    while time.monotonic() < ends:
        os.kill(pid, sent)
        sent = 0
        time.sleep(0.02)
except ProcessLookupError:
    pass
shutil.rmtree(sys.argv[3], ignore_errors=True)
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def fresh_folder(prefix: str) -> Path:
    """A folder that any user can reach, even where TMPDIR lies below a closed one."""
    base = Path(tempfile.gettempdir())
    if not reachable_by_others(base):
        base = Path("/tmp")  # noqa: S108
    return Path(tempfile.mkdtemp(prefix=prefix, dir=base))


def reachable_by_others(path: Path) -> bool:
    """True if a user without any rights of their own may pass through every folder up to `path`."""
    folders = [path, *path.resolve().parents] if path.is_dir() else list(path.resolve().parents)
    return all(folder.stat().st_mode & 0o001 for folder in folders)


class Server:
    """A started process, its log and its watchdog. `folder` is removed with it."""

    def __init__(self, command: Sequence[str], folder: Path, *, stop_signal: int, **options: Any) -> None:
        self.folder = folder
        self.log = folder / "server.log"
        self._stop_signal = stop_signal
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                list(command), stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", **options
            )
        self._watchdog = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _WATCHDOG, str(self.process.pid), str(int(stop_signal)), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )

    def wait_until(self, ready: Callable[[], bool], timeout_s: float = 20) -> None:
        deadline = time.monotonic() + timeout_s
        while not ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start:\n{self.log.read_text(errors='replace')}")
            time.sleep(0.02)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(self._stop_signal)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self._watchdog.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.stdin.close()
        self._watchdog.wait(timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
