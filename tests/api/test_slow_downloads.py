"""What a reader who takes hours over a file, or a reader with a full line, costs everybody else."""

import asyncio
import weakref
from collections.abc import Awaitable
from contextlib import ExitStack

import pytest

from app.api.application import build_api
from app.errors import TooBusy
from app.services.reading.export_samples import Export, describe_export
from app.services.reading.published_release import open_release
from app.services.runtime.answer_thread_pool import LINE_MAX
from tests.api.streamed_call import StreamedCall
from tests.services.world import Person, World

pytestmark = pytest.mark.engine_in_turn

LARGE = {"kind": "laplace", "samples": 40_000, "epsilon": 5.0}
"""As text more than one piece of a download, and enough values for receipts to be hashed in a thread."""


@pytest.mark.slow
async def test_a_file_that_is_read_slowly_holds_no_samples_in_memory(world: World):
    release = await world.published(await world.dataset(), mechanism=LARGE)
    app = build_api(body_bytes_max=1024)
    app.state.runtime = world.runtime
    address = f"/v1/releases/{release}/samples?format=csv"
    call = StreamedCall(app, address, world.boss.token, b"", accept="*/*", read=1, method="GET")
    await call.until(1)
    columns = weakref.ref((await open_release(world.runtime, world.steward, release)).samples.columns)
    assert columns() is not None
    world.runtime.warm.clear()
    for _ in range(200):  # a thread that has just given its result lets go of its arguments a moment later
        if columns() is None:
            break
        await asyncio.sleep(0.01)
    assert columns() is None
    call.hang_up()
    call.read_more(1_000)
    await call.ended()


@pytest.mark.slow
async def test_a_reader_whose_line_is_full_spoils_no_receipt_of_another(world: World):
    """Both ask for the same file at the same moment: one look at the samples would do, but not in either's line."""
    dataset = await world.dataset()
    release = await world.published(dataset, mechanism=LARGE)
    busy = await world.buyer(dataset, release, 40_000, "busy")
    idle = await world.buyer(dataset, release, 40_000, "idle")
    runtime = world.runtime
    for person in (busy, idle):
        await open_release(runtime, person.reader, release)

    def describe(person: Person) -> Awaitable[Export]:
        return describe_export(runtime, reader=person.reader, release_id=release, name="csv", parameters=[])

    with ExitStack() as places:
        for _ in range(LINE_MAX):
            places.enter_context(runtime.answers.line(busy.id))
        refused, described = await asyncio.gather(describe(busy), describe(idle), return_exceptions=True)
    assert isinstance(refused, TooBusy)
    assert not isinstance(described, BaseException), described
