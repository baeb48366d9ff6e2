"""The test's side of `fork_server`: real `postern` processes, started in a fraction of a second."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tests.end_to_end.served import ROOT, Address, inherited
from tests.servers.process import fresh_folder

START_S, END_S = 60.0, 20.0


class Forked:
    """One process, known by its id; it is a child of the fork server."""

    def __init__(self, pid: int, log: Path) -> None:
        self.pid = pid
        self._log = log

    @property
    def alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    @property
    def frozen(self) -> bool:
        """Stopped by a signal, as /proc tells."""
        with contextlib.suppress(OSError):
            return Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
        return False

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._wait("a killed process is still there")

    def stop(self) -> None:
        """In good order, as an operator would."""
        self.signal(signal.SIGTERM)
        self._wait(f"a process that was told to stop is still there:\n{self.log[-2000:]}")

    def _wait(self, otherwise: str) -> None:
        deadline = time.monotonic() + END_S
        while self.alive:
            assert time.monotonic() < deadline, otherwise
            time.sleep(0.002)


class ServingFork(Forked, Address):
    """A server that answers at `url`."""

    def __init__(self, forks: "ForkServer", environment: Mapping[str, str]) -> None:
        Address.__init__(self)
        started = forks.start(environment, *self.arguments)
        Forked.__init__(self, started.pid, started._log)

    def wait_until_ready(self) -> "ServingFork":
        deadline = time.monotonic() + START_S
        while not self.answers():
            assert self.alive, self.log[-3000:]
            assert time.monotonic() < deadline, self.log[-3000:]
            time.sleep(0.01)
        return self


class ForkServer:
    """Killed or closed, it takes everything it forked along."""

    def __init__(self, bytecode: Path | None) -> None:
        self._folder = fresh_folder("postern-forks-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=inherited(bytecode),
        )
        self._started = 0
        assert self._answer() == "ready"

    def start(self, environment: Mapping[str, str], *arguments: str) -> Forked:
        self._started += 1
        log = self._folder / f"{self._started}-{arguments[0]}.log"
        wanted = {"arguments": arguments, "environment": dict(environment), "log": str(log)}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wanted) + "\n")
        self._process.stdin.flush()
        return Forked(int(self._answer()), log)

    def serve(self, environment: Mapping[str, str]) -> ServingFork:
        return ServingFork(self, environment)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=END_S)
        self._process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()
