"""Everything that can go wrong in a round, each as a context in which two clients live through their story."""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from app.services.runtime.failpoints import ACCESS, RELEASE, REQUEST, UPLOAD
from tests.faults.cluster import HOUR_S, LEASE_S, Cluster
from tests.faults.forked import Forked
from tests.faults.stories import BOUND_S

CLIENT_POINTS = (*UPLOAD, *REQUEST, *ACCESS)
FREEZING = ("release.claimed", "release.reading", "release.rows_read", "release.drawn", "release.storing")
IN_THE_BUILD = {
    "sqlite": {"kill release.storing", "kill upload.received", "freeze release.drawn"},
    "postgres": {
        "kill release.drawn",
        "kill access.charged",
        "freeze release.storing",
        "kill postgres 1",
        "flush redis",
    },
}
SHIFTED = ("release.claimed", "release.drawn", "release.published")


class Restartable(Protocol):
    def crash(self) -> None: ...
    def start_again(self) -> None: ...


class Flushable(Restartable, Protocol):
    def flush(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Place:
    """What a fault may reach. `database` and `redis` only where they are servers of their own."""

    cluster: Cluster
    choice: random.Random
    database: Restartable | None = None
    redis: Flushable | None = None


Fault = Callable[[Place], contextlib.AbstractAsyncContextManager[None]]


@dataclass(frozen=True, slots=True)
class Named:
    """`quiet`: whoever asks about releases of earlier rounds must not notice anything."""

    name: str
    fault: Fault
    quiet: bool = False


@asynccontextmanager
async def killed_at(place: Place, role: str, point: str) -> AsyncIterator[None]:
    armed = await place.cluster.replace(role, failpoint=point)
    yield
    assert not armed.alive, f"{point} was never reached:\n{armed.log[-2000:]}"


@asynccontextmanager
async def back_an_hour(place: Place, role: str, point: str) -> AsyncIterator[None]:
    """Killed under the right clock, started again under one that is an hour behind."""
    armed = await place.cluster.replace(role, failpoint=point)
    place.cluster.roles[role].clock_offset_s = -HOUR_S
    yield
    assert not armed.alive, f"{point} was never reached"
    await place.cluster.replace(role)


@asynccontextmanager
async def frozen_at(place: Place, point: str) -> AsyncIterator[None]:
    """A worker stops for longer than its lease while another does its job, then goes on where it was."""
    cluster = place.cluster
    frozen = await cluster.replace(cluster.drawing, failpoint=f"{point}:1:stop")
    thaw = asyncio.create_task(_thaw(cluster, frozen, point))
    try:
        yield
    finally:
        await thaw


async def _thaw(cluster: Cluster, frozen: Forked, point: str) -> None:
    deadline = time.monotonic() + BOUND_S
    while not frozen.frozen:
        assert time.monotonic() < deadline, f"{point} was never reached"
        await asyncio.sleep(0.01)
    second = cluster.one_more_worker()
    try:
        await asyncio.sleep(1.5 * LEASE_S)
    finally:
        frozen.signal(signal.SIGCONT)
        await asyncio.sleep(0.3)
        second.kill()


@asynccontextmanager
async def two_workers(place: Place) -> AsyncIterator[None]:
    """Both hear of every release at the same moment."""
    second = place.cluster.one_more_worker()
    try:
        yield
    finally:
        second.kill()


@asynccontextmanager
async def server_killed(place: Place, server: Restartable) -> AsyncIterator[None]:
    """SIGKILL at a random moment of the story, away for up to half a second, started again with what it had."""
    before_s, away_s = place.choice.uniform(0, 0.4), place.choice.uniform(0, 0.5)

    async def crash() -> None:
        await asyncio.sleep(before_s)
        await asyncio.to_thread(server.crash)
        await asyncio.sleep(away_s)
        await asyncio.to_thread(server.start_again)

    task = asyncio.create_task(crash())
    try:
        yield
    finally:
        await task


@asynccontextmanager
async def flushed(place: Place) -> AsyncIterator[None]:
    async def flush() -> None:
        assert place.redis is not None
        for _ in range(5):
            await asyncio.sleep(place.choice.uniform(0, 0.2))
            await asyncio.to_thread(place.redis.flush)

    task = asyncio.create_task(flush())
    try:
        yield
    finally:
        await task


def menu(place: Place) -> Iterator[Named]:
    """Every fault this place can have."""
    drawing = place.cluster.drawing
    quiet = drawing == "worker"
    for point in RELEASE:
        yield Named(f"kill {point}", partial(killed_at, role=drawing, point=point), quiet)
    for point in CLIENT_POINTS:
        yield Named(f"kill {point}", partial(killed_at, role="api", point=point))
    for point in FREEZING:
        yield Named(f"freeze {point}", partial(frozen_at, point=point))
    for point in SHIFTED:
        yield Named(f"hour back {point}", partial(back_an_hour, role=drawing, point=point), quiet)
    yield Named("hour back request.reserved", partial(back_an_hour, role="api", point="request.reserved"))
    yield Named("two workers", two_workers, True)
    if place.database is not None:
        for number in (1, 2, 3):
            yield Named(f"kill postgres {number}", partial(server_killed, server=place.database))
    if place.redis is not None:
        for number in (1, 2, 3):
            yield Named(f"kill redis {number}", partial(server_killed, server=place.redis), True)
        yield Named("flush redis", flushed, True)


def dealt(place: Place, rounds: int) -> list[Named]:
    """`rounds` faults: whole shuffled decks, so that a short run repeats nothing and a long one leaves nothing out. None
    asked for: those of the build."""
    only = os.environ.get("POSTERN_FAULT_ONLY")
    cards = [card for card in menu(place) if only is None or card.name == only]
    if only is None and not rounds:
        cards = [card for card in cards if card.name in IN_THE_BUILD[place.cluster.backend.name]]
    rounds = rounds or len(cards)
    deck: list[Named] = []
    while cards and len(deck) < rounds:
        deck += place.choice.sample(cards, len(cards))
    return deck[:rounds]
