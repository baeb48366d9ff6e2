"""Rounds of faults on real processes: whatever ended where, the books are exact and nothing published is lost.

A build plays one fault of each sort (`menu.IN_THE_BUILD`). `POSTERN_FAULT_ROUNDS` plays as many as it says (`make
test-deep`: 200), three fifths of them on PostgreSQL and Redis, the others on SQLite. Which faults, when and in which
order comes from `POSTERN_FAULT_SEED`; a failing round says how to play it again.
"""

import asyncio
import contextlib
import os
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from app.storage.migrate import upgrade
from tests.conftest import Backend
from tests.faults.cluster import Cluster
from tests.faults.forked import ForkServer
from tests.faults.menu import Named, Place, dealt
from tests.faults.restartable import RestartablePostgres, RestartableValkey
from tests.faults.stories import Told, ask, cast_for, check_answers, check_books, insist, until_wiped, whole_story
from tests.services.world import World, new_world, services, settings_for

ROUNDS = int(os.environ.get("POSTERN_FAULT_ROUNDS", "0"))
SEED = int(os.environ.get("POSTERN_FAULT_SEED", "4"))
ON_POSTGRES = -(-ROUNDS * 3 // 5)
STORIES = 2
ANSWER_S = 15.0


@dataclass(slots=True)
class Table:
    """One set of servers, and everything clients were ever told on it."""

    place: Place
    world: World
    client: httpx.AsyncClient
    told: list[Told] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)

    async def play(self, number: int, card: Named) -> None:
        casts = [await cast_for(self.world, f"{number}.{story}") for story in range(STORIES)]
        async with self._questions(quiet=card.quiet), card.fault(self.place):
            fresh = await asyncio.gather(*(whole_story(self.client, self.world, cast) for cast in casts))
        self.told += fresh
        await self.place.cluster.until_ready()
        for told in fresh:
            await check_books(self.client, self.world, told)
        for told in self.told[-20:]:
            await check_answers(self.client, told)
        await until_wiped(self.world.runtime)
        assert await self.world.verified()

    async def settle(self) -> None:
        """At the end everything anybody was ever told is looked at once more, over HTTP and in the books."""
        for told in self.told:
            await check_books(self.client, self.world, told)
        verified = await insist(
            lambda: self.client.post("/v1/ledger/verify", headers=self.world.boss.headers), "verify"
        )
        assert verified.json()["ok"], verified.text

    @contextlib.asynccontextmanager
    async def _questions(self, *, quiet: bool) -> AsyncIterator[None]:
        """A steady stream about releases of earlier rounds: right answers only, and no failure where `quiet`."""

        async def keep_asking() -> None:
            while True:
                await asyncio.sleep(0.02)
                if not self.told:
                    continue
                told = self.place.choice.choice(self.told[-10:])
                try:
                    answer = await ask(self.client, told.analyst, told.release)
                except httpx.TransportError:
                    assert not quiet, "a connection broke"
                    self.asked["broken"] += 1
                    continue
                if answer.status_code != 503 or quiet:
                    assert answer.status_code == 200, answer.text
                    assert answer.content == told.answers[told.analyst.id]
                self.asked[str(answer.status_code)] += 1

        task = asyncio.create_task(keep_asking())
        try:
            yield
        finally:
            if not task.done():
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


@contextlib.asynccontextmanager
async def table(place: Place, folder: Path) -> AsyncIterator[Table]:
    cluster = place.cluster
    try:
        await cluster.until_ready()
        async with (
            services(settings_for(cluster.backend, folder)) as runtime,
            httpx.AsyncClient(base_url=cluster.url, timeout=ANSWER_S, verify=False) as client,  # noqa: S501
            cluster.supervised(),
        ):
            yield Table(place, await new_world(runtime), client)
    finally:
        cluster.stop()


async def play_all(place: Place, folder: Path, rounds: int) -> None:
    deck = dealt(place, rounds)
    async with table(place, folder) as opened:
        for number, card in enumerate(deck):
            began = time.monotonic()
            try:
                await opened.play(number, card)
            except BaseException as error:
                error.add_note(f"round {number} of seed {SEED}: {card.name}")
                error.add_note(f"again: POSTERN_FAULT_SEED={SEED} POSTERN_FAULT_ONLY='{card.name}'")
                error.add_note("\n".join(role.process.log[-1500:] for role in place.cluster.roles.values()))
                raise
            print(f"{number:3} {card.name:32} {time.monotonic() - began:5.1f} s")  # noqa: T201
        await opened.settle()
        print(f"seed {SEED}: {len(deck)} rounds, {len(opened.told)} releases, questions {dict(opened.asked)}")  # noqa: T201


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(1200)
async def test_every_fault_on_sqlite_leaves_exact_books(forks: ForkServer, tmp_path: Path, bytecode: Path | None):
    backend = Backend("sqlite", f"sqlite:///{tmp_path / 'postern.db'}", None)
    await asyncio.to_thread(upgrade, backend.database_url)
    cluster = Cluster(forks, backend, tmp_path, bytecode)
    await play_all(Place(cluster, random.Random(SEED)), tmp_path, ROUNDS - ON_POSTGRES)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.timeout(1200)
async def test_every_fault_on_postgresql_and_redis_leaves_exact_books(
    forks: ForkServer, tmp_path: Path, bytecode: Path | None
):
    database, redis = RestartablePostgres(), RestartableValkey()
    try:
        backend = Backend("postgres", database.url(database.create_database()), redis.url)
        await asyncio.to_thread(upgrade, backend.database_url)
        cluster = Cluster(forks, backend, tmp_path, bytecode)
        await play_all(Place(cluster, random.Random(SEED), database, redis), tmp_path, ON_POSTGRES)
    finally:
        redis.stop()
        database.stop()
