"""Releases by groups, from a file to answers: public strata charged as the dearest, for every kind of model."""

import json
from typing import Any

import numpy as np
import pytest

from app.core.kinds import parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.errors import InvalidExpression, InvalidMechanism, InvalidModel, InvalidQuery
from app.services.datasets.read_datasets import read_dataset
from app.services.ledger.recost_ledger import recost_ledger
from app.services.plans.asked_groups import grouped_spec, planned_spec
from app.services.plans.plan_release import plan_release
from app.services.reading.answer_query import answer_query
from app.services.reading.read_card import read_card
from app.services.reading.read_density import read_density
from app.services.reading.read_summary import read_summary
from app.services.releases.read_releases import read_release
from app.services.runtime.runtime import Runtime
from tests.conftest import POSTGRES_DEEP
from tests.deep import deep
from tests.services.world import MODEL, World

COLUMNS: dict[str, Any] = {
    "cured": {"type": "binary"},
    "arm": {"type": "categorical", "levels": ["drug", "placebo", "none"], "public": True},
    "old": {"type": "binary"},
    "days": {"type": "real", "lower": 0, "upper": 100},
}
BUDGET = {"epsilon": 20.0, "delta": 1e-6, "slack_delta": 1e-7}
BY_ARM: dict[str, Any] = {"model": MODEL, "by": ["arm"]}
DRUG, PLACEBO = 240, 160
LINE = {"family": "linear_regression", "target": "days", "features": ["cured"], "noise_sd": 20.0, "radius": 5.0}
MOMENTS: dict[str, Any] = {"kind": "perturbed_statistics", "samples": 50, "epsilon": 4.0, "delta": 1e-7}


def trial(drug: int = DRUG, placebo: int = PLACEBO) -> bytes:
    """Three of four cured by the drug, one of four by nothing."""
    lines = ["cured,arm,old,days"]
    lines += [f"{int(i % 4 != 0)},drug,{i % 2},{i % 50}" for i in range(drug)]
    lines += [f"{int(i % 4 == 0)},placebo,{i % 2},{50 + i % 50}" for i in range(placebo)]
    return ("\n".join(lines) + "\n").encode()


async def trial_dataset(world: World, **changes: Any) -> str:
    return await world.dataset(columns=COLUMNS, data=trial(), **({"budget": BUDGET} | changes))


async def asked(
    world: World, release: str, estimand: dict[str, Any], reader: Any = None, **more: Any
) -> dict[str, Any]:
    body = json.dumps({"estimand": estimand, "utility": {"kind": "squared"}} | more).encode()
    found: dict[str, Any] = json.loads(
        await answer_query(world.runtime, reader=reader or world.steward, release_id=release, body=body)
    )
    return found


def theta(arm: str) -> dict[str, Any]:
    return {"kind": "parameter", "name": f"theta[arm={arm}]"}


@POSTGRES_DEEP
async def test_a_release_by_strata_is_charged_as_the_dearest_and_answers_about_each_and_between_them(world: World):
    dataset = await trial_dataset(world)
    seen = await read_dataset(world.runtime, principal=world.steward, dataset_id=dataset)
    assert seen.strata == [{"group": {"arm": "drug"}, "n": DRUG}, {"group": {"arm": "placebo"}, "n": PLACEBO}]
    release = await world.published(dataset, **BY_ARM)
    view = await read_release(world.runtime, principal=world.steward, release_id=release)
    assert (view.by, "groups" in view.model) == (["arm"], False)
    sizes = [(each["group"]["arm"], each["n"]) for each in view.groups or []]
    assert sizes == [("drug", DRUG), ("placebo", PLACEBO), ("none", 0)]

    columns = parse_columns({"cured": {"type": "binary"}})
    alone = parse_model(MODEL, columns)
    mechanism = parse_mechanism({"kind": "baps", "samples": 20}, alone)
    each = [mechanism.cost(alone, people, 1).total.epsilon(1e-6) for people in (DRUG, PLACEBO)]
    assert view.cost.epsilon == pytest.approx(max(each), rel=1e-6)

    drug, placebo = [await asked(world, release, theta(arm)) for arm in ("drug", "placebo")]
    assert drug["response"] == pytest.approx(0.75, abs=0.1)
    assert placebo["response"] == pytest.approx(0.25, abs=0.1)
    wins = {"kind": "comparison", "left": theta("drug"), "right": theta("placebo")}
    assert (await asked(world, release, wins))["response"] == 1.0
    difference = {"kind": "expression", "expression": "`theta[arm=drug]` - `theta[arm=placebo]`"}
    for view_asked in ("samples", "calibrated"):
        found = await asked(world, release, difference, view=view_asked)
        assert found["response"] == pytest.approx(0.5, abs=0.12)
    more = {"kind": "predictive", "what": "mean"}
    inside = {"kind": "group", "group": {"arm": "drug"}, "estimand": more}
    assert (await asked(world, release, inside))["response"] == pytest.approx(drug["response"])
    with pytest.raises(InvalidQuery, match="arm"):
        await asked(world, release, {"kind": "group", "group": {"arm": "both"}, "estimand": more})

    recoster, _ = await recost_ledger(world.runtime)
    assert {name: count for name, count in recoster.counts.items() if count} == {"exact": 1}
    assert await world.verified()


@POSTGRES_DEEP
async def test_tables_curves_and_cards_name_groups_and_what_public_columns_give_up(world: World):
    dataset = await trial_dataset(world)
    release = await world.published(dataset, **BY_ARM)
    reader = {"runtime": world.runtime, "reader": world.steward, "release_id": release}
    page = await read_summary(**reader, level=0.9, parameters=[], limit=50, cursor=None)
    rows = json.loads(page.ready.body)["rows"]
    assert [(row["parameter"], row["group"]) for row in rows] == [
        (f"theta[arm={arm}]", {"arm": arm}) for arm in ("drug", "placebo", "none")
    ]
    curve = await read_density(**reader, parameters=["theta[arm=drug]"], kind="histogram", bins=4)
    assert json.loads(curve.body)["parameters"][0]["group"] == {"arm": "drug"}

    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    lines = {line["name"]: line["text"] for line in card["lines"]}
    assert "Who has which value of 'arm' is not protected" in lines["public_columns"]
    assert "nobody in them" in lines["groups"]
    assert "same public columns" in card["neighbours"]
    plain = await world.published(dataset, mechanism={"kind": "laplace", "samples": 5, "epsilon": 0.5})
    unprotected = await read_card(world.runtime, principal=world.steward, release_id=plain)
    assert "same public columns" in unprotected["neighbours"]


KINDS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"family": "exponential", "column": "days"}, {"kind": "laplace", "samples": 5, "epsilon": 1.0}),
    (
        {"family": "network", "nodes": {"cured": {"parents": ["old"]}, "old": {}}},
        {"kind": "baps", "samples": 5, "temperature": 0.1},
    ),
]


@POSTGRES_DEEP
@pytest.mark.parametrize(("model", "mechanism"), [KINDS[0], deep(*KINDS[1])], ids=["exponential", "network"])
async def test_strata_of_other_kinds_are_the_kind_again_on_fewer_people(
    world: World, model: dict[str, Any], mechanism: dict[str, Any]
):
    dataset = await trial_dataset(world)
    release = await world.published(dataset, model=model, by=["arm"], mechanism=mechanism)
    stored = parse_model((await world.release(release)).model, parse_columns(COLUMNS))
    samples = np.frombuffer(await world.samples(release) or b"").reshape(-1, len(stored.parameters))
    assert len(samples) == 5
    assert len(stored.parameters) == 3 * len(parse_model(model, parse_columns(COLUMNS)).parameters)
    views = ("samples",) if model["family"] == "network" else ("samples", "calibrated")
    for view in views:  # a network's belief takes seconds
        await asked(world, release, {"kind": "parameter", "name": stored.parameters[0].name}, view=view)


@POSTGRES_DEEP
async def test_what_cannot_be_grouped_says_why(world: World):
    dataset = await trial_dataset(world)
    for by, why in ((["days"], "'days'"), (["nobody"], "'nobody'"), (["arm", "arm"], "once"), (["cured"], "cured")):
        with pytest.raises(InvalidModel, match=why):
            await world.request(dataset, model=MODEL, by=by)
    matrix = {"family": "normal_precision_matrix", "columns": ["days", "cured"]}
    with pytest.raises(InvalidModel, match="not of itself"):
        await world.request(dataset, model=matrix, mechanism=MOMENTS, by=["cured"])


@POSTGRES_DEEP
async def test_a_regression_by_private_groups_answers_about_each_and_shows_no_sizes(world: World):
    dataset = await trial_dataset(world)
    by = await world.request(dataset, model=LINE, by=["old"], mechanism=MOMENTS)
    assert [(each["group"], each["n"]) for each in by.groups or []] == [
        ({"old": "false"}, None),
        ({"old": "true"}, None),
    ]
    where = await world.request(dataset, model=LINE, where="old and arm == 'drug'", mechanism=MOMENTS)
    assert where.groups == [{"group": {}, "n": None}]
    plan = await plan_release(
        world.runtime, spec={"model": LINE, "by": ["old"], "mechanism": MOMENTS, "columns": COLUMNS, "n": 400}
    )
    assert plan["cost"]["epsilon"] == by.cost.epsilon <= MOMENTS["epsilon"]
    await world.work()
    ahead = {"kind": "prediction", "features": {"cured": True}}
    inside = {"kind": "group", "group": {"old": "true"}, "estimand": ahead}
    assert 5 < (await asked(world, by.id, inside))["response"] < 45  # 25 days
    apart = {"kind": "expression", "expression": "`cured[old=true]` - `cured[old=false]`"}
    assert -90 < (await asked(world, by.id, apart))["response"] < -10  # all who are old and cured had the drug
    alone = {"kind": "group", "group": {}, "estimand": ahead}
    assert (await asked(world, where.id, alone, view="calibrated"))[
        "response"
    ] < 45  # a belief of two groups takes seconds
    card = await read_card(world.runtime, principal=world.steward, release_id=by.id)
    assert "are private" in next(line["text"] for line in card["lines"] if line["name"] == "groups")
    recoster, _ = await recost_ledger(world.runtime)
    assert recoster.counts["exact"] == 2


def test_more_groups_than_are_answered_are_refused_before_they_are_listed():
    """Eight public columns of a thousand levels: 10²⁴ strata, for anyone who may plan."""
    levels = [str(level) for level in range(1_000)]
    public = {f"p{place}": {"type": "categorical", "levels": levels, "public": True} for place in range(8)}
    columns = parse_columns(COLUMNS | public)
    spec = {"model": MODEL, "by": list(public)}
    with pytest.raises(InvalidModel, match="at most 512 groups"):
        grouped_spec(spec, columns, None)
    with pytest.raises(InvalidModel, match="at most 512 groups"):
        planned_spec(spec, columns, 400)


@POSTGRES_DEEP
async def test_a_plan_by_strata_costs_what_the_release_does(world: World):
    spec = BY_ARM | {"mechanism": {"kind": "baps", "samples": 20}, "n": DRUG + PLACEBO, "delta": 1e-6}
    strata = [{"group": {"arm": "drug"}, "n": DRUG}, {"group": {"arm": "placebo"}, "n": PLACEBO}]
    plan = await plan_release(world.runtime, spec=spec | {"columns": COLUMNS, "strata": strata})
    dataset = await trial_dataset(world)
    view = await world.request(dataset, **BY_ARM)
    assert plan["cost"]["epsilon"] == view.cost.epsilon
    assert (plan["by"], plan["model"]) == (view.by, view.model)
    auto = await world.request(dataset, **BY_ARM | {"mechanism": {"kind": "auto", "epsilon": 1.0}})
    assert auto.cost.epsilon <= 1.0


@POSTGRES_DEEP
async def test_a_filter_chooses_strata_by_its_public_part_and_measures_the_private_one(world: World):
    dataset = await trial_dataset(world)
    noise = {"kind": "gaussian", "samples": 200, "epsilon": 4.0, "delta": 1e-7}
    public = await world.request(dataset, model=MODEL, where="arm == 'drug'")
    assert (public.where, public.n, public.groups) == ("arm == 'drug'", 400, [{"group": {}, "n": DRUG}])
    alone = parse_model(MODEL, parse_columns({"cured": {"type": "binary"}}))
    assert public.cost.epsilon == pytest.approx(
        parse_mechanism({"kind": "baps", "samples": 20}, alone).cost(alone, DRUG, 1).total.epsilon(1e-6)
    )
    both = await world.request(dataset, model=MODEL, where="(old) and arm=='placebo'", mechanism=noise)
    assert (both.where, both.groups) == ("old and arm == 'placebo'", [{"group": {}, "n": None}])
    private = await world.request(dataset, model=MODEL, where="days < 50", by=["old"], mechanism=noise)
    assert [each["n"] for each in private.groups or []] == [None, None]
    network = {"family": "network", "nodes": {"cured": {"parents": ["old"]}, "old": {}}}
    tables = await world.request(dataset, model=network, where="days < 50 and arm == 'drug'", mechanism=noise)
    assert (tables.where, tables.groups) == ("days < 50 and arm == 'drug'", [{"group": {}, "n": None}])
    await world.work()
    of_tables = {"kind": "group", "group": {}, "estimand": {"kind": "probability", "event": {"cured": "true"}}}
    assert (await asked(world, tables.id, of_tables))["response"] == pytest.approx(0.75, abs=0.12)
    assert (await asked(world, public.id, {"kind": "parameter", "name": "theta"}))["response"] > 0.6
    assert (await asked(world, both.id, {"kind": "parameter", "name": "theta"}, view="calibrated"))["response"] < 0.45
    name = {"kind": "parameter", "name": "theta[old=true]"}
    assert (await asked(world, private.id, name, view="calibrated"))[
        "response"
    ] > 0.6  # all of them in the arm with the drug
    card = await read_card(world.runtime, principal=world.steward, release_id=private.id)
    told = next(line["text"] for line in card["lines"] if line["name"] == "groups")
    assert "days < 50" in told
    assert "private" in told
    recoster, _ = await recost_ledger(world.runtime)
    assert recoster.counts["exact"] == 4
    for where in ("cured", "days >", "cured and arm == 'drug'"):
        with pytest.raises((InvalidModel, InvalidExpression)):
            await world.request(dataset, model=MODEL, where=where)


@POSTGRES_DEEP
async def test_sizes_of_private_groups_and_filters_show_nowhere(world: World):
    """Two datasets that differ in who is old: all that is public of them and of their releases is the same."""
    seen = []
    for name, old in (("few", 3), ("many", 397)):
        lines = ["cured,arm,old,days"] + [f"{i % 2},drug,{int(i < old)},{i % 50}" for i in range(400)]
        data = ("\n".join(lines) + "\n").encode()
        dataset = await world.dataset(name, columns=COLUMNS, data=data, budget=BUDGET)
        noise = {"kind": "gaussian", "samples": 5, "epsilon": 1.0, "delta": 1e-7}
        public = []
        tables = {"family": "network", "nodes": {"cured": {}}}
        for asked_for in ({"by": ["old"]}, {"where": "old"}, {"by": ["arm", "old"]}, {"where": "old", "model": tables}):
            release = await world.published(dataset, **{"model": MODEL, "mechanism": noise} | asked_for)
            stored = await world.release(release)
            view = await read_release(world.runtime, principal=world.steward, release_id=release)
            card = await read_card(world.runtime, principal=world.steward, release_id=release)
            lines_told = [line for line in card["lines"] if line["name"] != "budget"]
            events = [entry.event for entry in await world.entries(dataset) if entry.release == release]
            public.append(
                (
                    [view.model, view.by, view.where, view.groups, view.parameters, view.cost, view.n],
                    [lines_told, events, stored.duration_us, stored.cost],
                )
            )
        described = await read_dataset(world.runtime, principal=world.steward, dataset_id=dataset)
        seen.append((public, described.n, described.strata, described.columns))
    assert seen[0] == seen[1]


@POSTGRES_DEEP
async def test_a_prefix_of_a_release_by_groups_is_the_first_samples_of_every_group(
    world: World, second_runtime: Runtime
):
    dataset = await trial_dataset(world)
    release = await world.published(dataset, **BY_ARM)
    ada = await world.buyer(dataset, release, 5)
    samples = np.frombuffer(await world.samples(release) or b"").reshape(20, 3)
    for place, arm in enumerate(("drug", "placebo", "none")):
        found = await asked(world, release, theta(arm), reader=ada.reader)
        assert found["samples"] == 5
        assert found["response"] == pytest.approx(samples[:5, place].mean())
    one_by_one = {"kind": "group", "group": {"arm": "placebo"}, "estimand": {"kind": "parameter", "name": "theta"}}
    body = json.dumps({"estimand": one_by_one, "utility": {"kind": "squared"}, "view": "calibrated"}).encode()
    told = [
        await answer_query(runtime, reader=ada.reader, release_id=release, body=body)
        for runtime in (world.runtime, second_runtime)
    ]
    assert told[0] == told[1]


@POSTGRES_DEEP
async def test_a_column_with_gaps_is_modelled_on_the_rows_that_have_a_value(world: World):
    gaps = COLUMNS | {"cured": {"type": "binary", "missing": "group"}}
    lines = ["cured,arm,old,days"] + [f"{'' if i % 3 == 0 else int(i % 3 == 1)},drug,0,1" for i in range(900)]
    dataset = await world.dataset(columns=gaps, data=("\n".join(lines) + "\n").encode(), budget=BUDGET)
    noise = {"kind": "gaussian", "samples": 50, "epsilon": 4.0, "delta": 1e-7}
    release = await world.published(dataset, model=MODEL, mechanism=noise)
    found = await asked(world, release, {"kind": "parameter", "name": "theta"}, view="calibrated")
    assert found["response"] == pytest.approx(0.5, abs=0.1)
    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    assert "without a value in 'cured'" in next(line["text"] for line in card["lines"] if line["name"] == "groups")
    with pytest.raises(InvalidMechanism):
        await world.request(dataset, model=MODEL)
