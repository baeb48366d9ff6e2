"""Synthetic rows over HTTP: who gets which, in what form, and what is refused."""

import csv
import io
import json

import httpx
import numpy as np
import pyarrow.parquet
import pytest

from app.core.kinds import parse_model
from app.core.schema import parse_columns
from app.services.reading.read_card import read_card
from app.services.reading.synthetic_rows import ROWS_MAX, WARNING, WORK_MAX, rows_most
from tests.conftest import POSTGRES_DEEP
from tests.services.test_releases_by_groups import BY_ARM, trial_dataset
from tests.services.world import COLUMNS, MODEL, Person, World, over_http
from tests.services.world import rows as some_rows

COOL = {"kind": "baps", "samples": 6, "temperature": 0.01}
NOISY = {"kind": "laplace", "samples": 20, "epsilon": 2.0}
EXPONENTIAL = {"family": "exponential", "column": "days"}


async def made(client: httpx.AsyncClient, person: Person, release: str, query: str, **headers: str) -> httpx.Response:
    sent = person.headers | {"Accept-Encoding": "identity"} | {k.replace("_", "-"): v for k, v in headers.items()}
    return await client.get(f"/v1/releases/{release}/synthetic?{query}", headers=sent)


def read_csv(answer: httpx.Response) -> list[dict[str, str]]:
    assert answer.status_code == 200, answer.text
    return [*csv.DictReader(io.StringIO(answer.text))]


@pytest.mark.slow
@POSTGRES_DEEP
async def test_rows_by_groups_come_in_their_groups_shares_and_the_same_for_the_same_seed(world: World):
    dataset = await trial_dataset(world)
    release = await world.published(dataset, **BY_ARM, mechanism=NOISY)
    async with over_http(world.runtime) as client:
        whole = await made(client, world.boss, release, "rows=4000&seed=7")
        rows = read_csv(whole)
        assert [*rows[0]] == ["arm", "cured"]
        assert len(rows) == 4_000
        assert {row["arm"] for row in rows} == {"drug", "placebo"}
        for arm, rate in (("drug", 0.75), ("placebo", 0.25)):
            cured = [row["cured"] == "true" for row in rows if row["arm"] == arm]
            assert np.mean(cured) == pytest.approx(rate, abs=0.12)
        headers = whole.headers
        assert (headers["postern-view"], headers["postern-warning"]) == ("calibrated", WARNING)
        assert headers["content-disposition"] == f'attachment; filename="{release}-20-synthetic-4000-7.csv"'
        again = await made(client, world.boss, release, "rows=4000&seed=7")
        assert (again.content, again.headers["etag"]) == (whole.content, headers["etag"])
        known = await made(client, world.boss, release, "rows=4000&seed=7", If_None_Match=headers["etag"])
        assert (known.status_code, known.content) == (304, b"")
        few = await made(client, world.boss, release, "rows=10&seed=7")
        assert whole.content.startswith(few.content)
        other = await made(client, world.boss, release, "rows=4000&seed=8")
        assert (other.content == whole.content, other.headers["etag"] == headers["etag"]) == (False, False)
        packed = await made(client, world.boss, release, "rows=10&seed=7", Accept="application/vnd.apache.parquet")
        table = pyarrow.parquet.read_table(io.BytesIO(packed.content))
        told = json.loads(table.schema.metadata[b"postern_synthetic"])
        assert (told["warning"], told["view"], told["samples"], told["seed"]) == (WARNING, "calibrated", 20, 7)
        texts = [{"arm": row["arm"], "cured": str(row["cured"]).lower()} for row in table.to_pylist()]
        assert texts == read_csv(few)
    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    assert "no more accurate" in next(line["text"] for line in card["lines"] if line["name"] == "synthetic")


@pytest.mark.slow
@POSTGRES_DEEP
async def test_rows_come_from_the_readers_samples_where_there_is_no_other_view_and_refusals_say_why(world: World):
    dataset = await world.dataset(data=some_rows(people=20))
    release = await world.published(dataset, model=EXPONENTIAL, mechanism=COOL)
    analyst, stranger = await world.buyer(dataset, release, 2), await world.person("analyst")
    async with over_http(world.runtime) as client:
        own, whole = [await made(client, person, release, "rows=50") for person in (analyst, world.boss)]
        for answer, held in ((own, 2), (whole, 6)):
            assert answer.headers["postern-view"] == "samples"
            assert f"{release}-{held}-synthetic-50-0.csv" in answer.headers["content-disposition"]
            assert all(0 <= float(row["days"]) <= 365 for row in read_csv(answer))
        assert own.content != whole.content
        refused: list[tuple[Person, str, str]] = [
            (world.boss, "rows=0", "invalid_request"),
            (world.boss, f"rows={ROWS_MAX + 1}", "invalid_request"),
            (world.boss, "rows=many", "invalid_request"),
            (world.boss, "seed=-1", "invalid_request"),
            (world.boss, "format=json", "invalid_request"),
            (stranger, "rows=5", "not_found"),
        ]
        for person, query, code in refused:
            problem = await made(client, person, release, query)
            assert (problem.status_code < 500, problem.json()["code"]) == (True, code), query
        odd = await made(client, world.boss, release, "rows=5", Accept="image/png")
        assert (odd.status_code, odd.json()["code"]) == (406, "not_acceptable")


def test_large_models_make_fewer_rows_and_say_how_many():
    columns = parse_columns({"ward": {"type": "categorical", "levels": [str(level) for level in range(1_000)]}})
    assert rows_most(parse_model({"family": "network", "nodes": {"ward": {}}}, columns)) == WORK_MAX // 1_000
    assert rows_most(parse_model(MODEL, parse_columns(COLUMNS))) == ROWS_MAX
