"""Sequences of everything that charges, retries and crashes, against a model in plain Python, on both engines.

`POSTERN_FAULT_SEQUENCES` of them an engine (12; `make test-deep` plays 1,000); the twelve are the same every time.
The thousand are dealt in parts with seeds of their own (`POSTERN_FAULT_SEED` and the part's number), so that every core
has its share. A failing one is printed as it was found; `POSTERN_FAULT_SHRINK=1` takes minutes to look for a shorter one.
"""

import asyncio
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.faults.machine import Postern
from tests.faults.seeded import Stage, postgres_stage, sqlite_stage
from tests.servers.postgres import PostgresServer

LONG = "POSTERN_FAULT_SEQUENCES" in os.environ
SEQUENCES = int(os.environ.get("POSTERN_FAULT_SEQUENCES", "12"))
PARTS = 5 if LONG else 1
SEED = int(os.environ.get("POSTERN_FAULT_SEED", "0"))
STEPS = 12 if LONG else 6
SETTINGS = settings(
    max_examples=-(-SEQUENCES // PARTS),
    stateful_step_count=STEPS,
    derandomize=not LONG,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink) if "POSTERN_FAULT_SHRINK" in os.environ else (Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """A line a request, thousands of requests: nobody reads them."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


def play(stage: Stage, part: int) -> None:
    on_stage = seed(SEED * PARTS + part)(type("Postern", (Postern,), {"stage": stage}))
    run_state_machine_as_test(on_stage, settings=SETTINGS)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_sequence_on_sqlite_leaves_books_that_differ_from_the_model(tmp_path: Path, part: int):
    play(asyncio.run(sqlite_stage(tmp_path)), part)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_sequence_on_postgresql_leaves_books_that_differ_from_the_model(
    tmp_path: Path, postgres_server: PostgresServer, part: int
):
    play(asyncio.run(postgres_stage(postgres_server, tmp_path)), part)
