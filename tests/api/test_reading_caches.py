"""Tags, conditional requests, compression and what is kept at hand of tables, curves and files."""

import gzip
from dataclasses import replace

import pytest

from app.services.reading.exports import FORMATS
from app.services.runtime.export_thread_pool import WAITING_MAX
from app.services.runtime.runtime import Runtime
from app.storage.engine import Database
from tests.api.reading_place import FREE, Place
from tests.servers.process import free_port
from tests.services.test_every_kind import NETWORK, hospital
from tests.services.world import World, over_http

pytestmark = pytest.mark.engine_in_turn

CACHED = ("etag", "cache-control", "vary")
PATHS = (
    "summary", "density?parameter=sick%3Dtrue", "density?kind=density&parameter=sick%3Dtrue",
    *(f"samples?format={name}" for name in FORMATS),
)  # fmt: skip


@pytest.mark.slow
async def test_a_tag_names_bytes_and_spares_sending_them_again(world: World, second_runtime: Runtime):
    release = await world.published(await hospital(world, people=100), model=NETWORK, mechanism=FREE)
    async with over_http(world.runtime) as client, over_http(second_runtime) as elsewhere:
        place, other = Place(world, client, release), Place(world, elsewhere, release)
        for path in PATHS:
            first = await place.get(world.boss, path)
            packed = await place.get(world.boss, path, Accept_Encoding="br, gzip;q=0.5")
            assert int(first.headers["content-length"]) == len(first.content)
            assert packed.content == first.content
            text = "format" not in path or FORMATS[path.partition("=")[2]].text
            assert packed.headers.get("content-encoding") == ("gzip" if text else None)
            assert packed.headers["etag"] == first.headers["etag"][:-1] + ('-gzip"' if text else '"')
            for answer, coding in ((first, "identity"), (packed, "gzip")):
                assert answer.headers["cache-control"] == "private, no-cache"
                assert answer.headers["vary"] == "Authorization, Accept, Accept-Encoding"
                for tag in (answer.headers["etag"], f'"x", W/{answer.headers["etag"]}', "*"):
                    again = await place.get(world.boss, path, If_None_Match=tag, Accept_Encoding=coding)
                    assert (again.status_code, again.content) == (304, b"")
                    assert [again.headers[name] for name in CACHED] == [answer.headers[name] for name in CACHED]
            crossed = await place.get(world.boss, path, If_None_Match=first.headers["etag"], Accept_Encoding="gzip")
            assert crossed.status_code == (200 if text else 304)
            same = await other.get(world.boss, path)
            assert (same.content, same.headers["etag"]) == (first.content, first.headers["etag"])


@pytest.mark.slow
async def test_what_is_short_is_not_compressed(world: World):
    """Sixteen samples: fewer would have warnings to carry."""
    release = await world.published(await world.dataset(), samples=16)
    async with over_http(world.runtime) as client:
        for path in ("summary", "density?bins=3", "samples", "samples?format=csv"):
            answer = await Place(world, client, release).get(world.boss, path, Accept_Encoding="gzip")
            assert len(answer.content) <= 1024
            assert "content-encoding" not in answer.headers


@pytest.mark.slow
async def test_a_file_that_is_held_is_not_built_again(world: World):
    """With no room to build anything, whoever holds the file still learns that it is unchanged."""
    release = await world.published(await world.dataset(), samples=30)
    async with over_http(world.runtime) as client:
        place = Place(world, client, release)
        tags = {name: (await place.get(world.boss, f"samples?format={name}")).headers["etag"] for name in FORMATS}
        for _ in range(WAITING_MAX):
            world.runtime.exports.reserve(world.steward.id, 1)
        for name, tag in tags.items():
            assert (await place.get(world.boss, f"samples?format={name}", If_None_Match=tag)).status_code == 304
            full = await place.get(world.boss, f"samples?format={name}")
            assert (full.status_code, full.json()["code"]) == (503, "too_busy")
            assert int(full.headers["retry-after"]) > 0


async def test_warm_tables_and_curves_touch_no_database(world: World):
    release = await world.published(await world.dataset(), samples=30)
    paths = ("summary", "density", "density?kind=density&bins=7")
    async with over_http(world.runtime) as client:
        before = [(await Place(world, client, release).get(world.boss, path)).content for path in paths]
    nowhere = replace(world.runtime, database=Database.open(f"postgresql://nobody@127.0.0.1:{free_port()}/nothing"))
    async with over_http(nowhere) as client:
        after = [(await Place(world, client, release).get(world.boss, path)).content for path in paths]
    await nowhere.database.dispose()
    assert after == before


async def test_compressed_bytes_are_the_same_every_time_and_unpack_to_the_file(world: World):
    release = await world.published(await world.dataset(), mechanism=FREE)
    async with over_http(world.runtime) as client:
        address, headers = (
            f"/v1/releases/{release}/samples?format=csv",
            world.boss.headers | {"Accept-Encoding": "gzip"},
        )
        packed = []
        for _ in range(2):
            async with client.stream("GET", address, headers=headers) as answer:
                packed.append(b"".join([piece async for piece in answer.aiter_raw()]))
        plain = await Place(world, client, release).get(world.boss, "samples?format=csv")
    assert packed[0] == packed[1]
    assert len(packed[0]) < len(plain.content)
    assert gzip.decompress(packed[0]) == plain.content
