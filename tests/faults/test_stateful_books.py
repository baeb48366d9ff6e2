"""Sequences of everything that charges, retries and crashes, against a model in plain Python, on both engines.

`POSTERN_FAULT_SEQUENCES` of them an engine (100; `make test-faults` plays 1,000); the hundred are the same every time.
A failing one is printed as it was found; `POSTERN_FAULT_SHRINK=1` takes minutes to look for a shorter one.
"""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.faults.machine import Postern
from tests.faults.seeded import Stage, postgres_stage, sqlite_stage
from tests.servers.postgres import PostgresServer

SEQUENCES = int(os.environ.get("POSTERN_FAULT_SEQUENCES", "100"))
STEPS = 10
SETTINGS = settings(
    max_examples=SEQUENCES,
    stateful_step_count=STEPS,
    derandomize="POSTERN_FAULT_SEQUENCES" not in os.environ,
    deadline=None,
    database=None,
    phases=(Phase.generate, Phase.shrink) if "POSTERN_FAULT_SHRINK" in os.environ else (Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


def play(stage: Stage) -> None:
    on_stage = type("Postern", (Postern,), {"stage": stage})
    run_state_machine_as_test(on_stage, settings=SETTINGS)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_no_sequence_on_sqlite_leaves_books_that_differ_from_the_model(tmp_path: Path):
    play(asyncio.run(sqlite_stage(tmp_path)))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_no_sequence_on_postgresql_leaves_books_that_differ_from_the_model(
    tmp_path: Path, postgres_server: PostgresServer
):
    play(asyncio.run(postgres_stage(postgres_server, tmp_path)))
