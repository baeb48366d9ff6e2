"""A program that has loaded Postern once and forks `postern …` processes from itself: 0.3 s a start instead of 3.

Reads a JSON object a line, `{"arguments", "environment", "log"}`, and answers with the process id. What it forked is
reaped at once, and killed when its input ends: nothing outlives the tests. `FAULTS_CLOCK_OFFSET_S` in an environment
moves the wall clock of that process, and only the wall clock.
"""

import contextlib
import gc
import json
import os
import signal
import sys
import time
from typing import Any


def preload() -> None:
    """Everything a server imports in its first second."""
    import duckdb  # noqa: F401
    import psycopg  # noqa: F401
    import uvicorn  # noqa: F401
    import uvloop  # noqa: F401

    import app.api.application
    import app.cli.main
    import app.cli.serve
    import app.cli.worker
    import app.services.releases.run_worker
    import app.services.runtime.watch_rights
    import app.storage.cache.redis
    import app.storage.migrate  # noqa: F401
    from app.main import openapi_text
    from app.services.audits import start_findings

    openapi_text()
    start_findings()  # remembered, so that those that are forked do not look again


def move_clock(offset_s: float) -> None:
    wall, wall_ns = time.time, time.time_ns
    time.time = lambda: wall() + offset_s
    time.time_ns = lambda: wall_ns() + int(offset_s * 1e9)


def become(wanted: dict[str, Any]) -> None:
    """In the child: another environment, a log, and the console script."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(wanted["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, log), (2, log)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    offset_s = float(os.environ.pop("FAULTS_CLOCK_OFFSET_S", "0"))
    if offset_s:
        move_clock(offset_s)
    sys.argv = ["postern", *wanted["arguments"]]
    from app.main import cli

    cli()


def main() -> None:
    children: set[int] = set()

    def reap(*_: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                children.discard(ended)

    preload()
    gc.freeze()
    signal.signal(signal.SIGCHLD, reap)
    say("ready")
    for line in sys.stdin:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
                become(json.loads(line))
                code = 0
            finally:
                os._exit(code)
        children.add(child)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        say(str(child))
    for child in children.copy():
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    os._exit(0)  # the engine's binding complains about what it was not asked to free


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
