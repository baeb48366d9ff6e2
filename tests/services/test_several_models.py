"""Several models in one release, from a file to answers: one charge, one reading, rights by part."""

import json
from typing import Any

import numpy as np
import pytest

from app.core.kinds import parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.errors import (
    AccessRequired,
    BudgetExhausted,
    InvalidInput,
    InvalidMechanism,
    InvalidModel,
    InvalidQuery,
)
from app.ledger.amounts import prefix_charge
from app.services.ledger.recost_ledger import recost_ledger
from app.services.people.directory import read_me
from app.services.plans.plan_together import plan_together
from app.services.reading.answer_batch import answer_queries
from app.services.reading.answer_query import answer_query, preview_query
from app.services.reading.built_files import PlannedFile, build_export
from app.services.reading.export_samples import describe_export
from app.services.reading.long_tables import describe_long, long_samples
from app.services.reading.read_card import card_digest, read_card
from app.services.reading.read_density import read_density
from app.services.reading.read_summary import read_summary
from app.services.reading.synthetic_rows import describe_synthetic
from app.services.releases.buy_access import buy_access
from app.services.releases.read_releases import read_release
from tests.conftest import POSTGRES_DEEP
from tests.services.world import Person, World

COLUMNS: dict[str, Any] = {
    "cured": {"type": "binary"},
    "visits": {"type": "integer", "lower": 0, "upper": 20},
    "arm": {"type": "categorical", "levels": ["drug", "placebo"], "public": True},
    "old": {"type": "binary"},
}
BUDGET = {"epsilon": 20.0, "delta": 1e-6}
RATE: dict[str, Any] = {"family": "bernoulli", "column": "cured", "trim": 0.05}
MEAN: dict[str, Any] = {"family": "poisson", "column": "visits", "trim": {"lower": 1, "upper": 10}}
NETWORK: dict[str, Any] = {"family": "network", "nodes": {"old": {}, "cured": {"parents": ["old"]}}}
DRAWS: dict[str, Any] = {"kind": "baps", "samples": 20, "temperature": 1.0}
NOISE: dict[str, Any] = {"kind": "laplace", "samples": 300, "epsilon": 1.0}
TABLES: dict[str, Any] = {"kind": "laplace", "samples": 50, "epsilon": 1.0}
BOTH = [{"model": RATE, "mechanism": DRAWS}, {"name": "calls", "model": MEAN, "mechanism": NOISE}]


def trial(people: int = 400) -> bytes:
    """Three of four cured by the drug, one of four by nothing; five visits each, on average."""
    lines = ["cured,visits,arm,old"]
    for i in range(people):
        arm = "drug" if i < people // 2 else "placebo"
        lines.append(f"{int((i % 4 != 0) == (arm == 'drug'))},{3 + i % 5},{arm},{i % 2}")
    return ("\n".join(lines) + "\n").encode()


async def several(world: World, parts: list[dict[str, Any]] = BOTH, **more: Any) -> tuple[str, str]:
    dataset = await world.dataset(columns=COLUMNS, data=trial(), budget=BUDGET)
    return dataset, await world.published(dataset, model=None, mechanism=None, models=parts, **more)


async def asked(world: World, release: str, body: dict[str, Any], who: Person | None = None) -> dict[str, Any]:
    sent = json.dumps({"utility": {"kind": "squared"}} | body).encode()
    reader = world.steward if who is None else who.reader
    found: dict[str, Any] = json.loads(await answer_query(world.runtime, reader=reader, release_id=release, body=sent))
    return found


async def capped(world: World, dataset: str, **cap: float) -> Person:
    person = await world.person("analyst")
    await world.cap(dataset, person, **cap)
    return person


def parameter(name: str) -> dict[str, Any]:
    return {"kind": "parameter", "name": name}


def codes(answer: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in answer["warnings"]]


@POSTGRES_DEEP
async def test_one_line_charges_the_sum_and_every_part_answers_by_itself_and_across(world: World):
    dataset, release = await several(world, key="once")
    again = await world.request(dataset, key="once", model=None, mechanism=None, models=BOTH)
    view = await read_release(world.runtime, principal=world.steward, release_id=release)
    assert again.id == release
    assert (view.model, view.mechanism, [part["name"] for part in view.models or []]) == (
        None,
        None,
        ["cured", "calls"],
    )
    assert [each["name"] for each in view.parameters] == ["cured.theta", "calls.rate"]

    columns = parse_columns(COLUMNS)
    alone = [parse_model(part["model"], columns) for part in BOTH]
    costs = [
        parse_mechanism(part["mechanism"], model).cost(model, 400, 1) for part, model in zip(BOTH, alone, strict=True)
    ]
    charged = [prefix_charge(cost.per_sample, cost.samples, cost.once) for cost in costs]
    lines = [line for line in await world.entries(dataset) if line.kind == "reserve"]
    assert len(lines) == 1
    whole, apart = lines[0].amounts, charged[0].plus(charged[1])
    assert apart.covers(whole)
    assert apart.pure_nano - whole.pure_nano <= 1  # rounded up once instead of twice

    rate = await asked(world, release, {"part": "cured", "estimand": parameter("theta")})
    assert (rate["samples"], rate["parts"]) == (20, {"cured": 20})
    same = await asked(world, release, {"estimand": parameter("cured.theta")})
    assert (same["response"], codes(same)) == (rate["response"], codes(rate))
    calls = await asked(world, release, {"estimand": parameter("calls.rate")})
    assert calls["samples"] == 300
    assert calls["response"] == pytest.approx(5.0, abs=0.5)
    ratio = {"kind": "expression", "expression": "`calls.rate` / `cured.theta`"}
    across = await asked(world, release, {"estimand": ratio})
    assert (across["samples"], across["parts"]) == (20, {"cured": 20, "calls": 300})
    assert "independence_assumed" in codes(across)
    assert "independence_assumed" not in codes(calls)
    wins = {"kind": "comparison", "left": parameter("calls.rate"), "right": parameter("cured.theta")}
    believed = await asked(world, release, {"estimand": wins, "view": "calibrated"})
    assert (believed["response"], believed["points"] > 1000) == (1.0, True)

    recoster, _ = await recost_ledger(world.runtime)
    assert {name: count for name, count in recoster.counts.items() if count} == {"exact": 1}
    assert await world.verified()


@POSTGRES_DEEP
async def test_an_analyst_pays_by_part_and_sees_nothing_of_the_others(world: World):
    dataset, release = await several(world)
    ann, bob = [await capped(world, dataset) for _ in range(2)]
    buy = {"runtime": world.runtime, "release_id": release}
    with pytest.raises(AccessRequired):
        await asked(world, release, {"part": "cured", "estimand": parameter("theta")}, ann)
    bought = await buy_access(**buy, analyst=ann.analyst, samples=5, part="cured")
    assert bought.parts == {"cured": 5}
    mine = await asked(world, release, {"estimand": parameter("cured.theta")}, ann)
    assert mine["parts"] == {"cured": 5}
    for body in ({"part": "calls", "estimand": parameter("rate")}, {"part": "calls", "estimand": parameter("theta")}):
        with pytest.raises(AccessRequired, match="calls"):
            await asked(world, release, body, ann)
    for estimand in (parameter("calls.rate"), {"kind": "part", "part": "calls", "estimand": parameter("rate")}):
        with pytest.raises(InvalidQuery) as refused:
            await asked(world, release, {"estimand": estimand}, ann)
        assert "cured" in refused.value.detail
    with pytest.raises(InvalidInput, match="one of cured, calls"):
        await asked(world, release, {"part": "nobody", "estimand": parameter("theta")}, ann)

    first = bought.budget.spent_pure_epsilon or 0
    longer = await buy_access(**buy, analyst=ann.analyst, samples=20)
    assert longer.parts == {"cured": 20, "calls": 20}
    once = await buy_access(**buy, analyst=ann.analyst, samples=300, part="calls")
    assert (once.charged.epsilon, once.budget.spent_pure_epsilon) == (0.0, longer.budget.spent_pure_epsilon)
    assert (longer.budget.spent_pure_epsilon or 0) > first
    whole = await buy_access(**buy, analyst=bob.analyst, samples=20)
    assert whole.budget.spent_pure_epsilon == longer.budget.spent_pure_epsilon
    held = (await read_me(world.runtime, principal=ann.who)).accesses
    assert [(each["part"], each["samples"]) for each in held] == [("calls", 300), ("cured", 20)]
    for samples, part in ((21, "cured"), (301, None), (1, "nobody")):
        with pytest.raises(InvalidInput):
            await buy_access(**buy, analyst=bob.analyst, samples=samples, part=part)
    recoster, found = await recost_ledger(world.runtime)
    assert recoster.counts["exact"] == len(found) == 1 + 4 + 2
    assert await world.verified()

    poor = await capped(world, dataset, epsilon=1.5)
    with pytest.raises(BudgetExhausted):  # all parts are bought, or none
        await buy_access(**buy, analyst=poor.analyst, samples=20)
    assert (await read_me(world.runtime, principal=poor.who)).accesses == []
    assert [line.kind for line in await world.entries(dataset) if poor.id in line.account] == ["open"]


@POSTGRES_DEEP
async def test_tables_curves_files_and_the_card_are_by_part(world: World):
    _, release = await several(world)
    reader: dict[str, Any] = {"runtime": world.runtime, "reader": world.steward, "release_id": release}
    table: dict[str, Any] = {"level": 0.9, "parameters": [], "limit": 50, "cursor": None}
    rows = json.loads((await read_summary(**reader, **table)).ready.body)
    assert [(row["parameter"], row["part"]) for row in rows["rows"]] == [
        ("cured.theta", "cured"),
        ("calls.rate", "calls"),
    ]
    assert (rows["samples"], rows["receipt"]["parts"]) == (20, {"cured": 20, "calls": 300})
    own = json.loads((await read_summary(**reader, **table, part="calls")).ready.body)
    assert ([row["parameter"] for row in own["rows"]], own["samples"]) == (["rate"], 300)
    curve = json.loads((await read_density(**reader, parameters=["calls.rate"], kind="histogram", bins=4)).body)
    assert (curve["samples"], sum(curve["counts"])) == (300, 300)
    for name in ("json", "csv", "parquet"):
        export = await describe_export(**reader, name=name, parameters=[], part="cured")
        built = await build_export(world.runtime, export)
        assert built.size > 0
        built.close()

    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    total = (await read_release(world.runtime, principal=world.steward, release_id=release)).cost
    assert card["epsilon"] == total.epsilon
    assert card["pure_epsilon"] == pytest.approx(sum(part["pure_epsilon"] for part in card["parts"]))
    assert {line.get("part") for line in card["lines"]} == {None, "cured", "calls"}
    assert card_digest(json.loads(json.dumps(card))) == card["digest"] == rows["receipt"]["card_sha256"]


@POSTGRES_DEEP
async def test_parts_of_any_kind_and_by_groups_stand_side_by_side(world: World):
    parts = [
        {"model": RATE, "mechanism": NOISE | {"samples": 50}},
        {"model": MEAN, "mechanism": NOISE | {"samples": 50}, "by": []},
        {"name": "net", "model": NETWORK, "mechanism": TABLES, "where": None},
    ]
    _, release = await several(world, parts, by=["arm"])
    view = await read_release(world.runtime, principal=world.steward, release_id=release)
    assert [part["by"] for part in view.models or []] == [["arm"], None, ["arm"]]
    inside = {"kind": "group", "group": {"arm": "drug"}, "estimand": parameter("theta")}
    drug = await asked(world, release, {"estimand": {"kind": "part", "part": "cured", "estimand": inside}})
    named = await asked(world, release, {"estimand": parameter("cured.theta[arm=drug]")})
    assert drug["response"] == named["response"] == pytest.approx(0.75, abs=0.15)
    event = {"kind": "probability", "event": {"cured": "true"}}
    of_network = {"kind": "part", "part": "net", "estimand": inside | {"estimand": event}}
    wins = {"kind": "comparison", "left": of_network, "right": parameter("cured.theta[arm=placebo]")}
    assert (await asked(world, release, {"estimand": wins}))["response"] > 0.9
    together = json.dumps({"queries": [{"estimand": wins, "utility": {"kind": "squared"}}] * 2}).encode()
    many = json.loads(await answer_queries(world.runtime, reader=world.steward, release_id=release, body=together))
    assert len({answer["response"] for answer in many["answers"]}) == 1
    preview = json.dumps({"estimand": wins, "utility": {"kind": "squared"}}).encode()
    shown = json.loads(await preview_query(world.runtime, reader=world.steward, release_id=release, body=preview))
    assert shown["parts"] == {"cured": 50, "net": 50}
    await long_by_groups(world, release)


async def long_by_groups(world: World, release: str) -> None:
    """In one table only where parts are by the same columns; rows are made with their group's."""
    reader: dict[str, Any] = {"runtime": world.runtime, "reader": world.steward, "release_id": release, "name": "csv"}
    long: dict[str, Any] = reader | {"view": "samples", "long": long_samples}
    with pytest.raises(InvalidInput, match="by the same columns"):
        await describe_long(**long, parameters=[])
    one = await contents(world, await describe_long(**long, parameters=[], part="cured"))
    named = await contents(world, await describe_long(**long, parameters=["cured.theta[arm=drug]"]))
    assert (one[1], named[1]) == ("arm,parameter,draw,value", "arm,part,parameter,draw,value")
    assert named[2] == one[2].replace("drug,", "drug,cured,")
    made = await describe_synthetic(**reader, rows=30, seed=0, part="net")
    assert (await contents(world, made))[0] == "arm,old,cured"


@POSTGRES_DEEP
async def test_what_cannot_be_several_says_which_and_why(world: World):
    dataset = await world.dataset(columns=COLUMNS, data=trial(), budget=BUDGET)
    good = {"model": RATE, "mechanism": NOISE}

    async def request(parts: list[dict[str, Any]], **more: Any) -> None:
        await world.request(dataset, model=None, mechanism=None, models=parts, **more)

    with pytest.raises(InvalidModel, match=r"models\.1\.name: .*'cured' comes twice"):
        await request([good, good])
    with pytest.raises(InvalidModel, match=r"models\.1\.model\.column"):
        await request([good, good | {"name": "b", "model": RATE | {"column": "nobody"}}])
    with pytest.raises(InvalidMechanism, match=r"models\.0\.mechanism\.kind"):
        await request([good | {"mechanism": {"kind": "wishes"}}])
    with pytest.raises(InvalidModel, match=r"^by"):
        await request([good], by=["nobody"])
    with pytest.raises(InvalidInput, match="model: expected nothing beside `models`"):
        await world.request(dataset, models=[good])
    with pytest.raises(BudgetExhausted):
        await request([good | {"name": f"p{i}", "mechanism": NOISE | {"epsilon": 9.0}} for i in range(3)], force=True)
    assert await world.kinds(dataset) == ["open"]


@pytest.mark.deep
async def test_a_plan_over_several_models_is_a_release_as_it_stands(world: World):
    dataset = await world.dataset(columns=COLUMNS, data=trial(), budget={"epsilon": 2.0, "delta": 1e-6})
    models = [{"model": RATE}, {"model": MEAN, "target": {"sd": 0.3}}, {"model": RATE}]
    plan = await plan_together(world.runtime, principal=world.steward, spec={"models": models, "account": dataset})
    assert [part["name"] for part in plan["release"]["models"]] == ["cured", "visits", "cured_"]
    view = await world.request(dataset, model=None, mechanism=None, **plan["release"])
    assert view.cost.epsilon <= 2.0
    assert await world.kinds(dataset) == ["open", "reserve"]


@POSTGRES_DEEP
async def test_parts_are_drawn_and_believed_independently(world: World):
    """The same model twice: equal randomness in both would make their difference certain."""
    twice = [{"name": name, "model": RATE, "mechanism": NOISE} for name in ("a", "b")]
    _, release = await several(world, twice)
    reader: dict[str, Any] = {"runtime": world.runtime, "reader": world.steward, "release_id": release}
    for view in ("samples", "calibrated"):
        export = await describe_export(**reader, name="json", parameters=[], view=view)
        first, second = (np.array(column) for column in export.draws.columns())
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.25  # 4 standard errors of 300 pairs
    rows = []
    for part in ("a", "b"):
        made = await describe_synthetic(**reader, name="csv", rows=400, seed=1, part=part)
        assert made.filename == f"{release}-{part}-300-synthetic-400-1.csv"
        rows.append(await contents(world, made))
    assert len(rows[0]) == len(rows[1]) == 401
    same = np.mean([one == other for one, other in zip(*rows, strict=True)])
    assert 0.35 < same < 0.65  # by equal chance nearly all of them would be


async def contents(world: World, planned: PlannedFile) -> list[str]:
    built = await build_export(world.runtime, planned)
    built.file.seek(0)
    lines = built.file.read().decode().replace('"', "").splitlines()
    built.close()
    return lines


def comparison(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "comparison", "left": left, "right": right}


def beside(left: dict[str, Any], other: str) -> dict[str, Any]:
    return comparison(left, parameter("theta") | {"release": other})


@POSTGRES_DEEP
async def test_parts_are_compared_with_another_release_from_either_side(world: World):
    dataset, release = await several(world)
    plain = await world.published(dataset, model=RATE, mechanism=DRAWS | {"samples": 12})
    reader: dict[str, Any] = {"runtime": world.runtime, "reader": world.steward}
    exports = [
        await describe_export(**reader, release_id=each, name="json", parameters=[], part=part)
        for each, part in ((release, "cured"), (plain, None))
    ]
    mine, other = (np.array(next(iter(export.draws.columns()))[:12]) for export in exports)
    expected = (0.5 + 0.5 * np.sign(mine - other)).mean()
    inside = {"kind": "part", "part": "cured", "estimand": beside(parameter("theta"), plain)}
    for body in (
        {"part": "cured", "estimand": beside(parameter("theta"), plain)},
        {"estimand": beside(parameter("cured.theta"), plain)},
        {"estimand": inside},
    ):
        found = await asked(world, release, body)
        assert found["response"] == pytest.approx(expected)
        assert (found["samples"], found["parts"], codes(found)[-1]) == (12, {"cured": 20}, "independence_assumed")
        assert codes(found).count("independence_assumed") == 1
    inner = {"kind": "part", "part": "cured", "estimand": parameter("theta"), "release": release}
    for right in (
        parameter("theta") | {"release": release, "part": "cured"},
        parameter("cured.theta") | {"release": release},
        {"kind": "expression", "expression": "`cured.theta`", "release": release},
        inner,
    ):
        turned = await asked(world, plain, {"estimand": comparison(parameter("theta"), right)})
        assert turned["response"] == pytest.approx(1 - expected)
        assert (turned["samples"], "parts" in turned, codes(turned).count("independence_assumed")) == (12, False, 1)
        assert f"cured of {release}" in turned["warnings"][-1]["detail"]
    three = {
        "a": parameter("rate") | {"release": release, "part": "calls"},
        "b": parameter("cured.theta") | {"release": release},
    }
    mixed = {"kind": "expression", "expression": "a * b - theta", "names": three}
    both = await asked(world, plain, {"estimand": mixed, "view": "calibrated"})
    assert both["response"] == pytest.approx(2, abs=0.7)
    assert codes(both).count("independence_assumed") == 1
    for right, field in (
        (parameter("theta") | {"release": release}, "estimand.right.name"),
        (parameter("theta") | {"release": release, "part": "nobody"}, "estimand.right.part"),
        (parameter("theta") | {"release": release, "part": 7}, "estimand.right.part"),
        (parameter("theta") | {"part": "cured"}, "estimand.right.part"),
        (inner | {"part": "nobody"}, "estimand.right.part"),
    ):
        with pytest.raises(InvalidQuery) as refused:
            await asked(world, plain, {"estimand": comparison(parameter("theta"), right)})
        assert refused.value.problems[0].field == field

    ann = await world.buyer(dataset, plain, 7)
    body = {"estimand": beside(parameter("cured.theta"), plain)}
    with pytest.raises(AccessRequired):
        await asked(world, release, body, ann)
    for held in (3, 5):  # what was remembered of a shorter prefix is not what a longer one is answered with
        await buy_access(world.runtime, analyst=ann.analyst, release_id=release, samples=held, part="cured")
        found = await asked(world, release, body, ann)
        assert found["response"] == pytest.approx((0.5 + 0.5 * np.sign(mine - other))[:held].mean())
        assert (found["samples"], found["parts"]) == (held, {"cured": held})
    sent: dict[str, Any] = {"runtime": world.runtime, "reader": ann.reader, "release_id": release, "name": "csv"}
    for part, refusal in ((None, InvalidInput), ("nobody", InvalidInput), ("calls", AccessRequired)):
        with pytest.raises(refusal):
            await describe_synthetic(**sent, rows=5, seed=0, part=part)
    with pytest.raises(AccessRequired):
        await describe_long(**sent, parameters=[], view="samples", long=long_samples, part="calls")
    own = await contents(world, await describe_long(**sent, parameters=[], view="samples", long=long_samples))
    assert own[1:3] == ["part,parameter,draw,value", f"cured,theta,0,{float(mine[0])!r}"]
    assert len(own) == 2 + 5
