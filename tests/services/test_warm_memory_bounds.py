"""What a process keeps at hand is bounded by bytes; losing it costs a read and changes no answer."""

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import Unavailable
from app.services.reading.answer_query import answer_query
from app.services.runtime.async_tasks import SingleFlight
from app.services.runtime.warm_cache import COMPILED_BYTES_PER_BYTE, QUESTION_BYTES_MAX, Shelf
from app.storage.cache.sealed import seal, unseal
from tests.services.world import QUESTION, World

pytestmark = pytest.mark.engine_in_turn

SIZES = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 60)), max_size=60)


def test_the_least_recently_used_goes_first():
    shelf: Shelf[str] = Shelf(3)
    for name in "abc":
        shelf.put(name, name.upper(), 1)
    assert shelf.get("a") == "A"
    shelf.put("d", "D", 1)
    assert [shelf.get(name) for name in "abcd"] == ["A", None, "C", "D"]


def test_an_entry_larger_than_the_shelf_is_not_kept_and_pushes_nothing_out():
    shelf: Shelf[str] = Shelf(10)
    shelf.put("small", "kept", 10)
    shelf.put("large", "lost", 11)
    assert shelf.get("small") == "kept"
    assert shelf.get("large") is None


@given(SIZES)
def test_sizes_never_add_up_to_more_than_the_limit(puts: list[tuple[int, int]]):
    shelf: Shelf[int] = Shelf(100)
    for key, size in puts:
        shelf.put(key, size, size)
        held = [shelf.get(number) for number in range(9)]
        assert sum(size for size in held if size is not None) <= 100
    shelf.clear()
    shelf.put("whole", 1, 100)
    assert shelf.get("whole") == 1


async def test_large_questions_cannot_fill_the_memory(world: World):
    """A question may be padded to the body limit: what is remembered about it has to count its bytes."""
    release = await world.published(await world.dataset())
    shelf = world.runtime.warm.questions
    room = QUESTION_BYTES_MAX // COMPILED_BYTES_PER_BYTE
    padded = QUESTION + b" " * (room // 4)
    for number in range(6):
        body = padded + b" " * number
        await answer_query(world.runtime, reader=world.steward, release_id=release, body=body)
    kept = [key[1] for key in shelf._entries if isinstance(key, tuple)]
    assert 1 <= len(kept) < 6
    assert sum(map(len, kept)) <= room


async def test_an_answer_is_the_same_bytes_after_everything_warm_was_lost(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=30)
    analyst = await world.buyer(dataset, release, 11)
    questions = [QUESTION, json.dumps({**json.loads(QUESTION), "utility": {"kind": "interval", "level": 0.5}}).encode()]

    async def answers() -> list[bytes]:
        return [
            await answer_query(world.runtime, reader=person.reader, release_id=release, body=question)
            for person in (world.boss, analyst)
            for question in questions
        ]

    before = await answers()
    assert await answers() == before
    world.runtime.warm.clear()
    assert await world.runtime.cache.delete(f"samples:{release}")
    world.runtime.rights.forget()
    assert await answers() == before
    assert len(set(before)) == 4


async def test_a_cached_sample_set_of_the_wrong_length_is_replaced(world: World):
    """Sealed by us, for this key, and still not this release's: a shape is checked after the seal."""
    release = await world.published(await world.dataset(), samples=30)
    before = await answer_query(world.runtime, reader=world.steward, release_id=release, body=QUESTION)
    key, secret = f"samples:{release}", world.runtime.warm.cache_secret
    assert secret is not None
    for wrong in (b"", b"\0" * 8, b"\0" * 8 * 31):
        world.runtime.warm.clear()
        await world.runtime.cache.put(key, seal(secret, key, wrong), 60)
        assert await answer_query(world.runtime, reader=world.steward, release_id=release, body=QUESTION) == before
        refilled = await world.runtime.cache.get(key)
        assert refilled is not None
        assert unseal(secret, key, refilled) == await world.samples(release)


async def test_many_who_want_one_thing_cost_one_fetch_and_one_who_leaves_takes_nothing_away():
    flights, begun, gate = SingleFlight(), [], asyncio.Event()

    async def fetch() -> str:
        begun.append(1)
        await gate.wait()
        return "fetched"

    waiting = [asyncio.create_task(flights.do("key", fetch)) for _ in range(20)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    gate.set()
    found = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert found[1:] == ["fetched"] * 19
    assert len(begun) == 1
    assert await flights.do("key", fetch) == "fetched"
    assert len(begun) == 2


async def test_a_fetch_that_fails_fails_for_those_who_waited_and_is_tried_again_by_the_next():
    flights, outcomes = SingleFlight(), iter([Unavailable("away"), "fetched"])

    async def fetch() -> str:
        await asyncio.sleep(0)
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    failed = await asyncio.gather(*(flights.do("key", fetch) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(outcome, Unavailable) for outcome in failed)
    assert await flights.do("key", fetch) == "fetched"
