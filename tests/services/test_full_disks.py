"""A disk without room is called that, to whoever runs the service and to whoever asks; what is remembered goes on."""

import pytest
from sqlalchemy import event, text

from app.errors import DiskFull
from app.services.people import create_principal
from app.services.reading.answer_query import answer_query
from app.services.runtime.check_readiness import check_readiness, is_ready
from tests.conftest import Backend
from tests.services.world import QUESTION, World, new_world, services, settings_for


@pytest.fixture
def settings(sqlite_backend: Backend, tmp_path):
    return settings_for(sqlite_backend, tmp_path)


async def test_a_full_disk_is_named_and_questions_from_memory_go_on(settings):
    async with services(settings) as runtime:
        world = await new_world(runtime)
        dataset = await world.dataset()
        release = await world.published(dataset)
        analyst = await world.buyer(dataset, release, 5)
        answer = await answer_query(runtime, reader=analyst.reader, release_id=release, body=QUESTION)
        engine = runtime.database._engine.sync_engine

        def no_more_pages(connection) -> None:
            """The engine's own way to have no room: not a page more than there is."""
            if connection.get_execution_options().get("postern_write"):
                connection.exec_driver_sql("PRAGMA max_page_count = 1")

        event.listen(engine, "begin", no_more_pages)
        with pytest.raises(DiskFull, match="full"):
            await fill(world)
        assert await answer_query(runtime, reader=analyst.reader, release_id=release, body=QUESTION) == answer
        checks = await check_readiness(runtime)
        assert not is_ready(checks)
        assert "full" in checks["database"]["detail"]
        event.remove(engine, "begin", no_more_pages)
        async with runtime.database.write() as connection:
            await connection.execute(text("PRAGMA max_page_count = 1073741823"))
        assert is_ready(await check_readiness(runtime))


async def fill(world: World) -> None:
    for _ in range(400):
        await create_principal(world.runtime, role="analyst", name="x" * 200, created_by=world.steward)


async def test_little_room_in_the_data_directory_is_not_ready_and_says_so(settings):
    async with services(settings.model_copy(update={"disk_bytes_min": 1 << 60})) as runtime:
        checks = await check_readiness(runtime)
        assert not is_ready(checks)
        assert "left in the data directory" in checks["disk"]["detail"]
