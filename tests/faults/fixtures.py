"""A fork server for every folder of tests that starts many processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.forked import ForkServer


@pytest.fixture(scope="session")
def forks(bytecode: Path | None) -> Iterator[ForkServer]:
    server = ForkServer(bytecode)
    yield server
    server.close()
