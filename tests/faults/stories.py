"""What a steward and an analyst do over HTTP, never giving up, and what the books must say afterwards.

A client repeats a request with the same key until it gets a definite answer: a broken connection and 503 say nothing
about what happened. `Told` is what the clients were told; the ledger has to say the same, to the last unit.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import httpx

from app.ledger.amounts import Amounts
from app.services.datasets.create_dataset import create_dataset
from app.services.runtime.runtime import Runtime
from tests.services.world import COLUMNS, QUESTION, Person, World, kinds_of, release_spec, rows, upload_files

BOUND_S = 25.0
"""From the fault to the last answer: leases of a second, pauses of two, starts of servers, twice over."""
AGAIN_S = 0.03
SAMPLES = 6
PEOPLE = 40
FIRST, LONGER = 2, 5
CEILING = 10**15


class TooLate(AssertionError):
    """The system did not come back by itself within the bound."""


@dataclass(frozen=True, slots=True)
class Told:
    """What one pair of clients was told in one round."""

    dataset: str
    steward: Person
    analyst: Person
    release: str
    prefix: int
    answers: Mapping[str, bytes]


async def insist(send: Callable[[], Awaitable[httpx.Response]], what: str, status: int = 200) -> httpx.Response:
    """Repeat until the answer is definite, which it is with anything but 503 and 429; then it has to be `status`."""
    deadline = time.monotonic() + BOUND_S
    last = "nothing"
    while time.monotonic() < deadline:
        try:
            answer = await send()
        except httpx.TransportError as error:
            last = type(error).__name__
        else:
            if answer.status_code not in (429, 503):
                assert answer.status_code == status, f"{what}: {answer.text}"
                return answer
            assert "retry-after" in answer.headers
            last = answer.text
        await asyncio.sleep(AGAIN_S)
    raise TooLate(f"{what}: {last}")


async def ask(client: httpx.AsyncClient, person: Person, release: str) -> httpx.Response:
    return await client.post(f"/v1/releases/{release}/query", content=QUESTION, headers=person.headers)


@dataclass(frozen=True, slots=True)
class Cast:
    """Who and what a story is about: a dataset without rows, and an analyst with a cap on it."""

    number: str
    dataset: str
    analyst: Person


async def cast_for(world: World, number: str) -> Cast:
    """Through the services, before anything goes wrong. The rows will come over HTTP and go after use."""
    spec = {
        "name": f"set {number}",
        "columns": COLUMNS,
        "budget": {"epsilon": 20.0, "delta": 1e-6},
        "source": {"kind": "upload", "retain": False},
    }
    dataset = (await create_dataset(world.runtime, steward=world.steward, spec=spec)).id
    ada = await world.person("analyst", f"ada {number}")
    await world.cap(dataset, ada)
    return Cast(number, dataset, ada)


async def whole_story(client: httpx.AsyncClient, world: World, cast: Cast) -> Told:
    """Upload, request, wait, buy a prefix, upgrade it, ask: every step repeated until it is answered."""
    steward, number, dataset, ada = world.boss, cast.number, cast.dataset, cast.analyst
    head = steward.headers

    def upload() -> Awaitable[httpx.Response]:
        kind = {"Content-Type": "text/csv"}
        return client.put(f"/v1/datasets/{dataset}/data", content=rows(PEOPLE, 13), headers=head | kind)

    def request() -> Awaitable[httpx.Response]:
        key = {"Idempotency-Key": f"release of {number}"}
        return client.post(f"/v1/datasets/{dataset}/releases", json=release_spec(SAMPLES), headers=head | key)

    await insist(upload, "upload")
    release = (await insist(request, "request", 202)).json()["id"]
    await _until_published(client, world, release)
    for samples in (FIRST, LONGER):
        key = {"Idempotency-Key": f"{samples} of {number}"}

        def buy(samples: int = samples, key: Mapping[str, str] = key) -> Awaitable[httpx.Response]:
            body = {"samples": samples}
            return client.post(f"/v1/releases/{release}/access", json=body, headers={**ada.headers, **key})

        assert (await insist(buy, "access")).json()["samples"] == samples
    answers = {person.id: await answered(client, person, release) for person in (ada, steward)}
    return Told(dataset, steward, ada, release, LONGER, answers)


async def answered(client: httpx.AsyncClient, person: Person, release: str) -> bytes:
    return (await insist(lambda: ask(client, person, release), "query")).content


async def check_books(client: httpx.AsyncClient, world: World, told: Told) -> None:
    """Charged once, to the last unit; published as it was seen; the prefix paid for exactly."""
    release = await world.release(told.release)
    assert release.status == "published"
    entries = await world.entries(told.dataset)
    assert [entry.kind for entry in entries if entry.kind == "reserve"] == ["reserve"], "charged twice, or for nobody"
    on_release = kinds_of([entry for entry in entries if entry.account == told.dataset], told.release)
    assert on_release == ["reserve", "commit"]
    assert (await world.account(told.dataset)).spent == reference_charge(release.cost, SAMPLES)
    cap = await world.account(f"{told.analyst.id}@{told.dataset}")
    assert cap.spent == reference_charge(release.cost, told.prefix)
    await check_answers(client, told)


async def check_answers(client: httpx.AsyncClient, told: Told) -> None:
    for person in (told.analyst, told.steward):
        found = await answered(client, person, told.release)
        assert found == told.answers[person.id], "a published answer changed"


async def until_wiped(runtime: Runtime) -> None:
    """No uploaded row outlives its releases, wherever the process that should have wiped it ended."""
    deadline = time.monotonic() + BOUND_S
    while left := upload_files(runtime):
        if time.monotonic() > deadline:
            raise TooLate(f"{len(left)} private files were left")
        await asyncio.sleep(AGAIN_S)


def reference_charge(cost: Mapping[str, Any], samples: int) -> Amounts:
    """⌈k · cost · 10⁹⌉ in exact fractions, component by component."""

    def units(value: float) -> int:
        return min(ceil(Fraction(value) * samples * 10**9), CEILING)

    assert not cost["once_pure"]
    return Amounts(units(cost["pure"]), tuple(units(value) for value in cost["curve"]))


async def _until_published(client: httpx.AsyncClient, world: World, release: str) -> None:
    deadline = time.monotonic() + BOUND_S
    while True:
        answer = await insist(
            lambda: client.get(f"/v1/releases/{release}", headers=world.boss.headers), "status of the release"
        )
        if answer.json()["status"] != "pending":
            assert answer.json()["status"] == "published"
            return
        if time.monotonic() > deadline:
            raise TooLate("the release stayed pending")
        await asyncio.sleep(AGAIN_S)
