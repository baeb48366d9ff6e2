"""Runs somebody's mechanism as a process: for the operator at the command line, never for a caller over HTTP.

It gets one JSON object on standard input and prints one JSON value a run. Its time, memory and output are limited, and it
inherits nothing but a search path: no settings, keys or database of this service.
"""

import json
import os
import resource
import shlex
import subprocess
from typing import Any

from app.errors import InvalidAudit

OUTPUT_BYTES_MAX = 256_000_000
MEMORY_BYTES_MAX = 4_000_000_000
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ")


def outputs_of(command: str, dataset: Any, *, runs: int, seed: int, timeout_s: float) -> list[Any]:
    """Raises InvalidAudit for a command that fails, takes too long or prints something else."""
    words = shlex.split(command)
    if not words:
        raise InvalidAudit("--command", "a command to run")
    asked = json.dumps({"dataset": dataset, "runs": runs, "seed": seed})
    try:
        done = subprocess.run(
            words,
            input=asked.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout_s,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            preexec_fn=_limited,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidAudit("--command", f"a command that ends within {timeout_s:g} seconds") from None
    if done.returncode != 0:
        raise InvalidAudit("--command", f"a command that succeeds; this one ended with code {done.returncode}")
    if len(done.stdout) > OUTPUT_BYTES_MAX:
        raise InvalidAudit("--command", f"at most {OUTPUT_BYTES_MAX} bytes of output")
    try:
        found = [json.loads(line) for line in done.stdout.decode().splitlines() if line.strip()]
    except ValueError:
        raise InvalidAudit("--command", "one JSON value a line on its standard output") from None
    if len(found) != runs:
        raise InvalidAudit("--command", f"{runs} lines, one a run; there were {len(found)}")
    return found


def _limited() -> None:
    """In the child, before it becomes the command. What it writes to a pipe is no file, and is counted afterwards."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES_MAX, OUTPUT_BYTES_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
