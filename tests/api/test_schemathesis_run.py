"""Generated requests over the whole description, against the real service on SQLite in this process.

Every operation gets the examples of the document, its boundary cases and random ones, valid and not, once with ids
that exist and once with ids made up. Nothing may answer 500, and every answer must be one the document promises.

Models and mechanisms alone have thousands of boundary cases: a build makes the first of them and sends some, `make
test-deep` sends all. Requests are made when the tests run: half a minute of making them when tests are collected was
spent by every worker.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy, one_of
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.main import create_app
from app.services.people.directory import create_principal
from app.services.people.keys import create_key
from app.services.runtime.runtime import open_runtime
from app.settings import Settings
from app.storage.migrate import upgrade
from tests.api.conftest import COLUMNS, MODEL, ROWS
from tests.api.specification import DOCUMENT
from tests.deep import deep

pytestmark = pytest.mark.slow

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
QUIET = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
BRIEFLY, AT_LENGTH = settings(QUIET, max_examples=2), settings(QUIET, max_examples=100)
IDS = pytest.mark.parametrize("known", [False, True], ids=["made-up ids", "ids that exist"])
SOME_IDS = pytest.mark.parametrize("known", [deep(False), True], ids=["made-up ids", "ids that exist"])
FIRST_CASES, EVERY_CASE, CASES_MADE = 8, 20, 250


@schemathesis.serializer(
    "application/vnd.apache.parquet", "application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file"
)
def send_bytes(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """Generated values as they are: what is not Parquet or Arrow must be refused, not break the reader."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@pytest.fixture(scope="module")
def described() -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_dict(DOCUMENT)


@dataclass(frozen=True, slots=True)
class Target:
    url: str
    session: requests.Session
    tokens: dict[str, str]
    known: dict[str, str]

    def headers(self, case: schemathesis.Case) -> dict[str, str]:
        """The steward asks everything but what only an analyst may."""
        who = "analyst" if case.path.endswith("/access") else "steward"
        return {"Authorization": f"Bearer {self.tokens[who]}"} if case.path.startswith("/v1/") else {}


async def make_people(chosen: Settings) -> tuple[dict[str, str], dict[str, str]]:
    runtime = await open_runtime(chosen)
    tokens, ids = {}, {}
    for role in ("steward", "analyst", "dashboard"):
        person = await create_principal(runtime, role=role, name=role, created_by=None)
        key = await create_key(runtime, actor=None, principal_id=person.id, label=role, expires_us=None)
        tokens[role], ids[role] = str(key.token), person.id
        if role == "dashboard":
            ids["key"] = key.id
    await runtime.close()
    return tokens, ids


def make_release(url: str, token: str, analyst: str) -> dict[str, str]:
    def call(method: str, path: str, **sent: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}", **sent.pop("headers", {})}
        answer = requests.request(method, f"{url}/v1{path}", headers=headers, timeout=30, **sent)
        assert answer.ok, answer.text
        return answer.json()

    population = call("POST", "/populations", json={"name": "people", "budget": {"epsilon": 10.0, "delta": 1e-6}})["id"]
    body = {
        "name": "fuzzed",
        "population": population,
        "columns": COLUMNS,
        "budget": {"epsilon": 10.0, "delta": 1e-6},
        "source": {"kind": "upload", "retain": True},
    }
    dataset = call("POST", "/datasets", json=body)["id"]
    call("PUT", f"/datasets/{dataset}/data", data=ROWS.encode(), headers={"Content-Type": "text/csv"})
    call("PUT", f"/datasets/{dataset}/analysts/{analyst}", json={"epsilon": 9.0, "delta": 1e-6})
    mechanism = {"kind": "baps", "samples": 20, "temperature": 1.0}
    release = call("POST", f"/datasets/{dataset}/releases", json={"model": MODEL, "mechanism": mechanism})["id"]
    deadline = time.monotonic() + 30
    while call("GET", f"/releases/{release}")["status"] == "pending":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    samples = {"kind": "samples", "x": [0] * 60, "y": [1] * 60}
    audit = call("POST", "/audits", json={"subject": samples, "claim": {"kind": "pure", "epsilon": 1.0}})["id"]
    while call("GET", f"/audits/{audit}")["status"] == "pending":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return {"dataset_id": dataset, "release_id": release, "population_id": population, "audit_id": audit}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder: Path = tmp_path_factory.mktemp("fuzzed")
    chosen = Settings(data_dir=folder, database_url=f"sqlite:///{folder / 'postern.db'}", upload_bytes_max="1MiB")
    upgrade(chosen.database_url)
    tokens, ids = asyncio.run(make_people(chosen))
    config = uvicorn.Config(create_app(chosen), port=0, log_config=None, access_log=False, ws="none")
    server = uvicorn.Server(config)
    with config.bind_socket() as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        known = make_release(url, tokens["steward"], ids["analyst"])
        with requests.Session() as session:
            known |= {"analyst_id": ids["analyst"], "key_id": ids["key"]}
            yield Target(url, session, tokens, known)
        server.should_exit = True
        thread.join(20)


def ask(case: schemathesis.Case, target: Target) -> None:
    case.call_and_validate(
        base_url=target.url, session=target.session, headers=target.headers(case), checks=CHECKS, timeout=20
    )


def ask_by_known_ids(case: schemathesis.Case, target: Target) -> None:
    case.path_parameters = {name: target.known[name] for name in case.path_parameters}
    ask(case, target)


ASK: dict[bool, Callable[[schemathesis.Case, Target], None]] = {False: ask, True: ask_by_known_ids}


def operations(described: schemathesis.BaseSchema, *, known: bool) -> Iterator[schemathesis.APIOperation]:
    """All of them, or those whose path holds an id."""
    found = [result.ok() for result in described.get_all_operations()]
    assert len(found) > 25
    return (operation for operation in found if not known or "{" in operation.path)


def examples_and_random(operation: schemathesis.APIOperation) -> Iterator[SearchStrategy[schemathesis.Case]]:
    yield from operation.get_strategies_from_examples()
    yield one_of(*(operation.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode))


def boundary_cases(operation: schemathesis.APIOperation) -> Iterator[schemathesis.Case]:
    making = operation.schema.config.generation_for(operation=operation, phase="coverage")
    cases: Iterator[schemathesis.Case] = operation.schema.iter_coverage_cases(
        operation, generation_modes=making.modes, generation_config=making
    )
    return cases


def some_of(cases: Iterator[schemathesis.Case]) -> Iterator[schemathesis.Case]:
    for count, case in enumerate(islice(cases, CASES_MADE)):
        if count < FIRST_CASES or count % EVERY_CASE == 0:
            yield case


def ask_what_is_drawn(described: schemathesis.BaseSchema, target: Target, how_long: settings, *, known: bool) -> int:
    asked = 0

    def answer(case: schemathesis.Case) -> None:
        nonlocal asked
        asked += 1
        ASK[known](case, target)

    for operation in operations(described, known=known):
        for strategy in examples_and_random(operation):
            how_long(given(strategy)(answer))()
    return asked


@SOME_IDS
def test_examples_and_random_requests_get_only_promised_answers(
    described: schemathesis.BaseSchema, target: Target, known: bool
):
    assert ask_what_is_drawn(described, target, BRIEFLY, known=known) > 100


@pytest.mark.deep
@IDS
def test_many_random_requests_get_only_promised_answers(
    described: schemathesis.BaseSchema, target: Target, known: bool
):
    assert ask_what_is_drawn(described, target, AT_LENGTH, known=known) > 1_000


@SOME_IDS
def test_boundary_cases_get_only_promised_answers(described: schemathesis.BaseSchema, target: Target, known: bool):
    asked = 0
    for operation in operations(described, known=known):
        for case in some_of(boundary_cases(operation)):
            ASK[known](case, target)
            asked += 1
    assert asked > 200


@pytest.mark.deep
@IDS
def test_every_boundary_case_gets_only_promised_answers(
    described: schemathesis.BaseSchema, target: Target, known: bool
):
    for operation in operations(described, known=known):
        for case in boundary_cases(operation):
            ASK[known](case, target)


def test_the_service_still_stands_and_its_ledger_verifies(target: Target):
    headers = {"Authorization": f"Bearer {target.tokens['steward']}"}
    verified = requests.post(f"{target.url}/v1/ledger/verify", headers=headers, timeout=20).json()
    assert verified["ok"] is True
    assert requests.get(f"{target.url}/readyz", timeout=20).json()["ready"] is True
