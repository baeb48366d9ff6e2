"""A release ends at a public moment, however long its rows took."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from app.services.releases import run_release
from app.sources.sources import FileRows
from tests.services.world import World, services, settings_for

TICK_S = 0.6


@pytest.mark.slow
@pytest.mark.parametrize(("slow_s", "ticks"), [(0.0, 1), (0.7, 2)])
async def test_a_release_ends_a_power_of_two_of_ticks_after_its_work_began(
    backend: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, world: World, slow_s: float, ticks: int
):
    real: Callable[..., Any] = FileRows.statistic

    def slowed(*arguments: Any) -> Any:
        time.sleep(slow_s)
        return real(*arguments)

    monkeypatch.setattr(FileRows, "statistic", slowed)
    settings = settings_for(backend, tmp_path, publication_tick_s=TICK_S)
    async with services(settings) as runtime:
        there = world.on(runtime)
        dataset = await there.dataset()
        requested = await there.request(dataset)
        began_us, began = runtime.clock(), time.monotonic()
        await there.work()
        spent = time.monotonic() - began
        published_us = (await there.release(requested.id)).published_us
    assert published_us is not None
    assert spent >= ticks * TICK_S
    assert published_us - began_us == pytest.approx(ticks * TICK_S * 1e6, abs=0.45e6)


async def test_a_release_that_fails_after_reading_ends_at_the_same_moment(
    backend: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, world: World
):
    def broken(*_: Any) -> Any:
        raise ArithmeticError

    monkeypatch.setattr(FileRows, "statistic", broken)
    async with services(settings_for(backend, tmp_path, publication_tick_s=TICK_S)) as runtime:
        there = world.on(runtime)
        requested = await there.request(await there.dataset())
        began = time.monotonic()
        await there.work()
        assert time.monotonic() - began >= TICK_S
        assert (await there.release(requested.id)).status == "withdrawn"


async def test_work_that_was_longer_than_a_tick_waits_for_a_doubling(monkeypatch: pytest.MonkeyPatch, world: World):
    """By the clock that cannot be set: 0.05 spent of ticks of 0.01 ends at 0.08."""
    pace = run_release._Pace(world.runtime)
    await asyncio.sleep(0.05)
    assert await pace.next_tick() - pace._began_us in (80_000, 160_000)
