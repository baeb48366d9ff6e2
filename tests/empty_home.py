"""An empty home for every run, so that none can pass because of what an earlier one left behind.

Home, cache, configuration, data and state directories of the tests and of every process they start are new and are
removed afterwards. What a developer's shell says about databases, proxies and settings does not reach the tests.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

DIRECTORIES = {
    "HOME": "home",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
    "XDG_RUNTIME_DIR": "run",
    "HYPOTHESIS_STORAGE_DIRECTORY": "hypothesis",
}
# Tests talk to their own servers on this machine, at addresses they name.
_FOREIGN = ("POSTERN_", "PG", "MPL", "ARVIZ", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_OURS = ("POSTERN_FAULT_",)


def move_in() -> Path | None:
    """Called once a run, before anything reads a home: an xdist worker inherits that of the process that started it."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return None
    for name in list(os.environ):
        if name.upper().startswith(_FOREIGN) and not name.startswith(_OURS):
            del os.environ[name]
    top = Path(tempfile.mkdtemp(prefix="postern-home-"))
    for name, folder in DIRECTORIES.items():
        (top / folder).mkdir(mode=0o700)
        os.environ[name] = str(top / folder)
    return top


_TOP = move_in()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _TOP is not None:
        shutil.rmtree(_TOP, ignore_errors=True)
