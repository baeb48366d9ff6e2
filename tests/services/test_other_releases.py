"""Questions that name another release of the dataset: paired samples, rights to both, and what is said about it."""

import json
from typing import Any

import numpy as np
import pytest

from app.core.decisions import SampleSet, answer_question
from app.core.decisions.estimands.other_release import RELEASES_MAX, releases_named
from app.core.kinds import compile_question, parse_model
from app.core.schema import parse_columns
from app.errors import AccessRequired, InvalidQuery, NotFound, PosternError
from app.services.reading.answer_batch import answer_queries
from app.services.reading.answer_query import answer_query, preview_query
from app.services.reading.published_release import open_release
from tests.conftest import POSTGRES_DEEP
from tests.services.world import World

THETA = {"kind": "parameter", "name": "theta"}
FEW, MANY = 6, 9


def drawn(samples: int) -> dict[str, Any]:
    return {"kind": "baps", "samples": samples, "temperature": 0.2}


def against(other: str, **more: Any) -> bytes:
    compared = {"kind": "comparison", "left": THETA, "right": THETA | {"release": other}}
    return json.dumps({"estimand": compared, "utility": {"kind": "squared"}} | more).encode()


async def stored(world: World, release: str) -> Any:
    return np.frombuffer(await world.samples(release) or b"")


async def answered(world: World, reader: Any, release: str, body: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await answer_query(world.runtime, reader=reader, release_id=release, body=body))
    return found


@pytest.mark.slow
@POSTGRES_DEEP
async def test_two_releases_are_compared_pair_by_pair_by_who_may_read_both(world: World):
    dataset = await world.dataset()
    first, second = [await world.published(dataset, mechanism=drawn(samples)) for samples in (FEW, MANY)]
    body = against(second)
    one, other = await stored(world, first), await stored(world, second)
    pairs = 0.5 + 0.5 * np.sign(one - other[:FEW])
    found = await answered(world, world.steward, first, body)
    assert found["response"] == pytest.approx(pairs.mean())
    assert (found["samples"], found["release"], found["coverage"]) == (FEW, first, None)
    assert "independence_assumed" in {warning["code"] for warning in found["warnings"]}
    turned = await answered(world, world.steward, second, against(first))
    assert turned["response"] == pytest.approx(1 - pairs.mean())
    assert turned["samples"] == FEW
    difference = {"kind": "expression", "expression": "theta - b", "names": {"b": THETA | {"release": second}}}
    asked = json.dumps({"estimand": difference, "utility": {"kind": "squared"}}).encode()
    assert (await answered(world, world.steward, first, asked))["response"] == pytest.approx(np.mean(one - other[:FEW]))
    checked = json.loads(await preview_query(world.runtime, reader=world.steward, release_id=first, body=body))
    assert (checked["samples"], checked["regret"]["bound"]) == (FEW, found["regret"]["bound"])

    analyst = await world.buyer(dataset, first, 3)
    for reader, why in ((analyst.reader, AccessRequired), ((await world.person("analyst", "eve")).reader, NotFound)):
        refusals = []
        for release, question in ((first, body), (second, against(first))):
            with pytest.raises(why) as refused:
                await answer_query(world.runtime, reader=reader, release_id=release, body=question)
            refusals.append((refused.value.code, refused.value.detail, refused.value.facts))
        if why is AccessRequired:
            assert refusals[0] == refusals[1]
    wall = await world.person("dashboard")
    seen = {}
    for granted in (5, 4):  # narrowed, and what was remembered is not what is sent
        await world.cap(dataset, wall, samples=granted)
        seen[granted] = await answered(world, wall.reader, first, body)
        assert seen[granted]["samples"] == granted
        assert seen[granted]["response"] == pytest.approx(pairs[:granted].mean())
    await world.cap(dataset, wall, samples=5)
    assert await answered(world, wall.reader, first, body) == seen[5]

    batch = b'{"queries":[' + body + b"," + against("rel_nobody") + b"]}"
    both = json.loads(await answer_queries(world.runtime, reader=world.steward, release_id=first, body=batch))
    assert both["answers"][0] == found
    assert both["answers"][1]["problem"]["code"] == "not_found"


@pytest.mark.slow
@POSTGRES_DEEP
async def test_calibrated_beliefs_are_compared_and_other_datasets_and_places_refused(world: World):
    dataset = await world.dataset()
    first, second = [await world.published(dataset, mechanism=drawn(samples)) for samples in (FEW, MANY)]
    stranger = await world.published(await world.dataset("other"), mechanism=drawn(2))
    found = await answered(world, world.steward, first, against(second, view="calibrated"))
    opened = [await open_release(world.runtime, world.steward, release, "calibrated") for release in (first, second)]
    one, other = (release.samples.matrix[:, 0] for release in opened)
    assert found["response"] == pytest.approx((0.5 + 0.5 * np.sign(one - other)).mean())
    # In which order points stand for a belief is its own release's affair: paired rank by rank they would nearly always agree.
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.2
    assert (found["view"], found["samples"]) == ("calibrated", FEW)
    wrong: list[tuple[bytes, str]] = [
        (against(stranger), "estimand.right.release"),
        (against(first), "estimand.right.release"),
        (against("\0"), "estimand.right.release"),
        (
            json.dumps({"estimand": THETA | {"release": second}, "utility": {"kind": "squared"}}).encode(),
            "estimand.release",
        ),
        (against(second).replace(b'"theta"', b'"phi"'), "estimand.left.name"),
    ]
    for body, field in wrong:
        with pytest.raises(PosternError) as refused:
            await answer_query(world.runtime, reader=world.steward, release_id=first, body=body)
        assert isinstance(refused.value, InvalidQuery)
        assert refused.value.problems[0].field == field


def test_a_group_of_one_release_is_compared_with_another_release():
    columns = parse_columns({"cured": {"type": "binary"}, "arm": {"type": "binary", "public": True}})
    plain = parse_model({"family": "bernoulli", "column": "cured"}, columns)
    grouped = parse_model(plain.as_json() | {"groups": {"by": ["arm"], "strata": [5, 5]}}, columns)
    values = np.array([[0.2, 0.6], [0.3, 0.7], [0.4, 0.8]])
    samples = SampleSet(grouped.parameters, values).paired(
        {("rel_b", None): SampleSet(plain.parameters, values[:2, :1] + 0.25)}
    )
    inside = {"kind": "comparison", "left": THETA, "right": THETA | {"release": "rel_b"}}
    for arm, share in (("false", 0.0), ("true", 1.0)):
        estimand = {"kind": "group", "group": {"arm": arm}, "estimand": inside}
        body = {"estimand": estimand, "utility": {"kind": "squared"}}
        question = compile_question(body, grouped.parameters, grouped, {("rel_b", None): (plain.parameters, plain)})
        answer = answer_question(question, samples).as_json()
        assert (answer["response"], samples.size) == (share, 2)


def test_names_are_looked_for_where_estimands_stand_and_nowhere_else():
    evidence = {"kind": "probability", "event": {"a": 1}, "evidence": {"release": "rel_x"}}
    deep: dict[str, Any] = {"kind": "comparison", "left": evidence, "right": THETA | {"release": "rel_b"}}
    question = {"estimand": {"kind": "expression", "names": {"x": deep}, "release": 7}, "utility": {"names": [1]}}
    found = releases_named(question)
    assert {name: named.where for name, named in found.items()} == {("rel_b", None): "estimand.names.right"}
    parts = {
        "x": THETA | {"release": "rel_b", "part": "a"},
        "y": THETA | {"release": "rel_b", "kind": "part", "part": "a"},
    }
    assert set(releases_named({"utility": {"names": parts}})) == {("rel_b", "a"), ("rel_b", None)}
    for strange in (None, [], {"estimand": []}, {"estimand": {"left": {"left": None}, "names": 7}}):
        assert releases_named(strange) == {}
    many = {f"n{place}": THETA | {"release": f"rel_{place}"} for place in range(RELEASES_MAX + 1)}
    for names in (many, {"x": {"release": None}}, {"x": {"release": "a" * 65}}, {"x": {"release": "é"}}):
        with pytest.raises(InvalidQuery):
            releases_named({"utility": {"names": names}})
    nested: Any = THETA
    for _ in range(2_000):
        nested = {"left": nested, "right": nested}
    assert releases_named({"estimand": nested}) == {}
