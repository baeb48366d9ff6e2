"""Steal everything after a release: no raw value, no exact count and no hash of either is anywhere, and how many cells were
missing or beyond their bounds in the answer to the upload alone.

Tables and raw files of both databases, Redis, the data folder, debug-level logs, metrics, and every body and header
that was sent, refusals included.
"""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.attacks.canary import (
    BEYOND,
    CELL,
    COLUMNS,
    CURED,
    GONE,
    HOUSE,
    PEOPLE,
    UNIT,
    Search,
    canary_rows,
    statistics_as_bytes,
)
from tests.attacks.dumps import cached_values, database_files, folder_files, log_position, stored_values
from tests.conftest import Backend
from tests.end_to_end.fixtures import Start
from tests.servers.postgres import PostgresServer
from tests.services.world import CAP, QUESTION, Person, World, release_spec

WIPED = {"kind": "upload", "retain": False}
BUDGET = {"epsilon": 2.0, "delta": 1e-6}
FORGED = (
    b"PAR1" + HOUSE * 40 + CELL * 40 + b"PAR1",
    b"cured,days,person\n1,heron-77,heron-000001\n",
    b'cured,days,person\n1,173.2551,"heron-000001\n',
    b"cured,person\n1,heron-000001\n",
)
BAD_QUESTIONS: tuple[Any, ...] = (
    {"estimand": {"kind": "parameter", "name": "phi"}, "utility": {"kind": "squared"}},
    {"estimand": {"kind": "expression", "expression": "theta ** 1e9"}, "utility": {"kind": "squared"}},
    {"estimand": {"kind": "expression", "expression": "__import__('os')"}, "utility": {"kind": "squared"}},
    {"estimand": {"kind": "expression", "expression": "log(theta - 2)"}, "utility": {"kind": "squared"}},
    {"utility": {"kind": "actions", "actions": {"a": "theta", "b": "9"}, "range": [0, 1]}},
    {"confidence": 1.5},
)


class Recorder:
    """A client that keeps everything it received, as text with its headers."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self.received: list[tuple[str, bytes]] = []

    async def call(self, person: Person, method: str, path: str, **sent: Any) -> httpx.Response:
        headers = person.headers | sent.pop("headers", {})
        answer = await self._client.request(method, path, headers=headers, **sent)
        shown = "".join(f"{name}: {value}\n" for name, value in answer.headers.items()).encode()
        self.received.append((f"{answer.status_code} {method} {path}", shown + answer.content))
        return answer

    async def upload(self, person: Person, dataset: str, data: bytes) -> httpx.Response:
        path, kind = f"/v1/datasets/{dataset}/data", {"Content-Type": "application/octet-stream"}
        if not data.startswith(b"PAR1"):
            kind = {"Content-Type": "text/csv"}
        return await self.call(person, "PUT", path, content=data, headers=kind)


async def live_through_a_release(world: World, analyst: Person, recorder: Recorder) -> str:
    """From declaration to answers, with everything refused on the way that could be; returns the release."""
    boss = world.boss
    declared = {"name": "canary", "columns": COLUMNS, "budget": BUDGET, "privacy_unit": UNIT, "source": WIPED}
    made = await recorder.call(boss, "POST", "/v1/datasets", json=declared)
    assert made.status_code == 201, made.text
    dataset = made.json()["id"]
    for forged in FORGED:
        assert (await recorder.upload(boss, dataset, forged)).status_code in (409, 415, 422)
    rows = canary_rows()
    taken = await recorder.upload(boss, dataset, rows)
    assert (taken.status_code, taken.json()["missing"], taken.json()["outside"]) == (
        200,
        {"days": GONE},
        {"days": BEYOND},
    )
    recorder.received.pop()  # the one place where these counts are told
    assert (await recorder.upload(boss, dataset, rows[: rows.rindex(b"\n", 0, -1) + 1])).status_code == 422
    path, key = f"/v1/datasets/{dataset}/releases", {"Idempotency-Key": "canary"}
    asked = await recorder.call(boss, "POST", path, json=release_spec(samples=40), headers=key)
    assert asked.status_code == 202, asked.text
    release = str(asked.json()["id"])
    await published(boss, recorder, release)
    refused = [
        await recorder.call(boss, "POST", path, json=release_spec(samples=40)),
        await recorder.call(boss, "POST", path, json=release_spec(samples=41), headers=key),
        await recorder.call(analyst, "POST", f"/v1/releases/{release}/query", content=QUESTION),
    ]
    assert [answer.status_code for answer in refused] == [409, 409, 404]
    await recorder.call(boss, "PUT", f"/v1/datasets/{dataset}/analysts/{analyst.id}", json=CAP | {"epsilon": 1.0})
    await ask_as_an_analyst(analyst, recorder, release)
    for path in (f"/v1/datasets/{dataset}", f"/v1/datasets/{dataset}/ledger", f"/v1/releases/{release}/card"):
        assert (await recorder.call(boss, "GET", path)).status_code == 200
    await recorder.call(boss, "GET", "/metrics")
    return release


async def published(boss: Person, recorder: Recorder, release: str) -> None:
    for _ in range(600):
        status = (await recorder.call(boss, "GET", f"/v1/releases/{release}")).json()["status"]
        if status != "pending":
            break
        await asyncio.sleep(0.05)
    assert status == "published"


async def ask_as_an_analyst(analyst: Person, recorder: Recorder, release: str) -> None:
    query, access = f"/v1/releases/{release}/query", f"/v1/releases/{release}/access"
    assert (await recorder.call(analyst, "POST", query, content=QUESTION)).status_code == 403
    for samples in (10, 41, 40, 40_000_000_000):
        await recorder.call(analyst, "POST", access, json={"samples": samples})
    assert (await recorder.call(analyst, "POST", query, content=QUESTION)).status_code == 200
    for question in BAD_QUESTIONS:
        assert (await recorder.call(analyst, "POST", query, json=question)).status_code == 422
    await recorder.call(analyst, "POST", f"/v1/releases/{release}/queries", json={"queries": list(BAD_QUESTIONS)})
    for path in ("/v1/me", "/v1/releases", f"/v1/releases/{release}", f"/v1/releases/{release}/card", "/metrics"):
        assert (await recorder.call(analyst, "GET", path)).status_code == 200


@pytest.mark.slow
async def test_nothing_stored_logged_cached_or_sent_holds_a_canary(
    backend: Backend, world: World, serve: Start, tmp_path: Path, postgres_server: PostgresServer
):
    since = log_position(backend)
    analyst = await world.person("analyst", "mallory")
    (server,) = serve(1, EMBEDDED_WORKER="true", RIGHTS_POLL_S="0.1")
    async with server.connect() as client:
        recorder = Recorder(client)
        release = await live_through_a_release(world, analyst, recorder)
    samples = await world.samples(release)
    assert samples is not None
    prefixes = [samples, samples[: 10 * 8]]
    search = Search(hashed=[canary_rows(), *statistics_as_bytes(), *prefixes])
    assert list((tmp_path / "data" / "uploads").iterdir()) == []
    found = [(place, hits) for place, value in stored_values(backend) if (hits := search.in_value(value))]
    pages = backend.name == "postgres"
    raw = [*database_files(backend, postgres_server, since)]
    found += [(place, hits) for place, blob in raw if (hits := search.in_bytes(blob, pages=pages))]
    rest = [*cached_values(backend), *folder_files(tmp_path / "data"), *recorder.received]
    rest.append(("log", server.log.encode()))
    found += [(place, hits) for place, blob in rest if (hits := search.in_bytes(blob))]
    assert found == []
    ahead = [(place, blob) for place, blob in raw if place.startswith("pg_wal/")]
    looked_through = [
        ("database", raw),
        ("log written ahead", ahead),
        ("cache", [*cached_values(backend)]),
        ("log", [("log", server.log.encode())]),
    ]
    assert bool(ahead) == pages
    for place, blobs in looked_through:
        if blobs:
            assert any(release.encode() in blob for _, blob in blobs), f"the {place} was not really looked through"


@pytest.mark.parametrize(
    "planted",
    [
        b"x heron-000123 x",
        b"days 173.25519",
        f'"total":{CURED},'.encode(),
        f" {PEOPLE - CURED}\n".encode(),
        f"rows{CURED}".encode(),
        CURED.to_bytes(8, "little"),
        (PEOPLE - CURED).to_bytes(4, "big"),
        f"{CURED / PEOPLE}".encode(),
    ],
)
def test_the_search_would_find_what_it_looks_for(planted: bytes):
    assert Search().in_bytes(b"\0\xff" + planted + b"\0\xff")


def test_the_search_would_find_values_and_hashes_and_leaves_public_numbers_alone():
    search = Search(hashed=[b"rows"])
    assert search.in_value(CURED)
    assert search.in_value(CURED / PEOPLE)
    assert search.in_value(memoryview(CURED.to_bytes(8, "big")))
    for stored in ("0afc7c", "b3c6fa1b9f9cf6f3"):
        assert search.in_value(stored) == []
    digest = hashlib.sha256(b"rows")
    assert search.in_value(digest.digest())
    assert search.in_value(f'"{digest.hexdigest()[:32]}"')
    for public in (PEOPLE, f'"n":{PEOPLE}', f"{CURED}7", f"9d{PEOPLE - CURED}a0c", 10 * CURED, "0.52", b"person"):
        assert search.in_value(public) == []
