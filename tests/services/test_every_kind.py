"""One API, card and query engine for every kind of model and every mechanism: from a CSV to an answer, on both backends."""

import json
import random
from typing import Any

import numpy as np
import pytest

from app.core.kinds import KINDS, parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.errors import BudgetExhausted, InvalidMechanism
from app.services.plans.plan_release import plan_release
from app.services.reading.answer_query import answer_query
from app.services.reading.read_card import read_card
from tests.conftest import POSTGRES_DEEP
from tests.deep import deep
from tests.services.world import World

COLUMNS: dict[str, Any] = {
    "sick": {"type": "binary"},
    "test": {"type": "binary"},
    "ward": {"type": "categorical", "levels": ["a", "b", "c"]},
    "age": {"type": "real", "lower": 0, "upper": 100},
    "dose": {"type": "real", "lower": 0, "upper": 10},
    "score": {"type": "real", "lower": 0, "upper": 20},
}
NETWORK: dict[str, Any] = {
    "family": "network",
    "nodes": {"sick": {}, "test": {"parents": ["sick"]}, "ward": {"parents": ["sick"]}},
    "prior": {"strength": 2},
}
POOLED: dict[str, Any] = NETWORK | {"prior": {"strength": 2, "pooled": True}}
BINARY = {"family": "naive_bayes", "class": "sick", "features": ["test"], "trim": 0.05}
LINEAR = {
    "family": "linear_regression",
    "target": "score",
    "features": ["age", "dose", "sick", "ward"],
    "noise_sd": 2.0,
    "radius": 4.0,
    "prior": {"precision": 1.0},
}
MEAN = {"family": "mvn_mean", "columns": ["age", "dose"], "covariance": [[400.0, 0.0], [0.0, 4.0]]}
NORMAL = {"family": "normal", "column": "dose"}
PRECISION = {"family": "normal_precision_matrix", "columns": ["age", "dose"], "radius": 50.0}

RELEASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"family": "bernoulli", "column": "sick"}, {"kind": "gaussian", "samples": 30, "epsilon": 5.0, "delta": 1e-7}),
    (NETWORK, {"kind": "baps", "samples": 30, "temperature": 0.2}),
    (POOLED, {"kind": "laplace", "samples": 30, "epsilon": 5.0}),
    (NETWORK, {"kind": "gaussian", "samples": 30, "epsilon": 5.0, "delta": 1e-7}),
    (NETWORK, {"kind": "map", "epsilon": 10.0}),
    (BINARY, {"kind": "fourier", "samples": 30, "epsilon": 5.0}),
    (BINARY, {"kind": "auto", "epsilon": 2.0}),
    (LINEAR, {"kind": "perturbed_statistics", "samples": 30, "epsilon": 5.0, "delta": 1e-7}),
    (LINEAR, {"kind": "baps", "samples": 2, "temperature": 0.01}),
    (LINEAR, {"kind": "auto", "epsilon": 5.0}),
    (MEAN, {"kind": "perturbed_statistics", "samples": 30, "epsilon": 5.0, "delta": 1e-7}),
    (MEAN, {"kind": "baps", "samples": 5, "temperature": 0.5}),
    (PRECISION, {"kind": "perturbed_statistics", "samples": 30, "epsilon": 5.0, "delta": 1e-7}),
    (NORMAL, {"kind": "gaussian", "samples": 30, "epsilon": 5.0, "delta": 1e-7}),
]
BUDGET = {"epsilon": 20.0, "delta": 1e-5, "slack_delta": 1e-6}


def kind_rows(people: int = 900, seed: int = 7) -> bytes:
    chance = random.Random(seed)
    lines = ["sick,test,ward,age,dose,score"]
    for _ in range(people):
        sick = chance.random() < 0.3
        test = chance.random() < (0.9 if sick else 0.1)
        ward = chance.choices("abc", [1, 1, 4] if sick else [3, 2, 1])[0]
        age, dose = min(max(chance.gauss(50, 20), 0), 100), min(max(chance.gauss(5, 2), 0), 10)
        score = min(max(4 + 0.05 * age + 0.8 * dose - 2 * sick + chance.gauss(0, 2), 0), 20)
        lines.append(f"{int(sick)},{int(test)},{ward},{age:.3f},{dose:.3f},{score:.3f}")
    return "\n".join(lines).encode() + b"\n"


async def hospital(world: World, people: int = 900, **changes: Any) -> str:
    """A network's belief takes time in proportion to people."""
    return await world.dataset(columns=COLUMNS, data=kind_rows(people), **({"budget": BUDGET} | changes))


async def asked(world: World, release: str, estimand: dict[str, Any], **utility: Any) -> Any:
    body = json.dumps({"estimand": estimand, "utility": utility or {"kind": "squared"}}).encode()
    return json.loads(await answer_query(world.runtime, reader=world.steward, release_id=release, body=body))[
        "response"
    ]


def named(release: tuple[dict[str, Any], dict[str, Any]]) -> str:
    return f"{release[0]['family']}-{release[1]['kind']}"


@POSTGRES_DEEP
@pytest.mark.parametrize(("model", "mechanism"), RELEASES, ids=[named(each) for each in RELEASES])
async def test_every_mechanism_of_every_kind_goes_from_a_csv_to_a_card_and_an_answer(
    world: World, model: dict[str, Any], mechanism: dict[str, Any]
):
    dataset = await hospital(world, people=120)
    release = await world.published(dataset, model=model, mechanism=mechanism)
    stored = await world.release(release)
    parsed = parse_model(stored.model, parse_columns(COLUMNS))
    samples = np.frombuffer(await world.samples(release) or b"").reshape(-1, len(parsed.parameters))
    assert len(samples) == parse_mechanism(stored.mechanism, parsed).samples
    for parameter, column in zip(parsed.parameters, samples.T, strict=True):
        assert parameter.lower <= column.min() <= column.max() <= parameter.upper
    name = parsed.parameters[0].name
    assert await asked(world, release, {"kind": "parameter", "name": name}) == pytest.approx(samples[:, 0].mean())
    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    assert {"approximate", "pure", "renyi", "collusion"} <= {line["name"] for line in card["lines"]}
    assert card["epsilon"] <= BUDGET["epsilon"]
    assert await world.kinds(dataset) == ["open", "reserve", "commit"]
    assert await world.verified()


def test_the_list_above_leaves_out_no_mechanism_of_any_kind():
    tried = {(model["family"], mechanism["kind"]) for model, mechanism in RELEASES}
    for kind in KINDS[1:]:
        for mechanism in kind.mechanisms:
            assert any((family, mechanism) in tried for family in kind.families), (kind.name, mechanism)


@POSTGRES_DEEP
async def test_a_network_answers_about_events_given_evidence_near_the_truth(world: World):
    """900 people: .3·.9/(.3·.9+.7·.1) = .79; noise of ε = 5 moves it by a few hundredths."""
    release = await world.published(
        await hospital(world), model=NETWORK, mechanism={"kind": "laplace", "samples": 200, "epsilon": 5.0}
    )
    sick = {"kind": "probability", "event": {"sick": True}, "evidence": {"test": True}}
    assert await asked(world, release, sick) == pytest.approx(0.79, abs=0.1)
    ward = {"kind": "probability", "event": {"ward": "c"}, "evidence": {"sick": True}}
    assert await asked(world, release, ward) == pytest.approx(4 / 6, abs=0.15)
    kind = {"kind": "classification", "variable": "sick", "features": {"test": True, "ward": "c"}}
    assert await asked(world, release, kind, kind="zero_one") in ("true", True)


@POSTGRES_DEEP
async def test_a_regression_predicts_near_the_truth_in_the_units_of_the_columns(world: World):
    """At age 50, dose 5, not sick, ward a: 4 + 2.5 + 4 = 10.5 of 20."""
    mechanism = {"kind": "perturbed_statistics", "samples": 200, "epsilon": 10.0, "delta": 1e-7}
    release = await world.published(await hospital(world), model=LINEAR, mechanism=mechanism)
    at = {"kind": "prediction", "features": {"age": 50.0, "dose": 5.0, "sick": False, "ward": "a"}}
    assert await asked(world, release, at) == pytest.approx(10.5, abs=1.5)


@pytest.mark.cases(1)
@POSTGRES_DEEP
@pytest.mark.parametrize("model", [BINARY, deep(NETWORK), LINEAR, MEAN, PRECISION], ids=lambda model: model["family"])
async def test_a_plan_of_any_kind_costs_what_the_release_is_charged(world: World, model: dict[str, Any]):
    spec = {"model": model, "columns": COLUMNS, "mechanism": {"kind": "auto", "epsilon": 2.0}, "n": 300, "delta": 1e-5}
    plan = await plan_release(world.runtime, spec=spec)
    assert plan["cost"]["epsilon"] <= 2.0
    release = await world.published(await hospital(world, people=300), model=model, mechanism=plan["mechanism"])
    stored = await world.release(release)
    assert stored.mechanism == plan["mechanism"]
    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    assert card["epsilon"] == pytest.approx(plan["cost"]["epsilon"], rel=1e-9)


async def test_an_inexact_sampler_is_refused_where_no_part_of_delta_was_kept_for_it(world: World):
    dataset = await hospital(world, budget={"epsilon": 20.0, "delta": 1e-5})
    with pytest.raises(BudgetExhausted) as refusal:
        await world.request(dataset, model=MEAN, mechanism={"kind": "baps", "samples": 5, "temperature": 0.5})
    assert refusal.value.facts["short"] == ["slack"]
    assert await world.kinds(dataset) == ["open"]


async def test_a_mechanism_of_another_kind_is_refused_by_name(world: World):
    dataset = await hospital(world)
    with pytest.raises(InvalidMechanism, match=r"mechanism\.kind: expected one of .*perturbed_statistics"):
        await world.request(dataset, model=LINEAR, mechanism={"kind": "fourier", "samples": 5, "epsilon": 1.0})


@POSTGRES_DEEP
async def test_auto_proposes_no_inexact_sampler_for_a_budget_its_slack_does_not_cover(world: World):
    for epsilon, kinds in ((5.0, {"baps", "perturbed_statistics"}), (50.0, {"perturbed_statistics"})):
        mechanism = {"kind": "auto", "epsilon": epsilon}
        spec = {"model": LINEAR, "columns": COLUMNS, "mechanism": mechanism, "n": 900, "delta": 1e-5}
        plan = await plan_release(world.runtime, spec=spec)
        offered = {plan["mechanism"]["kind"], *(each["mechanism"]["kind"] for each in plan["alternatives"])}
        assert offered == kinds


async def test_draws_from_a_ball_are_refused_where_the_budget_is_beyond_what_their_slack_covers(world: World):
    wide = {"epsilon": 60.0, "delta": 1e-5, "slack_delta": 1e-6}
    dataset = await hospital(world, budget=wide, force=True)
    with pytest.raises(InvalidMechanism, match=r"mechanism\.kind"):
        await world.request(dataset, model=MEAN, mechanism={"kind": "baps", "samples": 2, "temperature": 0.5})
    assert await world.kinds(dataset) == ["open"]
