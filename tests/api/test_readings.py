"""Tables, curves and draws over HTTP: who reads them, what they are, how they are cached and what their receipts prove."""

import json
import re
import sys

import httpx
import numpy as np
import pytest

from app.api.negotiation import chosen_format
from app.errors import NotAcceptable
from app.ledger.entry import Entry
from app.ledger.export import read_header, read_lines
from app.services.ledger.export_ledger import export_ledger
from app.services.reading.exports import FORMATS
from app.services.reading.read_card import card_digest
from tests.api.conftest import Published
from tests.api.reading_place import FREE, Place
from tests.conftest import POSTGRES_DEEP
from tests.services.export_files import READERS, receipt_inside, values_sha256
from tests.services.test_every_kind import NETWORK, hospital
from tests.services.world import QUESTION, World, over_http

pytestmark = pytest.mark.engine_in_turn


async def test_a_summary_is_of_the_readers_own_prefix_and_agrees_with_questions(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=40)
    analyst = await world.buyer(dataset, release, 11)
    stored = np.frombuffer(await world.samples(release) or b"")
    async with over_http(world.runtime) as client:
        place = Place(world, client, release)
        for person, held in ((analyst, 11), (world.boss, 40)):
            table = await place.read(person, "summary?level=0.5")
            (row,) = table["rows"]
            assert (table["samples"], table["level"], table["next_cursor"]) == (held, 0.5, None)
            assert row["mcse_mean"] == pytest.approx(stored[:held].std(ddof=1) / held**0.5)
            assert [row["lower"], row["upper"]] == [0.05, 0.95]
            body = json.loads(QUESTION)
            asked = {
                "mean": {"kind": "squared"},
                "median": {"kind": "absolute"},
                "ends": {"kind": "interval", "level": 0.5},
            }
            for name, utility in asked.items():
                question = json.dumps(body | {"utility": utility}).encode()
                headers = person.headers | {"Content-Type": "application/json"}
                answer = await client.post(f"/v1/releases/{release}/query", content=question, headers=headers)
                shown = [row["quantiles"][tau] for tau in ("0.25", "0.75")] if name == "ends" else row[name]
                assert answer.json()["response"] == shown


@pytest.mark.slow
@POSTGRES_DEEP
async def test_pages_add_up_to_the_whole_table_and_links_keep_what_was_asked(world: World):
    release = await world.published(await hospital(world, people=100), model=NETWORK, mechanism=FREE)
    async with over_http(world.runtime) as client:
        place = Place(world, client, release)
        whole = await place.read(world.boss, "summary")
        names = [row["parameter"] for row in whole["rows"]]
        assert len(names) == 2 + 4 + 6
        assert whole["receipt"]["parameters"] == names
        chosen = names[5:1:-1]
        first = await place.get(
            world.boss, "summary?limit=3&level=0.9&" + httpx.QueryParams({"parameter": chosen}).__str__()
        )
        assert first.json()["receipt"]["parameters"] == chosen[:3]
        address = first.headers["link"].partition(">")[0][1:]
        second = await client.get(address, headers=world.boss.headers)
        rows = [*first.json()["rows"], *second.json()["rows"]]
        assert rows == [whole["rows"][names.index(name)] for name in chosen]
        assert second.json()["next_cursor"] is None
        assert "link" not in second.headers


@pytest.mark.parametrize(
    ("path", "status", "code", "field"),
    [
        ("summary?parameter=nobody", 422, "invalid_request", "parameter"),
        ("summary?parameter=theta&parameter=theta", 422, "invalid_request", "parameter"),
        ("summary?level=1", 422, "invalid_request", "query.level"),
        ("summary?level=nan", 422, "invalid_request", "query.level"),
        ("summary?limit=0", 422, "invalid_request", "query.limit"),
        ("summary?cursor=abc", 422, "invalid_request", "cursor"),
        ("summary?cursor=NTpwYXJhbWV0ZXI", 422, "invalid_request", "cursor"),
        ("density?bins=0", 422, "invalid_request", "query.bins"),
        ("density?bins=1001", 422, "invalid_request", "query.bins"),
        ("density?kind=violin", 422, "invalid_request", "query.kind"),
        ("density?parameter=nobody", 422, "invalid_request", "parameter"),
        ("density?parameter=a&parameter=b&parameter=c", 422, "invalid_request", "parameter"),
        ("samples?format=xlsx", 422, "invalid_request", "format"),
        ("samples?parameter=", 422, "invalid_request", "parameter"),
    ],
)
async def test_what_cannot_be_read_names_its_field(place: Place, path: str, status: int, code: str, field: str):
    answer = await place.get(place.world.boss, path)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code)
    assert problem["errors"][0]["field"] == field
    assert problem["errors"][0]["expected"]


@pytest.fixture
def place(published: Published) -> Place:
    return Place(published.world, published.service.client, published.release)


@pytest.mark.slow
async def test_readers_read_what_they_hold_and_nobody_else_reads_anything(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=9)
    analyst, wall = await world.buyer(dataset, release, 4), await world.person("dashboard")
    await world.cap(dataset, wall, samples=6)
    unpaid, stranger, auditor = [await world.person(role) for role in ("analyst", "analyst", "auditor")]
    await world.cap(dataset, unpaid)
    async with over_http(world.runtime) as client:
        place = Place(world, client, release)
        for path in ("summary", "density", "samples"):
            held = [(await place.read(person, path))["samples"] for person in (world.boss, analyst, wall)]
            assert held == [9, 4, 6]
            refused = [await place.get(person, path) for person in (unpaid, stranger, auditor)]
            assert [answer.json()["code"] for answer in refused] == ["access_required", "not_found", "forbidden"]
            assert (await client.get(f"/v1/releases/{release}/{path}")).status_code == 401


@pytest.mark.slow
async def test_a_receipt_proves_values_card_and_charge_and_catches_a_change_of_each(world: World):
    dataset = await hospital(world, people=100)
    release = await world.published(dataset, model=NETWORK, mechanism=FREE)
    analyst = await world.buyer(dataset, release, 25)
    ledger = b"".join([chunk async for chunk in export_ledger(world.runtime)]).splitlines(keepends=True)
    ledger_id = read_header(ledger[0]).ledger
    lines = {line.sequence: line for line in read_lines(iter(ledger[1:])) if isinstance(line, Entry)}
    async with over_http(world.runtime) as client:
        place = Place(world, client, release)
        card = await place.read(analyst, "card")
        for name in FORMATS:
            body = (await place.get(analyst, f"samples?format={name}")).content
            receipt, (names, values) = receipt_inside(name, body), READERS[name][0](body)
            assert (receipt["version"], receipt["release"], receipt["dataset"]) == (2, release, dataset)
            assert (receipt["view"], receipt["points"]) == ("samples", None)
            assert (receipt["samples"], receipt["parameters"]) == (25, names)
            assert receipt["values_sha256"] == values_sha256(values)
            assert receipt["card_sha256"] == card["digest"] == card_digest(card)
            line = lines[receipt["ledger"]["sequence"]]
            assert (line.kind, line.release) == ("commit", release)
            assert receipt["ledger"] == {"id": ledger_id, "sequence": line.sequence, "digest": line.digest.hex()}
            values[24, 3] = np.nextafter(values[24, 3], 1)
            assert receipt["values_sha256"] != values_sha256(values)
        for figure in ("epsilon", "delta", "n", "samples", "release", "pure_epsilon"):
            assert card_digest(card | {figure: "changed"}) != card["digest"]
        assert card_digest(card | {"lines": [], "status": "withdrawn", "vacuous": True}) == card["digest"]


@pytest.mark.parametrize(("name", "library"), [("arrow", "pyarrow"), ("parquet", "pyarrow"), ("netcdf", "h5py")])
async def test_a_format_whose_library_is_missing_says_what_to_install(
    place: Place, monkeypatch: pytest.MonkeyPatch, name: str, library: str
):
    monkeypatch.setitem(sys.modules, library, None)
    answer = await place.get(place.world.boss, f"samples?format={name}")
    assert (answer.status_code, answer.json()["code"]) == (406, "not_acceptable")
    assert re.search(rf"its operator can add .*\b{library}\b.*extra exports", answer.json()["detail"])
    assert answer.json()["errors"][0]["field"] == "format"
    assert (await place.get(place.world.boss, "samples?format=csv")).status_code == 200


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "json"),
        ("*/*", "json"),
        ("text/html, */*;q=0.1", "json"),
        ("text/csv", "csv"),
        ("text/*", "csv"),
        ("application/json;q=0.4, text/csv;q=0.5", "csv"),
        ("application/vnd.apache.parquet, application/json;q=0.9", "parquet"),
        ("application/vnd.apache.arrow.file", "arrow"),
        ("application/x-netcdf;q=1", "netcdf"),
        ("application/*", "json"),
        ("application/json;q=0, */*", "csv"),
        ("text/html", None),
        ("application/json;q=0", None),
        ("text/csv;q=often", None),
    ],
)
def test_the_format_is_what_accept_likes_best(accept: str | None, expected: str | None):
    if expected is None:
        with pytest.raises(NotAcceptable):
            chosen_format(None, accept)
    else:
        assert chosen_format(None, accept) == expected
    assert chosen_format("parquet", accept) == "parquet"


@pytest.mark.slow
@POSTGRES_DEEP
async def test_files_have_a_name_a_type_and_only_chosen_parameters(world: World):
    release = await world.published(await hospital(world, people=100), model=NETWORK, mechanism=FREE)
    async with over_http(world.runtime) as client:
        place = Place(world, client, release)
        for name, each in FORMATS.items():
            answer = await place.get(
                world.boss, "samples?parameter=test%3Dtrue%7Csick%3Dfalse&parameter=sick%3Dtrue", Accept=each.media_type
            )
            assert answer.headers["content-type"] == each.media_type
            shown = f'attachment; filename="{release}-300.{each.suffix}"'
            assert answer.headers["content-disposition"] == shown
            names, values = READERS[name][0](answer.content)
            assert names == ["test=true|sick=false", "sick=true"]
            assert values.shape == (300, 2)
        refused = await place.get(world.boss, "samples", Accept="image/png")
        assert (refused.status_code, refused.json()["code"]) == (406, "not_acceptable")


@pytest.mark.slow
@POSTGRES_DEEP
async def test_two_parameters_have_a_joint_histogram_that_adds_up(world: World):
    release = await world.published(await hospital(world, people=100), model=NETWORK, mechanism=FREE)
    async with over_http(world.runtime) as client:
        place = Place(world, client, release)
        pair = "parameter=sick%3Dtrue&parameter=test%3Dtrue%7Csick%3Dtrue"
        joint = await place.read(world.boss, f"density?bins=8&{pair}")
        alone = await place.read(world.boss, "density?bins=8&parameter=sick%3Dtrue")
        assert np.array(joint["counts"]).shape == (8, 8)
        assert np.array(joint["counts"]).sum(axis=1).tolist() == alone["counts"]
        assert joint["edges"][0] == alone["edges"]
        assert [each["name"] for each in joint["parameters"]] == ["sick=true", "test=true|sick=true"]
        for path, field in (("kind=density", "kind"), ("bins=101", "bins")):
            refused = await place.get(world.boss, f"density?{path}&{pair}")
            assert refused.json()["errors"][0]["field"] == field
        assert (await place.get(world.boss, "density")).status_code == 422
