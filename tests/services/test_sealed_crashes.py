"""Releases of statistics without rows, ended at any line: what is charged is kept, what is not is wiped, and the next
finishes it."""

from dataclasses import replace
from typing import Any

import pytest

from app.services.datasets.wipe_uploads import wipe_remains
from app.services.releases.run_release import run_next_release
from app.services.runtime.failpoints import arm, disarm
from tests.services.sealing import asked_for, planned, sealed, source_of, without_rows
from tests.services.world import SECOND_US, World, at_once, upload_files

CHARGED, UNCHARGED = ["open", "reserve", "commit"], ["open"]
BEFORE_READING = ["release.claimed"]
READING = ["release.reading", "release.rows_read", "release.drawn", "release.storing"]
OVER = ["release.published", "statistics.wiping"]


class Crash(BaseException):
    """The process ended here."""


def die() -> None:
    raise Crash


def later(world: World) -> World:
    """The same steward on a process that starts a minute after."""
    runtime = world.runtime
    return world.on(replace(runtime, clock=lambda: runtime.clock() + 60 * SECOND_US, sleep=at_once))


@pytest.fixture(autouse=True)
def nothing_armed() -> Any:
    yield
    disarm()


@pytest.mark.parametrize("point", [*BEFORE_READING, *READING, *OVER])
async def test_a_worker_that_ends_at_any_line_is_finished_by_the_next(world: World, point: str) -> None:
    dataset = await without_rows(world)
    release = await asked_for(world, dataset)
    arm(point, die)
    with pytest.raises(Crash):
        await run_next_release(world.runtime)
    disarm()
    started = later(world)
    await wipe_remains(started.runtime)
    assert len(upload_files(world.runtime)) == (0 if point in OVER else 1)
    await started.work()
    assert (await world.release(release)).status == "published"
    assert await world.kinds(dataset) == CHARGED
    assert upload_files(world.runtime) == []
    assert await world.verified()


@pytest.mark.parametrize(
    "point", ["request.before_reserve", "statistics.kept", "request.reserving", "request.reserved"]
)
async def test_a_server_that_ends_at_any_line_has_charged_and_kept_both_or_neither(world: World, point: str) -> None:
    """And the same request again is the same release, charged once."""
    dataset = await without_rows(world)
    source = source_of(sealed(await planned(world, dataset)))
    arm(point, die)
    with pytest.raises(Crash):
        await world.request(dataset, source=source, key="once")
    disarm()
    await wipe_remains(world.runtime)
    charged = point == "request.reserved"
    assert await world.kinds(dataset) == (["open", "reserve"] if charged else UNCHARGED)
    assert len(upload_files(world.runtime)) == int(charged)
    again = await world.request(dataset, source=source, key="once")
    await world.work()
    assert (await world.release(again.id)).status == "published"
    assert await world.kinds(dataset) == CHARGED
    assert upload_files(world.runtime) == []
