"""Fixtures that start real processes, for every folder of tests that needs them."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import Backend
from tests.end_to_end.served import environment_for
from tests.faults.forked import Forked, ForkServer, ServingFork

Start = Callable[..., list[ServingFork]]
StartWorker = Callable[..., Forked]


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """Where processes keep compiled modules: None is beside the modules, as this process does if it may. Else one folder
    for all workers of a parallel run, whose base folders lie side by side."""
    if not sys.dont_write_bytecode and os.access(Path(pytest.__file__).parent, os.W_OK):
        return None
    base = tmp_path_factory.getbasetemp()
    return (base.parent if base.name.startswith("popen-") else base) / "bytecode"


@pytest.fixture(scope="session")
def forks(bytecode: Path | None) -> Iterator[ForkServer]:
    server = ForkServer(bytecode)
    yield server
    server.close()


@pytest.fixture
def serve(backend: Backend, tmp_path: Path, bytecode: Path | None, forks: ForkServer) -> Iterator[Start]:
    """`serve(2, LEASE_S="5")` starts that many processes on the test's backend and data folder; all are stopped."""
    started: list[ServingFork] = []

    def start(number: int = 1, **changes: str) -> list[ServingFork]:
        environment = environment_for(backend, tmp_path, bytecode, **changes)
        fresh = [forks.serve(environment) for _ in range(number)]
        started.extend(fresh)
        return [process.wait_until_ready() for process in fresh]

    yield start
    for process in started:
        process.stop()


@pytest.fixture
def start_worker(backend: Backend, tmp_path: Path, bytecode: Path | None, forks: ForkServer) -> Iterator[StartWorker]:
    """`postern worker` on the test's backend and data folder."""
    started: list[Forked] = []

    def start(**changes: str) -> Forked:
        worker = forks.start(environment_for(backend, tmp_path, bytecode, **changes), "worker")
        started.append(worker)
        return worker

    yield start
    for process in started:
        process.stop()
