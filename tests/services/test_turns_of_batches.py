"""However many batches one reader has under way, others get the event loop between any two of their questions."""

import asyncio
import json
import threading
from importlib import import_module
from typing import Any

import pytest

from app.services.reading import answer_batch
from app.services.reading.answer_batch import stream_queries
from app.services.runtime.answer_thread_pool import LINE_MAX
from tests.conftest import POSTGRES_DEEP
from tests.services.world import World

answer_query_module = import_module("app.services.reading.answer_query")

QUESTIONS = 20
BAD = {"utility": {"kind": "nothing of the kind"}}


@POSTGRES_DEEP
@pytest.mark.parametrize("bad", [False, True])
async def test_a_turn_of_the_loop_holds_one_question_of_a_reader(
    world: World, monkeypatch: pytest.MonkeyPatch, bad: bool
):
    release = await world.published(await world.dataset())
    turns: list[int] = [0]
    read = answer_batch.read_question

    async def counted(*arguments: Any, **options: Any) -> Any:
        turns[-1] += 1
        return await read(*arguments, **options)

    monkeypatch.setattr(answer_batch, "read_question", counted)

    async def somebody_else() -> None:
        while True:
            await asyncio.sleep(0)
            turns.append(0)

    async def one_stream(number: int) -> int:
        asked = [
            BAD | {"confidence": 0.5 + number / 1000 + i / 100_000} if bad else _about(number, i)
            for i in range(QUESTIONS)
        ]
        body = json.dumps({"queries": asked}).encode()
        stream = await stream_queries(world.runtime, reader=world.steward, release_id=release, body=body)
        return sum([piece.count(b"\n") async for piece in stream])

    other = asyncio.create_task(somebody_else())
    lines = await asyncio.gather(*(one_stream(number) for number in range(LINE_MAX)))
    other.cancel()
    assert lines == [QUESTIONS + 1] * LINE_MAX
    assert sum(turns) == QUESTIONS * LINE_MAX
    assert max(turns) <= 1


def _about(number: int, i: int) -> dict[str, Any]:
    level = 0.5 + number / 1000 + i / 100_000
    return {"estimand": {"kind": "parameter", "name": "theta"}, "utility": {"kind": "squared"}, "confidence": level}


@POSTGRES_DEEP
async def test_a_question_that_takes_long_to_compile_leaves_the_loop(world: World, monkeypatch: pytest.MonkeyPatch):
    release = await world.published(await world.dataset())
    compiled_in: list[bool] = []
    compile_question = answer_query_module.compile_question

    def watched(*arguments: Any) -> Any:
        compiled_in.append(threading.current_thread() is threading.main_thread())
        return compile_question(*arguments)

    monkeypatch.setattr(answer_query_module, "compile_question", watched)
    for steps, text in (({}, "r ** 1.5 + " * 30), ({"steps": 9}, "r ** 1.5 + " * 30), ({}, "")):
        responses = {"lower": 0.1, "upper": 1, **steps}
        utility = {"kind": "expression", "utility": f"{text}theta", "responses": responses, "range": [0, 100]}
        body = json.dumps({"utility": utility}).encode()
        await answer_query_module.answer_query(world.runtime, reader=world.steward, release_id=release, body=body)
    assert compiled_in == [False, True, True]
