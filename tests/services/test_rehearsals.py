"""A rehearsal does what a dataset of real rows does, is marked wherever it shows, and neither ever becomes the other."""

import json
from typing import Any

import pytest

from app.core.kinds import parse_model
from app.core.schema import parse_columns
from app.errors import Conflict, InvalidInput, InvalidSchema
from app.services.datasets import change_dataset, check_data, create_dataset, delete_dataset, read_dataset
from app.services.datasets.dataset_sources import dataset_source
from app.services.reading.answer_query import answer_query
from app.services.reading.read_card import read_card
from app.services.releases import read_release
from app.services.views import DatasetView, PublicDatasetView
from app.storage import datasets
from tests.conftest import POSTGRES_DEEP
from tests.services.world import COLUMNS, MODEL, QUESTION, World, chunks_of, rows, upload_files

pytestmark = POSTGRES_DEEP

WIDE: dict[str, Any] = COLUMNS | {
    "arm": {"type": "categorical", "levels": ['a "b", c', "drug"], "public": True},
    "visits": {"type": "integer", "lower": -3, "upper": 40},
    "admitted": {"type": "date"},
    "long": {"type": "binary", "from": "days >= 30"},
    "year": {"type": "integer", "lower": 1970, "upper": 2040, "from": "year(admitted)"},
}


async def rehearse(world: World, name: str = "rehearsed", **more: Any) -> DatasetView:
    spec = {"name": name, "columns": COLUMNS, "budget": {"epsilon": 20.0, "delta": 1e-6}, "rehearsal": True}
    return await create_dataset(world.runtime, steward=world.steward, spec=spec | more)


async def cured(world: World, dataset: str) -> Any:
    async with world.runtime.database.read() as connection:
        stored = await datasets.get_dataset(connection, dataset)
    assert stored is not None
    model = parse_model(MODEL, parse_columns(stored.columns))
    return dataset_source(world.runtime, stored).statistic(model.statistic, bytes(32))


async def test_a_rehearsal_is_released_bought_and_asked_like_real_rows_and_says_so_everywhere(world: World):
    made = await rehearse(world, n=300)
    assert (made.rehearsal, made.n, made.data) == (True, 300, "ready")
    release = await world.published(made.id)
    ada = await world.buyer(made.id, release, 5)
    assert all("rehearsal" in name for name in (made.id, release))
    answer = json.loads(await answer_query(world.runtime, reader=ada.reader, release_id=release, body=QUESTION))
    assert answer["warnings"][0]["code"] == "rehearsal"
    card = await read_card(world.runtime, principal=ada.who, release_id=release)
    assert card["lines"][0]["name"] == "rehearsal"
    assert (await read_release(world.runtime, principal=ada.who, release_id=release)).rehearsal
    public = await read_dataset(world.runtime, principal=ada.who, dataset_id=made.id)
    assert isinstance(public, PublicDatasetView)
    assert public.rehearsal
    assert "void" not in await world.kinds(made.id)
    assert await world.verified()


async def test_rows_are_the_same_for_the_same_seed_and_fit_the_schema(world: World):
    unit = {"column": "person", "max_rows": 3}
    names = iter("abcdefgh")
    found = [
        await cured(world, (await rehearse(world, next(names), columns=WIDE, privacy_unit=unit, n=200, seed=seed)).id)
        for seed in (7, 7, 8)
    ]
    assert found[0] == found[1] != found[2]
    assert (await rehearse(world, "unsaid")).n == 1_000


async def test_no_call_turns_a_rehearsal_into_real_rows_or_real_rows_into_a_rehearsal(world: World):
    made, real = await rehearse(world), await world.dataset()
    before = upload_files(world.runtime)
    with pytest.raises(Conflict):
        await world.upload(made.id, rows())
    with pytest.raises(Conflict):
        await check_data(world.runtime, steward=world.steward, dataset_id=made.id, chunks=chunks_of(rows()))
    for spec in ({"columns": WIDE}, {"privacy_unit": {"column": "x", "max_rows": 2}}):
        with pytest.raises(Conflict):
            await change_dataset(world.runtime, steward=world.steward, dataset_id=made.id, spec=spec)
    assert upload_files(world.runtime) == before
    found = await read_dataset(world.runtime, principal=world.steward, dataset_id=real)
    assert isinstance(found, DatasetView)
    assert not found.rehearsal
    await delete_dataset(world.runtime, steward=world.steward, dataset_id=made.id)
    assert len(upload_files(world.runtime)) == 1


async def test_what_only_one_kind_can_have_is_refused_by_name(world: World):
    for field, more in {
        "n": {"n": 10**9},
        "source": {"source": {"kind": "file", "path": "rows.csv"}},
        "seed": {"rehearsal": False, "seed": 7},
    }.items():
        with pytest.raises((InvalidInput, InvalidSchema)) as refused:
            await rehearse(world, **more)
        assert refused.value.problems[0].field.startswith(field)
    assert upload_files(world.runtime) == []
