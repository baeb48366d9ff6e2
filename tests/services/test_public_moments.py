"""A release ends in a slot that follows from public numbers, however it went; and its worker is held until then."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from app.core.kinds import KINDS
from app.errors import Unavailable
from app.services.datasets.create_dataset import create_dataset
from app.services.releases.measure_pace import PACE_MIN, drawing_seconds, installation_pace, processor_share
from app.services.releases.public_moment import SAFETY, Slots, duration_us
from app.services.releases.run_release import ATTEMPTS_MAX, run_next_release
from app.services.runtime.failpoints import arm, disarm
from app.storage.installation import PACE, get_measurement
from app.storage.tables import measurements
from tests.conftest import POSTGRES_DEEP, Backend
from tests.services.clockwork import Clockwork
from tests.services.world import COLUMNS, World, kinds_of, new_world, rows, services, settings_for

TICK_S = 0.5
FILE = {"kind": "file", "path": "trial.csv"}
SLOW, FAST = 1e5, 1e-5
"""What no machine that runs this measures."""


class Crash(BaseException):
    """The process ended here."""


@pytest.fixture
async def clocked(backend: Backend, tmp_path: Path) -> AsyncIterator[tuple[World, Clockwork]]:
    (tmp_path / "roots").mkdir()
    time = Clockwork()
    settings = settings_for(
        backend, tmp_path, publication_tick_s=TICK_S, publication_pace=1.0, source_roots=(tmp_path / "roots",)
    )
    async with services(settings, **time.parts()) as runtime:
        yield await new_world(runtime), time


async def moments(world: World, release: str) -> tuple[int, int, int]:
    """(started, how long it was to take, when it ended by its ledger line)."""
    found = await world.release(release)
    lines = [entry for entry in await world.entries(found.dataset_id) if entry.release == release]
    end = lines[-1].at_us
    assert found.started_us is not None
    assert found.duration_us is not None
    assert found.published_us in (None, end)
    return found.started_us, found.duration_us, end


@pytest.mark.parametrize(("share", "slots"), [(0.9, 1), (1.1, 2), (30.0, 32), (200.0, 256)])
@POSTGRES_DEEP
async def test_a_release_ends_at_the_first_slot_after_its_work(
    clocked: tuple[World, Clockwork], share: float, slots: int
):
    world, time = clocked
    requested = await world.request(await world.dataset())
    time.advance(7.25)
    began_us = time.now_us
    time.draw_s = share * TICK_S / 2  # one call for a key, one for the draws
    assert await run_next_release(world.runtime)
    started_us, lasts_us, end_us = await moments(world, requested.id)
    assert (lasts_us, end_us - started_us) == (TICK_S * 1e6, slots * lasts_us)
    assert began_us <= started_us
    assert time.now_us >= end_us, "the worker was let go before the slot"


def test_slots_double_and_then_come_evenly_and_are_never_early():
    slots = Slots(0, 3)
    assert [slots.after(elapsed) for elapsed in (0, 3, 4, 6, 7, 96, 97, 192, 193, 384, 385)] == [
        3, 3, 6, 6, 12, 96, 192, 192, 384, 384, 576,
    ]  # fmt: skip
    for elapsed in range(0, 5000, 7):
        assert slots.after(elapsed) >= elapsed
        assert slots.after(slots.after(elapsed)) == slots.after(elapsed)


@pytest.mark.parametrize("seconds", [1e-9, 0.01, 0.1249, 0.126, 3.3, 4e4])
@pytest.mark.parametrize("tick_s", [0.01, 0.5, 60.0])
def test_the_duration_is_a_whole_number_of_ticks_and_no_less_than_the_work(seconds: float, tick_s: float):
    for pace in (0.1, 1.0, 7.0):
        lasts_us = duration_us(seconds, pace, tick_s)
        assert lasts_us % round(tick_s * 1e6) == 0
        assert SAFETY * seconds * pace * 1e6 <= lasts_us < SAFETY * seconds * pace * 1e6 + tick_s * 1e6 + 1


@POSTGRES_DEEP
async def test_the_next_release_in_line_begins_where_the_last_ended(clocked: tuple[World, Clockwork]):
    world, _ = clocked
    dataset = await world.dataset(source={"kind": "upload", "retain": True})
    asked = [await world.request(dataset) for _ in range(3)]
    await world.work()
    first, second, third = sorted([await moments(world, release.id) for release in asked])
    assert (second[0], third[0]) == (first[2], second[2])


@POSTGRES_DEEP
async def test_wiping_takes_the_same_time_whatever_was_wiped(clocked: tuple[World, Clockwork]):
    world, time = clocked
    await world.published(await world.dataset(source={"kind": "upload", "retain": False}))
    free_us = time.now_us
    other = await world.request(await world.dataset(name="other"))
    await world.work()
    started_us, lasts_us, _ = await moments(world, other.id)
    assert started_us == free_us == Clockwork().now_us + lasts_us + TICK_S * 1e6


@pytest.mark.parametrize("point", ["release.reading", "release.rows_read", "release.drawn"])
@POSTGRES_DEEP
async def test_a_worker_killed_after_rows_were_read_moves_the_release_to_a_later_slot(
    clocked: tuple[World, Clockwork], point: str
):
    def die() -> None:
        raise Crash

    world, time = clocked
    requested = await world.request(await world.dataset())
    arm(point, die)
    with pytest.raises(Crash):
        await run_next_release(world.runtime)
    disarm()
    time.advance(31)
    await world.work()
    started_us, lasts_us, end_us = await moments(world, requested.id)
    assert end_us == started_us + 64 * lasts_us
    assert (await world.release(requested.id)).status == "published"


@POSTGRES_DEEP
async def test_a_release_that_is_given_up_after_many_deaths_is_withdrawn_in_a_slot(clocked: tuple[World, Clockwork]):
    def die() -> None:
        raise Crash

    world, time = clocked
    dataset = await world.dataset()
    requested = await world.request(dataset)
    for _ in range(ATTEMPTS_MAX):
        arm("release.rows_read", die)
        with pytest.raises(Crash):
            await run_next_release(world.runtime)
        disarm()
        time.advance(31)
    await world.work()
    started_us, lasts_us, end_us = await moments(world, requested.id)
    assert (await world.release(requested.id)).status == "withdrawn"
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    assert end_us == started_us + Slots(0, lasts_us).after(time.now_us - started_us - 1)
    assert (end_us - started_us) % (64 * lasts_us) == 0


async def file_dataset(world: World, **source: Any) -> str:
    spec = {"name": "file", "columns": COLUMNS, "budget": {"epsilon": 20.0, "delta": 1e-6}, "source": FILE | source}
    return (await create_dataset(world.runtime, steward=world.steward, spec=spec)).id


@POSTGRES_DEEP
async def test_a_file_that_grew_beyond_its_limit_withdraws_in_the_slot_and_keeps_the_charge(
    clocked: tuple[World, Clockwork], tmp_path: Path
):
    world, _ = clocked
    path = tmp_path / "roots" / "trial.csv"
    path.write_bytes(rows(400))
    dataset = await file_dataset(world, rows_max=500)
    await world.published(dataset)
    requested = await world.request(dataset)
    path.write_bytes(rows(501))
    await world.work()
    assert (await world.release(requested.id)).status == "withdrawn"
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    started_us, lasts_us, end_us = await moments(world, requested.id)
    assert end_us == started_us + lasts_us


@POSTGRES_DEEP
async def test_rows_that_cannot_be_read_now_hold_the_worker_until_the_slot(
    clocked: tuple[World, Clockwork], tmp_path: Path
):
    world, time = clocked
    path = tmp_path / "roots" / "trial.csv"
    path.write_bytes(rows(400))
    requested = await world.request(await file_dataset(world))
    path.write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(Unavailable):
        await run_next_release(world.runtime)
    pending = await world.release(requested.id)
    assert pending.status == "pending"
    assert pending.started_us is not None
    assert pending.duration_us is not None
    assert time.now_us == pending.started_us + pending.duration_us
    path.write_bytes(rows(400))
    time.advance(2.5)
    await world.work()
    started_us, lasts_us, end_us = await moments(world, requested.id)
    assert (end_us - started_us) == Slots(0, lasts_us).after(lasts_us + 2_500_000)


@POSTGRES_DEEP
async def test_a_clock_that_was_moved_back_holds_nobody_for_longer(clocked: tuple[World, Clockwork]):
    def die() -> None:
        raise Crash

    world, time = clocked
    requested = await world.request(await world.dataset())
    arm("release.rows_read", die)
    with pytest.raises(Crash):
        await run_next_release(world.runtime)
    disarm()
    time.advance(-3600)
    began_us = time.now_us
    time.advance(61)
    assert await run_next_release(world.runtime)
    started_us, lasts_us, end_us = await moments(world, requested.id)
    assert end_us == started_us + lasts_us
    assert time.now_us - began_us <= 62 * 1_000_000 + lasts_us


@POSTGRES_DEEP
async def test_the_fastest_pace_that_was_measured_is_shared_until_it_is_a_week_old(backend: Backend, tmp_path: Path):
    time = Clockwork()
    settings = settings_for(backend, tmp_path, publication_pace=None)

    async def recorded(value: float) -> None:
        """By another process, now."""
        async with runtime.database.write() as connection:
            await connection.execute(measurements.update().values(value=value, measured_us=time.now_us))

    async with services(settings, **time.parts()) as runtime:
        first = await installation_pace(runtime)
        async with runtime.database.read() as connection:
            assert await get_measurement(connection, PACE) == first >= PACE_MIN
        await recorded(SLOW)
        assert await installation_pace(runtime) == SLOW, "measured again within the hour"
        async with services(settings, **time.parts()) as other:
            assert PACE_MIN <= await installation_pace(other) < SLOW
        await recorded(SLOW)
        time.advance(3601)
        assert PACE_MIN <= await installation_pace(runtime) < SLOW
        await recorded(FAST)
        time.advance(3601)
        assert await installation_pace(runtime) == FAST
        time.advance(7 * 24 * 3600)
        assert await installation_pace(runtime) >= PACE_MIN
        assert not list(runtime.uploads.root.iterdir())
    async with services(settings_for(backend, tmp_path, publication_pace=3.5)) as told:
        assert await installation_pace(told) == 3.5


def test_a_pace_is_of_the_processor_and_not_of_the_clock():
    def after_a_while(count: int) -> bytes:
        sleep(0.3)
        return os.urandom(count)

    assert drawing_seconds(after_a_while) < 0.3


@pytest.mark.parametrize(
    ("quota", "share"),
    [("max 100000\n", 1.0), ("50000 100000\n", 0.5), ("400000 100000\n", 1.0), ("what?", 1.0), ("0 0", 1.0)],
)
def test_a_container_of_half_a_processor_takes_twice_as_long(tmp_path: Path, quota: str, share: float):
    (tmp_path / "cpu.max").write_text(quota)
    assert processor_share(tmp_path / "cpu.max") == share
    assert processor_share(tmp_path / "none") == 1.0


def test_every_mechanism_of_every_kind_says_what_its_work_is():
    for kind in KINDS:
        for name, each in kind.mechanisms.items():
            assert callable(getattr(each.mechanism, "work", None)), (kind.name, name)
