"""Generated requests over the whole description, against the real service on SQLite in this process.

Every operation gets the examples of the document, its boundary cases and random ones, valid and not, once with ids
that exist and once with ids made up. Nothing may answer 500, and every answer must be one the document promises.

Models and mechanisms alone have thousands of boundary cases: a build sends some of them, `make test-deep` all.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
import uvicorn
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.api.application import build_api
from app.main import create_app
from app.services.people.directory import create_principal
from app.services.people.keys import create_key
from app.services.runtime.runtime import open_runtime
from app.settings import Settings
from app.storage.migrate import upgrade
from tests.api.conftest import COLUMNS, MODEL, ROWS

pytestmark = pytest.mark.slow

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
QUIET = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
BRIEFLY, AT_LENGTH = settings(QUIET, max_examples=4), settings(QUIET, max_examples=100)
FIRST_CASES, EVERY_CASE = 25, 20


@schemathesis.serializer("application/vnd.apache.parquet")
def send_bytes(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """Generated values as they are: what is not Parquet must be refused, not break the reader."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


schema = schemathesis.openapi.from_dict(build_api(body_bytes_max=1024).openapi())


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

    body = {
        "name": "fuzzed",
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
    return {"dataset_id": dataset, "release_id": release}


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


@pytest.fixture(scope="module")
def sent() -> Counter[str]:
    """Boundary cases so far, by operation."""
    return Counter()


def is_sent(case: schemathesis.Case, sent: Counter[str]) -> bool:
    """The first boundary cases of an operation and some of the others; everything else there is."""
    if case.meta is None or case.meta.phase.name != "coverage":
        return True
    sent[case.operation.label] += 1
    count = sent[case.operation.label]
    return count <= FIRST_CASES or count % EVERY_CASE == 0


@schema.parametrize()
@BRIEFLY
def test_made_up_ids_get_only_promised_answers(case: schemathesis.Case, target: Target, sent: Counter[str]):
    if is_sent(case, sent):
        ask(case, target)


@schema.include(path_regex="{").parametrize()
@BRIEFLY
def test_ids_that_exist_get_only_promised_answers(case: schemathesis.Case, target: Target, sent: Counter[str]):
    if is_sent(case, sent):
        ask_by_known_ids(case, target)


@pytest.mark.deep
@schema.parametrize()
@AT_LENGTH
def test_made_up_ids_always_get_only_promised_answers(case: schemathesis.Case, target: Target):
    ask(case, target)


@pytest.mark.deep
@schema.include(path_regex="{").parametrize()
@AT_LENGTH
def test_ids_that_exist_always_get_only_promised_answers(case: schemathesis.Case, target: Target):
    ask_by_known_ids(case, target)


def test_the_service_still_stands_and_its_ledger_verifies(target: Target):
    headers = {"Authorization": f"Bearer {target.tokens['steward']}"}
    verified = requests.post(f"{target.url}/v1/ledger/verify", headers=headers, timeout=20).json()
    assert verified["ok"] is True
    assert requests.get(f"{target.url}/readyz", timeout=20).json()["ready"] is True
