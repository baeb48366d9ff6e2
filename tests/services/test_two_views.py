"""The two views of a release: which there are, what each answers with, and what a reader of a prefix sees of them."""

import asyncio
import json
from typing import Any

import httpx
import numpy as np
import pytest

from app.core.kinds.belief import POINTS
from app.core.kinds.networks.mechanisms import NetworkBaps
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.errors import CalibratedUnavailable
from app.services.reading import published_release, read_card
from app.services.reading.published_release import belief_seed, open_release
from app.services.releases import release_views
from app.services.releases.release_views import NOT_KEPT
from app.services.releases.stored_release import stored_model
from app.storage import datasets
from tests.conftest import POSTGRES_DEEP
from tests.services.test_every_kind import LINEAR, hospital
from tests.services.world import Person, World, over_http, rows, services

pytestmark = POSTGRES_DEEP

THETA = {"kind": "parameter", "name": "theta"}
INTERVAL = {"estimand": THETA, "utility": {"kind": "interval", "level": 0.9}}
MEAN = {"estimand": THETA, "utility": {"kind": "squared"}}
ACTIONS = {"kind": "actions", "actions": {"treat": "theta", "wait": "1 - theta"}, "range": [0, 1]}
CALIBRATED = {"view": "calibrated"}


async def ask(client: httpx.AsyncClient, person: Person, release: str, question: dict[str, Any]) -> dict[str, Any]:
    answer = await client.post(f"/v1/releases/{release}/query", json=question, headers=person.headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def codes(answer: dict[str, Any]) -> set[str]:
    return {warning["code"] for warning in answer["warnings"]}


async def test_samples_are_the_default_and_every_answer_names_its_view(world: World):
    release = await world.published(await world.dataset(), samples=20)
    async with over_http(world.runtime) as client:
        plain = await ask(client, world.boss, release, INTERVAL)
        assert plain == await ask(client, world.boss, release, INTERVAL | {"view": "samples"})
        assert (plain["view"], plain["samples"], plain["points"]) == ("samples", 20, None)
        assert plain["coverage"] == pytest.approx(18 / 21, abs=1e-5)
        belief = await ask(client, world.boss, release, INTERVAL | CALIBRATED)
        assert (belief["view"], belief["samples"], belief["points"]) == ("calibrated", 20, POINTS)
        assert 0.899 < belief["coverage"] <= 0.9
        assert f"{POINTS} points stand for the calibrated posterior" in belief["regret"]["method"]
        assert belief["regret"]["bound"] < plain["regret"]["bound"]
        checked = await client.post(
            f"/v1/releases/{release}/query?dry_run=true", json=INTERVAL | CALIBRATED, headers=world.boss.headers
        )
        told = checked.json()
        assert (told["view"], told["points"]) == ("calibrated", POINTS)
        assert told["range"] == pytest.approx([0.0, 1.0], abs=1e-9)
        assert told["regret"] == belief["regret"]


async def test_one_sample_is_never_reported_as_certain(world: World):
    release = await world.published(await world.dataset(), samples=1)
    async with over_http(world.runtime) as client:
        one = await ask(client, world.boss, release, INTERVAL)
        assert one["response"][0] == one["response"][1]
        assert one["coverage"] == 0
        assert codes(one) == {"too_few_samples"}
        assert "too_few_samples" in codes(await ask(client, world.boss, release, MEAN))
        belief = await ask(client, world.boss, release, INTERVAL | CALIBRATED)
        assert belief["response"][1] - belief["response"][0] > 0.05
        assert codes(belief) == set()


async def test_below_temperature_one_nothing_is_said_about_coverage_but_that(world: World):
    mechanism = {"kind": "baps", "samples": 30, "temperature": 0.02}
    release = await world.published(await world.dataset(), mechanism=mechanism)
    async with over_http(world.runtime) as client:
        cool = await ask(client, world.boss, release, INTERVAL)
        assert (cool["coverage"], codes(cool)) == (None, {"temperature"})
        belief = await ask(client, world.boss, release, INTERVAL | CALIBRATED)
        assert codes(belief) == set()
        assert np.ptp(belief["response"]) < np.ptp(cool["response"]) / 2


async def test_a_rate_below_the_trim_is_said_to_be_at_the_edge_and_believed_beyond_it(world: World):
    release = await world.published(await world.dataset(data=rows(929, 27)), samples=40)
    async with over_http(world.runtime) as client:
        for question in (INTERVAL, MEAN, {"utility": ACTIONS}):
            found = await ask(client, world.boss, release, question)
            assert codes(found) == {"at_public_edge"}
            assert "lower end of the public range of theta, 0.05" in found["warnings"][0]["detail"]
        belief = await ask(client, world.boss, release, INTERVAL | CALIBRATED)
        assert belief["response"][0] < 0.03
        assert codes(belief) == set()
        path = f"/v1/releases/{release}"
        summary = (await client.get(f"{path}/summary", headers=world.boss.headers)).json()
        assert codes(summary["rows"][0]) == {"at_public_edge"}
        assert summary["rows"][0]["coverage"] == pytest.approx(36 / 41, abs=1e-5)
        believed = (await client.get(f"{path}/summary?view=calibrated", headers=world.boss.headers)).json()
        assert (believed["view"], believed["points"], believed["samples"]) == ("calibrated", POINTS, 40)
        assert believed["rows"][0]["lower"] < 1e-9
        odds = {
            "estimand": {"kind": "expression", "expression": "theta / (1 - theta)"},
            "utility": {"kind": "absolute"},
        }
        assert 0.01 < (await ask(client, world.boss, release, odds | CALIBRATED))["response"] < 0.06


async def test_files_and_receipts_name_the_view(world: World):
    release = await world.published(await world.dataset(), samples=12)
    async with over_http(world.runtime) as client:
        for path in ("summary", "density", "density?kind=density", "samples"):
            for view, points in (("samples", None), ("calibrated", POINTS)):
                query = f"{'&' if '?' in path else '?'}view={view}"
                found = (await client.get(f"/v1/releases/{release}/{path}{query}", headers=world.boss.headers)).json()
                told = {"view": view, "samples": 12, "points": points}
                assert told.items() <= found.items()
                assert told.items() <= found["receipt"].items()
        file = await client.get(
            f"/v1/releases/{release}/samples?view=calibrated&format=csv", headers=world.boss.headers
        )
        assert len(file.text.splitlines()) == POINTS + 2
        assert f'filename="{release}-12-calibrated.csv"' in file.headers["content-disposition"]


async def test_a_view_that_is_not_there_is_refused_with_the_reason(world: World):
    mechanism = {"kind": "baps", "samples": 4, "temperature": 0.01}
    release = await world.published(await hospital(world), model=LINEAR, mechanism=mechanism)
    path = f"/v1/releases/{release}"
    name = (await open_release(world.runtime, world.steward, release)).public.parameters[0].name
    mean = MEAN | {"estimand": {"kind": "parameter", "name": name}}
    async with over_http(world.runtime) as client:
        assert (await client.get(path, headers=world.boss.headers)).json()["views"] == ["samples"]
        refused = await client.post(f"{path}/query", json=mean | CALIBRATED, headers=world.boss.headers)
        assert (refused.status_code, refused.json()["code"]) == (409, "calibrated_unavailable")
        assert "perturbed_statistics has" in refused.json()["detail"]
        for reading in ("summary", "density", "samples", "samples?format=csv"):
            query = f"{'&' if '?' in reading else '?'}view=calibrated&parameter={name}"
            got = await client.get(f"{path}/{reading}{query}", headers=world.boss.headers)
            assert (got.status_code, got.json()["code"]) == (409, "calibrated_unavailable")
        made = await client.get(f"{path}/synthetic", headers=world.boss.headers)
        assert (made.status_code, made.text.partition(",")[0]) == (200, '"age"')
        for query in ("", "?dry_run=true"):
            batch = {"queries": [mean | CALIBRATED, mean]}
            both = (await client.post(f"{path}/queries{query}", json=batch, headers=world.boss.headers)).json()[
                "answers"
            ]
            assert both[0]["problem"]["code"] == "calibrated_unavailable"
            assert both[1]["view"] == "samples"
            assert query or "model_unchecked" in codes(both[1])
        wrong = await client.post(f"{path}/query", json=mean | {"view": "best"}, headers=world.boss.headers)
        assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "view")


async def test_what_was_measured_is_what_a_belief_of_noise_needs(world: World, monkeypatch: pytest.MonkeyPatch):
    """A release made before it was kept has no calibrated view; one that measures has one, whatever the prefix."""
    dataset = await world.dataset()
    release = await world.published(dataset, mechanism={"kind": "laplace", "epsilon": 1.0, "samples": 30})
    wall = await world.person("dashboard", "wall")
    await world.cap(dataset, wall, samples=2)
    async with over_http(world.runtime) as client:
        few, all_of_them = [await ask(client, who, release, INTERVAL | CALIBRATED) for who in (wall, world.boss)]
        assert few == all_of_them | {"samples": 2}
        card = await read_card(world.runtime, principal=world.steward, release_id=release)
        assert next(line for line in card["lines"] if line["name"] == "views")["value"] == ["samples", "calibrated"]

        async def nothing(*_: Any) -> bool:
            return False

        monkeypatch.setattr(release_views.sample_sets, "has_measured", nothing)
        world.runtime.warm.clear()
        refused = await client.post(
            f"/v1/releases/{release}/query", json=INTERVAL | CALIBRATED, headers=world.boss.headers
        )
        assert (refused.status_code, refused.json()["detail"]) == (409, NOT_KEPT)
        assert (await client.get("/v1/releases", headers=world.boss.headers)).json()["items"][0]["views"] == ["samples"]


async def test_views_are_known_before_a_release_is_published(world: World):
    dataset = await world.dataset()
    for mechanism in ({"kind": "baps", "samples": 3}, {"kind": "laplace", "epsilon": 1.0, "samples": 3}):
        assert (await world.request(dataset, mechanism=mechanism)).views == ["samples", "calibrated"]
    pending = await world.release((await world.request(dataset)).id)
    async with world.runtime.database.read() as connection:
        stored = await datasets.get_dataset(connection, dataset)
    assert stored is not None
    with pytest.raises(CalibratedUnavailable):
        release_views.calibrated_parameters(pending, stored_model(pending, stored), kept=False)


async def test_a_belief_is_computed_once_for_all_who_ask_at_once(world: World, monkeypatch: pytest.MonkeyPatch):
    release = await world.published(await world.dataset(), samples=15)
    believe, times = published_release._believe, []

    def counted(*arguments: Any) -> Any:
        times.append(1)
        return believe(*arguments)

    monkeypatch.setattr(published_release, "_believe", counted)
    opened = await asyncio.gather(
        *(open_release(world.runtime, world.steward, release, "calibrated") for _ in range(8))
    )
    assert len(times) == 1
    assert len({id(each) for each in opened}) == 1
    before = world.runtime.warm.releases._size
    assert before >= sum(each.samples.bytes_max for each in {id(each): each for each in opened}.values())


async def test_two_processes_give_the_same_bytes(world: World):
    """Two sets of services on one database, each with nothing at hand."""
    release = await world.published(await world.dataset(), samples=15)
    questions = [json.dumps(question | CALIBRATED).encode() for question in (MEAN, INTERVAL)]
    seen = []
    for _ in range(2):
        async with services(world.runtime.settings) as runtime, over_http(runtime) as client:
            headers = world.boss.headers | {"Content-Type": "application/json"}
            sent = [await client.post(f"/v1/releases/{release}/query", content=q, headers=headers) for q in questions]
            files = [
                await client.get(f"/v1/releases/{release}/{path}view=calibrated", headers=headers)
                for path in ("samples?format=csv&", "samples?", "summary?", "density?")
            ]
            assert {answer.status_code for answer in sent + files} == {200}
            seen.append([(answer.content, answer.headers.get("etag")) for answer in sent + files])
    assert seen[0] == seen[1]


async def test_a_prefix_reader_believes_what_its_own_samples_say(world: World):
    """To the last bit what the mechanism believes of the first k samples, by a seed of public names."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=40)
    reader = await world.buyer(dataset, release, 7)
    drawn = (await open_release(world.runtime, world.steward, release)).samples.matrix
    opened = await open_release(world.runtime, reader.reader, release, "calibrated")
    stored = await world.release(release)
    evidence = published_release.Evidence(np.ascontiguousarray(drawn[:7]), None, belief_seed(release, 7))
    belief = Baps(40, 1.0).belief(opened.public.model, stored.n, 1, evidence)
    np.testing.assert_array_equal(opened.samples.matrix, belief.points)
    assert opened.public.evidence == 7


async def test_a_prefix_reader_of_a_network_believes_what_its_own_samples_say(world: World):
    dataset = await hospital(world)
    model = {"family": "network", "nodes": {"sick": {}}, "trim": 0.05}
    mechanism = {"kind": "baps", "samples": 9, "temperature": 0.2}
    release = await world.published(dataset, model=model, mechanism=mechanism)
    reader = await world.buyer(dataset, release, 3)
    drawn = (await open_release(world.runtime, world.steward, release)).samples.matrix
    opened = await open_release(world.runtime, reader.reader, release, "calibrated")
    stored = await world.release(release)
    evidence = published_release.Evidence(np.ascontiguousarray(drawn[:3]), None, belief_seed(release, 3))
    belief = NetworkBaps(9, 0.2).belief(opened.public.model, stored.n, 1, evidence)
    np.testing.assert_array_equal(opened.samples.matrix, belief.points)
    assert opened.public.evidence == 3
    assert opened.public.approximate is not None
