"""Whoever asks for many plans waits behind themselves, stewards behind no reader, and what nobody waits for leaves the line."""

import asyncio
import threading
from collections.abc import Iterator

import pytest
from fastapi import FastAPI, Request

from app.api.disconnects import while_wanted
from app.services.principals import AnyPrincipal, Dashboard, Steward
from app.services.runtime.computing_room import READERS_MAX, ComputingRoom, asking


class Slow:
    """Work that takes until it is let go; remembers whose began."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = threading.Event()

    def of(self, name: str) -> str:
        self.begun.append(name)
        assert self.may_end.wait(20)
        return name


@pytest.fixture
def slow() -> Iterator[Slow]:
    work = Slow()
    yield work
    work.may_end.set()


def ask(room: ComputingRoom, slow: Slow, who: AnyPrincipal) -> asyncio.Task[str]:
    async def request() -> str:
        asking(who)
        return await room.run(lambda: slow.of(who.id))

    return asyncio.create_task(request())


def board(name: str) -> Dashboard:
    return Dashboard(name, name, "k")


async def begun(slow: Slow, number: int) -> list[str]:
    for _ in range(400):
        if len(slow.begun) >= number:
            break
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    return sorted(slow.begun)


async def test_twenty_plans_of_one_reader_hold_up_neither_another_reader_nor_a_steward(slow: Slow):
    room = ComputingRoom()
    many = [ask(room, slow, board("greedy")) for _ in range(20)]
    assert await begun(slow, 1) == ["greedy"]
    others = [ask(room, slow, board("modest")), ask(room, slow, Steward("steward", "s", "k"))]
    assert await begun(slow, 3) == ["greedy", "modest", "steward"]
    slow.may_end.set()
    assert await asyncio.gather(*others) == ["modest", "steward"]
    assert await asyncio.gather(*many) == ["greedy"] * 20


async def test_work_of_a_caller_who_left_keeps_its_turn_until_its_thread_ends_and_waiting_work_never_begins(slow: Slow):
    room = ComputingRoom()
    running = [ask(room, slow, board(f"b{number}")) for number in range(READERS_MAX)]
    assert len(await begun(slow, READERS_MAX)) == READERS_MAX
    waiting, next_one = ask(room, slow, board("left")), ask(room, slow, board("stays"))
    await asyncio.sleep(0.05)
    for task in (running[0], waiting):
        task.cancel()
    assert len(await begun(slow, READERS_MAX + 1)) == READERS_MAX, "a turn was given away under a running thread"
    slow.may_end.set()
    assert await next_one == "stays"
    assert "left" not in slow.begun
    await asyncio.gather(*running, waiting, return_exceptions=True)


async def test_a_caller_who_hangs_up_ends_the_wait_for_a_plan():
    app, ended = FastAPI(), asyncio.Event()

    async def for_ever() -> str:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return ""

    @app.post("/plan")
    async def plan(request: Request) -> str:
        await request.body()
        return await while_wanted(request, for_ever())

    gone = asyncio.Event()
    messages = [{"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive() -> dict[str, object]:
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(_: object) -> None: ...

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/plan",
        "raw_path": b"/plan",
        "query_string": b"",
        "headers": [],
    }
    call = asyncio.create_task(app(scope | {"http_version": "1.1", "scheme": "http", "root_path": ""}, receive, send))
    await asyncio.sleep(0.05)
    assert not ended.is_set()
    gone.set()
    await asyncio.wait_for(ended.wait(), 5)
    await asyncio.gather(call, return_exceptions=True)
