"""Redis or PostgreSQL killed under a serving process and a steady load: never wrong, never overspent, back by itself."""

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import redis

from app.storage.migrate import upgrade
from tests.conftest import Backend
from tests.faults.cluster import Cluster
from tests.faults.forked import ForkServer
from tests.faults.restartable import RestartablePostgres, RestartableValkey
from tests.faults.stories import ask, insist
from tests.services.world import Person, World, kinds_of, new_world, release_spec, services, settings_for

UNDER_LOAD_S = 1.0
STALE_S = 10.0
WARM_S = 1.5
"""For so long after PostgreSQL left, what is remembered is surely believed: rights are looked at every second, on a busy
machine less often."""
LOADERS = 2
SILENCE_S = 1.5
FROZEN_S = 4.0
ON_A_BUSY_MACHINE_S = 1.5
"""Beyond what was promised, for a process that does not get its turn."""

Send = Callable[[], Awaitable[httpx.Response]]
Seen = list[tuple[float, int]]
"""When a question was asked, and how it was answered."""


def statuses(seen: Seen, after_s: float, before_s: float = math.inf) -> set[int]:
    return {status for began, status in seen if after_s <= began < before_s}


@pytest.fixture
def own_redis() -> Iterator[RestartableValkey]:
    server = RestartableValkey()
    yield server
    server.stop()


@pytest.fixture
def own_postgres() -> Iterator[RestartablePostgres]:
    server = RestartablePostgres()
    yield server
    server.stop()


@dataclass(slots=True)
class Served:
    """A server and a worker as processes, a published release, and two analysts with prefixes of it."""

    cluster: Cluster
    world: World
    client: httpx.AsyncClient
    dataset: str
    release: str
    people: list[Person]
    expected: dict[str, bytes] = field(default_factory=dict)

    def request(self, key: str) -> Send:
        headers = self.world.boss.headers | {"Idempotency-Key": key}
        address = f"/v1/datasets/{self.dataset}/releases"
        return lambda: self.client.post(address, json=release_spec(5), headers=headers)

    def buy(self, release: str, samples: int) -> Send:
        address = f"/v1/releases/{release}/access"
        return lambda: self.client.post(address, json={"samples": samples}, headers=self.people[0].headers)

    async def until_published(self, release: str) -> None:
        for _ in range(800):
            if (await self.world.release(release)).status != "pending":
                break
            await asyncio.sleep(0.05)
        assert (await self.world.release(release)).status == "published"

    @contextlib.asynccontextmanager
    async def load(self) -> AsyncIterator[Seen]:
        """Everybody asks again and again. A 200 carries the right bytes, anything else says when to come back."""
        seen: Seen = []

        async def keep_asking(person: Person) -> None:
            while True:
                began = time.monotonic()
                answer = await ask(self.client, person, self.release)
                seen.append((began, answer.status_code))
                if answer.status_code == 200:
                    assert answer.content == self.expected[person.id], "a wrong answer"
                else:
                    assert int(answer.headers["retry-after"]) >= 1
                await asyncio.sleep(0.02)

        tasks = [asyncio.create_task(keep_asking(person)) for person in self.people for _ in range(LOADERS)]
        try:
            yield seen
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert [error for error in ended if not isinstance(error, asyncio.CancelledError)] == []


@contextlib.asynccontextmanager
async def served(forks: ForkServer, backend: Backend, folder: Path, bytecode: Path | None) -> AsyncIterator[Served]:
    cluster = Cluster(forks, backend, folder, bytecode, STALE_RIGHTS_S=str(STALE_S), DATABASE_SILENCE_S=str(SILENCE_S))
    try:
        await cluster.until_ready()
        async with (
            services(settings_for(backend, folder)) as runtime,
            httpx.AsyncClient(base_url=cluster.url, timeout=15) as client,
        ):
            world = await new_world(runtime)
            dataset = await world.dataset()
            found = Served(cluster, world, client, dataset, (await world.request(dataset)).id, [])
            await found.until_published(found.release)
            bought = [await world.buyer(dataset, found.release, samples, f"a{samples}") for samples in (7, 8)]
            found.people = [*bought, world.boss]
            for person in found.people:
                found.expected[person.id] = (
                    await insist(lambda p=person: ask(client, p, found.release), "ask")
                ).content
            assert len(set(found.expected.values())) == 3
            yield found
            assert await world.verified()
    finally:
        cluster.stop()


async def test_a_killed_redis_goes_unnoticed_by_warm_questions_and_by_charges(
    postgres_backend: Backend, own_redis: RestartableValkey, forks: ForkServer, tmp_path: Path, bytecode: Path | None
):
    backend = Backend("postgres", postgres_backend.database_url, own_redis.url)
    async with served(forks, backend, tmp_path, bytecode) as here:
        async with here.load() as seen:
            await asyncio.sleep(UNDER_LOAD_S / 2)
            await asyncio.to_thread(own_redis.crash)
            second = await here.request("without redis")()
            assert second.status_code == 202, second.text
            await here.until_published(second.json()["id"])
            bought = await here.buy(second.json()["id"], 3)()
            assert bought.status_code == 200, bought.text
            await asyncio.sleep(UNDER_LOAD_S)
            await asyncio.to_thread(own_redis.start_again)
            await asyncio.sleep(UNDER_LOAD_S)
            await asyncio.to_thread(own_redis.flush)
            await asyncio.sleep(UNDER_LOAD_S / 2)
        assert statuses(seen, 0) == {200}, "an answer that was warm failed"
        assert len(seen) > 100
        gone = here.people.pop(1)
        dropped = await here.client.delete(f"/v1/keys/{gone.who.key_id}", headers=here.world.boss.headers)
        assert dropped.status_code == 204
        assert (await ask(here.client, gone, here.release)).status_code == 401
        await here.cluster.replace("api")
        answer = await insist(lambda: ask(here.client, here.people[0], here.release), "ask a cold process")
        assert answer.content == here.expected[here.people[0].id]
        with redis.Redis.from_url(own_redis.url) as cache:
            kept = [key for key in cache.scan_iter("*") if here.release.encode() in key]
        assert kept, "the cache did not fill again"


async def test_a_frozen_postgresql_is_a_503_within_two_seconds_and_warm_questions_do_not_notice(
    own_postgres: RestartablePostgres, forks: ForkServer, tmp_path: Path, bytecode: Path | None
):
    backend = Backend("postgres", own_postgres.url(own_postgres.create_database()), None)
    await asyncio.to_thread(upgrade, backend.database_url)
    async with served(forks, backend, tmp_path, bytecode) as here:
        await asyncio.sleep(0.5)

        async def timed(send: Send) -> tuple[httpx.Response, float]:
            began = time.monotonic()
            return await send(), time.monotonic() - began

        async with here.load() as seen:
            await asyncio.sleep(UNDER_LOAD_S)
            own_postgres.freeze()
            try:
                asked = [here.request("frozen"), here.buy(here.release, 9), lambda: here.client.get("/readyz")]
                for answer, took_s in await asyncio.gather(*map(timed, asked)):
                    assert answer.status_code == 503, answer.text
                    assert took_s < 2.0 + ON_A_BUSY_MACHINE_S
                    assert "Retry-After" in answer.headers or not answer.json().get("ready", True)
                answer, took_s = await timed(lambda: here.client.get("/readyz"))
                assert (answer.status_code, took_s < 1.0) == (503, True)
                await asyncio.sleep(FROZEN_S - 2 * SILENCE_S)
            finally:
                thawed = time.monotonic()
                own_postgres.thaw()
        assert statuses(seen, 0, thawed) == {200}, "a warm question waited for the database"
        fresh = (await insist(here.request("frozen"), "request", 202)).json()["id"]
        await here.until_published(fresh)
        assert kinds_of(await here.world.entries(here.dataset), fresh) == ["reserve", "commit"]


async def test_a_killed_postgresql_is_a_503_for_what_needs_it_and_nothing_else(
    own_postgres: RestartablePostgres, forks: ForkServer, tmp_path: Path, bytecode: Path | None
):
    """Warm questions are answered within the stale bound; whatever charges waits; all of it returns by itself."""
    backend = Backend("postgres", own_postgres.url(own_postgres.create_database()), None)
    await asyncio.to_thread(upgrade, backend.database_url)
    async with served(forks, backend, tmp_path, bytecode) as here:
        spent = (await here.world.account(here.dataset)).spent
        await asyncio.sleep(0.5)
        async with here.load() as seen:
            await asyncio.sleep(UNDER_LOAD_S / 2)
            leaving_since = time.monotonic()
            await asyncio.to_thread(own_postgres.crash)
            away_since = time.monotonic()
            me = here.people[0].headers
            for send in (
                here.request("away"),
                here.buy(here.release, 9),
                lambda: here.client.get("/v1/me", headers=me),
            ):
                refused = await send()
                assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
                assert int(refused.headers["retry-after"]) >= 1
            assert (await here.client.get("/readyz")).status_code == 503
            assert (await here.client.get("/healthz")).status_code == 200
            await asyncio.sleep(max(0.0, away_since + STALE_S + 2 * UNDER_LOAD_S - time.monotonic()))
            back_since = time.monotonic()
            await asyncio.to_thread(own_postgres.start_again)
            fresh = (await insist(here.request("away"), "request", 202)).json()["id"]
            answered_since = time.monotonic()
            await asyncio.sleep(2 * UNDER_LOAD_S)
        assert statuses(seen, 0, leaving_since + WARM_S) == {200}, "a warm question needed the database"
        believed_until = away_since + STALE_S + 0.5
        assert statuses(seen, believed_until, back_since) == {503}, "rights were believed for longer than the bound"
        assert 200 in statuses(seen, answered_since)
        assert statuses(seen, 0) == {200, 503}
        await here.until_published(fresh)
        await insist(here.buy(here.release, 9), "buy")
        assert kinds_of(await here.world.entries(here.dataset), fresh) == ["reserve", "commit"]
        after = (await here.world.account(here.dataset)).spent
        (reserved,) = [line.amounts for line in await here.world.entries(here.dataset) if line.release == fresh][:1]
        assert after == spent.plus(reserved)
