"""Background work survives its failures and stops when told; services close on the way out."""

import asyncio

import pytest

from app import main
from app.main import create_app, keep_going
from app.settings import Settings


async def test_work_that_fails_is_begun_again_and_named_by_type_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(main, "RESTART_DELAY_S", 0.001)
    stop, runs = asyncio.Event(), 0

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 3:
            stop.set()
        raise RuntimeError("canary-77")

    await asyncio.wait_for(keep_going("rights", work, stop), 5)
    logged = capsys.readouterr().out
    assert runs == 3
    assert logged.count("RuntimeError") == 3
    assert "canary-77" not in logged


async def test_work_that_will_not_stop_is_cancelled_after_its_grace(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(main, "STOP_GRACE_S", 0.01)
    cancelled = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    await main._finish([task])
    assert cancelled.is_set()
    assert task.cancelled()


async def test_a_stopped_application_leaves_no_task_and_no_service_behind(api_settings: Settings):
    before = asyncio.all_tasks()
    app = create_app(api_settings)
    async with app.router.lifespan_context(app):
        assert app.state.runtime is not None
        names = {task.get_name() for task in asyncio.all_tasks() - before}
        assert {"postern-rights", "postern-worker"} <= names
    assert app.state.runtime is None
    await asyncio.sleep(0.05)
    assert asyncio.all_tasks() - before == set()


async def test_without_an_embedded_worker_none_is_started(api_settings: Settings):
    app = create_app(api_settings.model_copy(update={"embedded_worker": False}))
    async with app.router.lifespan_context(app):
        assert "postern-worker" not in {task.get_name() for task in asyncio.all_tasks()}
