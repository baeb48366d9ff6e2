"""Long layout: the same numbers as the wide one, with the group's columns as columns, in every format."""

import csv
import io
import json
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from app.core.decisions import SampleSet
from app.core.parameters import Parameter, in_group
from app.services.reading.exports import LONG_FORMATS
from app.services.reading.exports.draws import Draws
from app.services.reading.exports.table import Table, TableColumn
from app.services.reading.long_tables import long_samples, long_table
from tests.api.reading_place import Place
from tests.conftest import POSTGRES_DEEP
from tests.services.test_releases_by_groups import BY_ARM, trial_dataset
from tests.services.world import World, over_http

NOISY = {"kind": "laplace", "samples": 12, "epsilon": 2.0}
HEAD = {"release": "rel_x", "view": "samples", "samples": 2, "points": None}
Rows = list[list[Any]]


def read_back(name: str, body: bytes) -> tuple[list[str], Rows]:
    """(columns, rows) of any format; in CSV numbers are told from texts by trying."""
    if name == "json":
        found = json.loads(body)
        return found["columns"], found["rows"]
    if name == "csv":
        first, *lines = csv.reader(io.StringIO(body.decode().partition("\n")[2]))
        return first, [[_cell(text) for text in line] for line in lines]
    table = pa.ipc.open_file(body).read_all() if name == "arrow" else pyarrow.parquet.read_table(io.BytesIO(body))
    assert b"postern_receipt" in table.schema.metadata
    return table.column_names, [list(row.values()) for row in table.to_pylist()]


def _cell(text: str) -> Any:
    try:
        return None if not text else float(text)
    except ValueError:
        return text


@pytest.mark.slow
@POSTGRES_DEEP
async def test_long_tables_have_the_numbers_of_the_wide_ones_and_the_groups_as_columns(world: World):
    release = await world.published(await trial_dataset(world), **BY_ARM, mechanism=NOISY)
    async with over_http(world.runtime) as client:
        place = Place(world, client, release)

        async def table(path: str) -> tuple[list[str], Rows]:
            answer = await place.get(world.boss, f"{path}&layout=long&format=json")
            assert answer.status_code == 200, answer.text
            return read_back("json", answer.content)

        wide = await place.read(world.boss, "samples")
        expected = [
            [group["arm"], "theta", draw, values[place]]
            for place, group in enumerate(wide["groups"]) for draw, values in enumerate(wide["values"])
        ]  # fmt: skip
        for name in LONG_FORMATS:
            answer = await place.get(world.boss, f"samples?layout=long&format={name}")
            columns, rows = read_back(name, answer.content)
            assert (columns, rows) == (["arm", "parameter", "draw", "value"], expected), name
            assert f"{release}-12-samples-long." in answer.headers["content-disposition"]
            known = await place.get(
                world.boss, f"samples?layout=long&format={name}", If_None_Match=answer.headers["etag"]
            )
            assert known.status_code == 304

        columns, rows = await table("summary?level=0.5")
        assert columns[:4] == ["arm", "parameter", "lower", "upper"]
        for row, shown in zip(rows, (await place.read(world.boss, "summary?level=0.5"))["rows"], strict=True):
            found = dict(zip(columns, row, strict=True))
            assert (found["arm"], found["mean"], found["sd"]) == (shown["group"]["arm"], shown["mean"], shown["sd"])
            assert [found["q0.25"], found["hdi_upper"]] == [shown["quantiles"]["0.25"], shown["hdi"][1]]
            assert found["warnings"].split() == [each["code"] for each in shown["warnings"]]
        columns, rows = await table("density?bins=5&parameter=theta[arm=placebo]&parameter=theta[arm=drug]")
        assert columns == ["arm", "parameter", "lower", "upper", "count", "density"]
        shown = await place.read(world.boss, "density?bins=5&parameter=theta[arm=drug]")
        assert [row[4] for row in rows[5:]] == shown["counts"]
        assert [row[0] for row in rows] == ["placebo"] * 5 + ["drug"] * 5
        columns, _ = await table("density?bins=5&kind=density")
        assert columns[2:] == ["x", "y"]
        await refusals(place)


async def refusals(place: Place) -> None:
    for path, field in (
        ("samples?layout=long&format=netcdf", "format"), ("summary?format=csv", "format"),
        ("density?format=parquet&parameter=theta[arm=drug]", "format"), ("summary?layout=long&cursor=abc", "cursor"),
        ("samples?layout=tall", "query.layout"), ("samples?layout=long&parameter=phi", "parameter"),
    ):  # fmt: skip
        refused: httpx.Response = await place.get(place.world.boss, path)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field), path


@pytest.mark.parametrize("name", LONG_FORMATS)
def test_what_is_missing_is_missing_in_every_format_and_texts_come_back_as_they_are(name: str):
    texts = ("a,b", 'say "so"', "é\n")
    table = Table((TableColumn("t", np.array([2, 0, 1]), texts), TableColumn("x", np.array([0.1, np.nan, 1e300]))))
    file = io.BytesIO()
    LONG_FORMATS[name].write(table, HEAD, file)
    assert read_back(name, file.getvalue()) == (["t", "x"], [["é\n", 0.1], ["a,b", None], ['say "so"', 1e300]])


def test_a_column_that_is_called_like_ours_keeps_its_name():
    groups = [(("value", level), ("parameter", "p")) for level in ("a", "b")]
    parameters = [in_group(Parameter("theta", 0.0, 1.0), group) for group in groups]
    draws = Draws(SampleSet(parameters, np.array([[0.1, 0.2]])))
    asked: Any = long_samples(draws)
    table = long_table(draws, asked.rows, *asked.figures(None, draws))
    assert table.names == ["value", "parameter", "parameter_", "draw", "value_"]
