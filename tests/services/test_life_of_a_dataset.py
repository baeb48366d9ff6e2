"""A dataset is corrected until something was charged to it, and what was changed after rows were seen is never forgotten."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.errors import Conflict, DataMissing, InvalidInput, InvalidRows, InvalidSchema, NameTaken, NotFound
from app.ledger.account import account_id
from app.services.datasets import change_dataset, check_data, create_dataset, delete_dataset, read_dataset, upload_data
from app.services.datasets.wipe_uploads import wipe_remains
from app.services.reading.read_card import read_card
from app.services.releases import cancel_release, read_release
from app.services.releases.run_release import run_next_release
from app.services.views import DatasetView, PublicDatasetView
from app.storage import releases
from tests.conftest import POSTGRES_DEEP
from tests.services.world import COLUMNS, World, chunks_of, rows, upload_files

pytestmark = pytest.mark.engine_in_turn

WIDER = COLUMNS | {"days": {"type": "real", "lower": 0, "upper": 400}}


async def declared(world: World, name: str = "ward", **more: Any) -> str:
    spec = {"name": name, "columns": COLUMNS, "budget": {"epsilon": 20.0, "delta": 1e-6}, "source": {"kind": "upload"}}
    return (await create_dataset(world.runtime, steward=world.steward, spec=spec | more)).id


async def change(world: World, dataset: str, **spec: Any) -> DatasetView:
    return await change_dataset(world.runtime, steward=world.steward, dataset_id=dataset, spec=spec)


async def seen(world: World, dataset: str) -> DatasetView:
    found = await read_dataset(world.runtime, principal=world.steward, dataset_id=dataset)
    assert isinstance(found, DatasetView)
    return found


@POSTGRES_DEEP
async def test_a_wrong_schema_is_corrected_before_the_first_release_and_its_rows_go(world: World):
    dataset = await declared(world)
    assert (await change(world, dataset, columns=WIDER)).changes == []  # nobody has seen a row yet
    await world.upload(dataset, rows())
    changed = await change(world, dataset, columns=COLUMNS, n=400)
    assert (changed.columns["days"]["upper"], changed.data, changed.n) == (365, "none", 400)
    assert upload_files(world.runtime) == []
    with pytest.raises(DataMissing):
        await world.request(dataset)
    await world.upload(dataset, rows())
    await world.request(dataset)
    for spec in ({"columns": WIDER}, {"privacy_unit": {"column": "id", "max_rows": 2}}, {"columns": WIDER, "n": 3}):
        with pytest.raises(Conflict):
            await change(world, dataset, **spec)
    assert (await change(world, dataset, columns=COLUMNS)).data == "ready"  # the same as before changes nothing


@POSTGRES_DEEP
async def test_bounds_changed_after_rows_were_seen_stand_first_on_every_card(world: World):
    """Seen by an upload that was refused, by a check, by an upload: what was told may be why the bounds are what they are."""
    for name, look in (("refused", b"cured,days\n1,400\n"), ("checked", b"cured,days\n1,4\n")):
        dataset = await declared(world, name)
        chunks = chunks_of(look)
        try:
            await check_data(world.runtime, steward=world.steward, dataset_id=dataset, chunks=chunks)
        except InvalidRows:
            assert name == "refused"
        changed = await change(world, dataset, columns=WIDER, privacy_unit=None)
        assert [field for each in changed.changes for field in each["fields"]] == [
            {"field": "days.upper", "before": 365, "after": 400}
        ]
    await world.upload(dataset, rows())
    release = await world.published(dataset)
    first = (await read_card(world.runtime, principal=world.steward, release_id=release))["lines"][0]
    assert (first["name"], first["value"][0]["fields"][0]["after"]) == ("schema_changed", 400)
    assert "days.upper from 365 to 400" in first["text"]
    other = await world.published(await world.dataset("untouched"))
    names = [
        line["name"] for line in (await read_card(world.runtime, principal=world.steward, release_id=other))["lines"]
    ]
    assert "schema_changed" not in names


async def test_no_update_forgets_what_happened_to_a_dataset(world: World):
    dataset = await declared(world)
    await world.upload(dataset, rows())
    await change(world, dataset, columns=WIDER)
    await world.upload(dataset, rows())
    await world.request(dataset)
    await change(world, dataset, archived=None, description="x")
    forbidden = (
        "changes = NULL",
        "changes = '[]'",
        "looked_us = NULL",
        "looked_us = 7",
        "columns = '{}'",
        "rehearsal = 7",
    )
    for assignment in forbidden:
        with pytest.raises(DBAPIError):
            async with world.runtime.database.write() as connection:
                await connection.execute(text(f"UPDATE datasets SET {assignment} WHERE id = '{dataset}'"))


@POSTGRES_DEEP
async def test_names_and_descriptions_change_at_any_time_and_names_stay_different(world: World):
    dataset, other = await declared(world), await declared(world, "other")
    assert (await change(world, dataset, name="east", description="Ward 7,\nasked of Ada")).name == "east"
    with pytest.raises(NameTaken):
        await change(world, other, name="east")
    assert (await change(world, dataset, description=None)).description is None
    with pytest.raises(InvalidSchema):
        await change(world, dataset, columns={})
    with pytest.raises(InvalidInput):
        await change(world, dataset, n=7)
    assert (await seen(world, dataset)).name == "east"


@POSTGRES_DEEP
async def test_an_archived_dataset_has_no_rows_and_its_releases_go_on_answering(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset)
    ada = await world.buyer(dataset, release, 3)
    waiting = await world.request(dataset)
    with pytest.raises(Conflict):
        await change(world, dataset, archived=True)
    await cancel_release(world.runtime, steward=world.steward, release_id=waiting.id)
    archived = await change(world, dataset, archived=True)
    assert archived.archived_us is not None
    assert upload_files(world.runtime) == []
    with pytest.raises(DataMissing):
        await world.request(dataset)
    with pytest.raises(Conflict):
        await world.upload(dataset, rows())
    assert (await read_release(world.runtime, principal=ada.who, release_id=release)).status == "published"
    assert await world.samples(release) is not None
    public = await read_dataset(world.runtime, principal=ada.who, dataset_id=dataset)
    assert isinstance(public, PublicDatasetView)
    assert public.archived_us == archived.archived_us


@POSTGRES_DEEP
async def test_a_name_is_free_again_only_if_nothing_was_ever_charged(world: World):
    dataset = await declared(world)
    await world.upload(dataset, rows())
    ada = await world.person("analyst", "ada")
    await world.cap(dataset, ada)
    await delete_dataset(world.runtime, steward=world.steward, dataset_id=dataset)
    assert upload_files(world.runtime) == []
    for who in (world.steward, ada.who):
        with pytest.raises(NotFound):
            await read_dataset(world.runtime, principal=who, dataset_id=dataset)
    with pytest.raises(NotFound):
        await world.upload(dataset, rows())
    again = await declared(world)
    await world.upload(again, rows())
    pending = await world.request(again)
    await cancel_release(world.runtime, steward=world.steward, release_id=pending.id)
    with pytest.raises(Conflict):
        await delete_dataset(world.runtime, steward=world.steward, dataset_id=again)
    assert await world.verified()


@POSTGRES_DEEP
async def test_a_waiting_release_is_cancelled_once_and_its_charge_taken_back(world: World):
    dataset = await declared(world)
    await world.upload(dataset, rows())
    untouched = await world.account(account_id(dataset))
    pending = await world.request(dataset, title="Cure rate", description="asked for too early")
    for _ in range(2):
        cancelled = await cancel_release(world.runtime, steward=world.steward, release_id=pending.id)
        assert (cancelled.status, cancelled.title) == ("withdrawn", "Cure rate")
    assert await world.kinds(dataset) == ["open", "reserve", "void"]
    assert (await world.account(account_id(dataset))).spent == untouched.spent
    assert not await run_next_release(world.runtime)
    await wipe_remains(world.runtime)
    assert len(upload_files(world.runtime)) == 1  # nobody has used the rows
    published = await world.published(dataset)
    with pytest.raises(Conflict):
        await cancel_release(world.runtime, steward=world.steward, release_id=published)
    assert await world.verified()


async def test_a_release_that_is_being_read_cannot_be_cancelled_and_one_that_was_cancelled_is_not_read(world: World):
    dataset = await world.dataset()
    reading = (await world.request(dataset)).id
    async with world.runtime.database.write() as connection:
        claimed = await releases.claim_next(connection, now_us=world.runtime.clock(), token="w", lease_us=10**7)
        assert claimed is not None
        assert await releases.begin_reading(connection, reading, "w", now_us=1, duration_us=1) is not None
    with pytest.raises(Conflict):
        await cancel_release(world.runtime, steward=world.steward, release_id=reading)
    claimed_only = (await world.request(dataset)).id
    async with world.runtime.database.write() as connection:
        await releases.claim_next(connection, now_us=world.runtime.clock(), token="v", lease_us=10**7)
    await cancel_release(world.runtime, steward=world.steward, release_id=claimed_only)
    async with world.runtime.database.write() as connection:
        assert await releases.begin_reading(connection, claimed_only, "v", now_us=1, duration_us=1) is None
    stranger = await world.person("steward", "stranger")
    with pytest.raises(NotFound):
        await cancel_release(world.runtime, steward=stranger.who, release_id=reading)


async def test_cancelling_and_drawing_at_once_ends_in_exactly_one_of_the_two(world: World):
    dataset = await world.dataset()
    for _ in range(4):
        pending = await world.request(dataset, samples=2)
        cancelled, _ = await asyncio.gather(
            cancel_release(world.runtime, steward=world.steward, release_id=pending.id),
            run_next_release(world.runtime),
            return_exceptions=True,
        )
        await world.work()
        found = await world.release(pending.id)
        settled = [entry.kind for entry in await world.entries(dataset) if entry.release == pending.id]
        if isinstance(cancelled, BaseException):
            assert isinstance(cancelled, Conflict)
            assert (found.status, settled) == ("published", ["reserve", "commit"])
        else:
            assert (found.status, settled) == ("withdrawn", ["reserve", "void"])
    assert await world.verified()


@POSTGRES_DEEP
async def test_rows_checked_against_a_schema_that_changed_meanwhile_are_not_kept(world: World):
    dataset = await declared(world)

    async def slow() -> Any:
        yield rows()
        await change(world, dataset, columns=WIDER)

    with pytest.raises(Conflict):
        await upload_data(world.runtime, steward=world.steward, dataset_id=dataset, chunks=slow())
    assert upload_files(world.runtime) == []
