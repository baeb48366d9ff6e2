"""Releases paid for once, of every kind of statistic, from an uploaded CSV to an answer, on both backends."""

import json
import math
from typing import Any

import numpy as np
import pytest

from app.errors import BudgetExhausted, InvalidMechanism, VacuousGuarantee
from app.ledger.account import account_id
from app.ledger.amounts import ZERO, prefix_charge
from app.services.people.directory import read_me
from app.services.plans.plan_release import plan_release
from app.services.reading.answer_query import answer_query
from app.services.reading.read_card import read_card
from app.services.releases.buy_access import buy_access
from app.services.releases.stored_release import cost_from_json
from tests.conftest import POSTGRES_DEEP
from tests.deep import deep, deep_unless, each_in_turn
from tests.services.family_world import COLUMNS, LAPLACE, MODELS, NORMAL_MEAN, POISSON, family_rows, question_about
from tests.services.world import World

pytestmark = pytest.mark.engine_in_turn

AUTO = {"kind": "auto", "epsilon": 2.0}
TRIED = [LAPLACE, {"kind": "baps", "samples": 40, "temperature": 0.05}, {"kind": "map", "epsilon": 19.0}]


async def families(world: World, **changes: Any) -> str:
    return await world.dataset(columns=COLUMNS, data=family_rows(), **changes)


async def mean_of(world: World, release: str, parameter: str) -> float:
    body = question_about(parameter)
    answer = json.loads(await answer_query(world.runtime, reader=world.steward, release_id=release, body=body))
    return float(answer["response"])


@pytest.mark.cases(1)
@POSTGRES_DEEP
@pytest.mark.parametrize(("family", "mechanism"), deep_unless(each_in_turn([*MODELS], TRIED), MODELS, TRIED))
async def test_a_family_goes_from_a_csv_to_an_answer_near_the_truth(
    world: World, family: str, mechanism: dict[str, Any]
):
    """600 people; the widest of these answers, `map` for the Poisson, has an sd of 4 %: 35 % is over eight of them."""
    model, parameter, truth = MODELS[family]
    dataset = await families(world)
    release = await world.published(dataset, model=model, mechanism=mechanism)
    assert await mean_of(world, release, parameter) == pytest.approx(truth, rel=0.35)
    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    assert {"approximate", "pure", "renyi"} <= {line["name"] for line in card["lines"]}
    assert await world.kinds(dataset) == ["open", "reserve", "commit"]
    assert await world.verified()


@POSTGRES_DEEP
async def test_the_dataset_pays_once_for_any_number_of_free_samples(world: World):
    first, second = await families(world), await families(world, name="again")
    few = await world.published(first, model=POISSON, mechanism=LAPLACE | {"samples": 1})
    many = await world.published(second, model=POISSON, mechanism=LAPLACE | {"samples": 1000})
    assert (await world.account(first)).spent == (await world.account(second)).spent != ZERO
    assert len(await world.samples(many) or b"") == 1000 * len(await world.samples(few) or b"")


async def test_an_analyst_pays_for_free_samples_once_whatever_the_prefix(world: World):
    dataset = await families(world)
    release = await world.published(dataset, model=POISSON, mechanism=LAPLACE)
    cost = cost_from_json((await world.release(release)).cost)
    ada = await world.person("analyst", "ada")
    await world.cap(dataset, ada)
    bought = await buy_access(world.runtime, analyst=ada.analyst, release_id=release, samples=1)
    assert bought.charged.epsilon == cost.total.epsilon(1e-6) > 0
    number = account_id(dataset, ada.id)
    paid = (await world.account(number)).spent
    assert paid == prefix_charge(cost.per_sample, 1, cost.once) == prefix_charge(cost.per_sample, 60, cost.once)
    longer = await buy_access(world.runtime, analyst=ada.analyst, release_id=release, samples=60)
    assert (longer.charged.epsilon, longer.charged.pure_epsilon, longer.samples) == (0.0, 0.0, 60)
    assert (await world.account(number)).spent == paid
    held = await read_me(world.runtime, principal=ada.analyst)
    assert held.accesses == [{"release": release, "samples": 60}]
    assert held.caps[0].budget is not None
    assert held.caps[0].budget.spent_epsilon == pytest.approx(cost.total.epsilon(1e-6), rel=1e-6)
    assert await world.verified()


async def test_a_shorter_prefix_answers_from_its_own_samples_only(world: World):
    dataset = await families(world)
    release = await world.published(dataset, model=POISSON, mechanism=LAPLACE)
    ada, bob = await world.buyer(dataset, release, 1), await world.buyer(dataset, release, 60, name="bob")
    answers = [
        json.loads(
            await answer_query(world.runtime, reader=who.reader, release_id=release, body=question_about("rate"))
        )
        for who in (ada, bob)
    ]
    assert [answer["samples"] for answer in answers] == [1, 60]


@POSTGRES_DEEP
async def test_one_more_record_can_be_asked_about(world: World):
    """P(no visit) is near e⁻⁶ and the mean near 6: both from the samples of one release."""
    release = await world.published(await families(world), model=POISSON, mechanism=LAPLACE)
    found = []
    for asked in ({"what": "mean"}, {"what": "probability", "at_most": 0}):
        question = {"estimand": {"kind": "predictive", **asked}, "utility": {"kind": "squared"}}
        body = json.dumps(question).encode()
        answer = await answer_query(world.runtime, reader=world.steward, release_id=release, body=body)
        found.append(json.loads(answer)["response"])
    assert found[0] == pytest.approx(await mean_of(world, release, "rate"))
    assert 0 < found[1] < 0.01


async def test_a_cap_below_the_price_buys_no_prefix_at_all(world: World):
    dataset = await families(world)
    release = await world.published(dataset, model=POISSON, mechanism=LAPLACE)
    ada = await world.person("analyst", "ada")
    await world.cap(dataset, ada, epsilon=4.9)
    with pytest.raises(BudgetExhausted) as refusal:
        await buy_access(world.runtime, analyst=ada.analyst, release_id=release, samples=1)
    assert refusal.value.facts["samples_affordable"] == 0
    assert (await world.account(account_id(dataset, ada.id))).spent == ZERO


@pytest.mark.cases(2)
@POSTGRES_DEEP
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.7, deep(1.0), deep(5.0)])
@pytest.mark.parametrize("kind", ["laplace", "map"])
async def test_a_budget_of_exactly_epsilon_pays_for_a_release_and_noise_leaves_nothing(
    world: World, kind: str, epsilon: float, delta: float
):
    """Slack of the sampler and rounding are inside the ε asked for, not on top of it."""
    dataset = await families(world, budget={"epsilon": epsilon, "delta": delta})
    mechanism = {"kind": kind, "epsilon": epsilon} | ({"samples": 5} if kind == "laplace" else {})
    release = await world.published(dataset, model=POISSON, mechanism=mechanism)
    assert cost_from_json((await world.release(release)).cost).total.pure <= epsilon
    if kind == "map":
        return  # which costs ε at most, and mostly less: what is left may pay for more
    if delta == 0:
        with pytest.raises(BudgetExhausted):
            await world.request(dataset, model=POISSON, mechanism=mechanism | {"epsilon": 1e-6})
    with pytest.raises(BudgetExhausted):
        await world.request(dataset, model=POISSON, mechanism=mechanism)


@pytest.mark.deep
@POSTGRES_DEEP
async def test_a_budget_of_exactly_so_many_samples_pays_for_them(world: World):
    """N times the cost of one, at equality, on the pure filter: the plan, the budget and the ledger agree."""
    mechanism = {"kind": "baps", "samples": 7, "temperature": 0.003}
    spec = {"model": POISSON, "columns": COLUMNS, "n": 600}
    planned = await plan_release(world.runtime, spec=spec | {"mechanism": mechanism})
    exactly = math.ceil(planned["cost"]["pure_epsilon"] * 1e9) / 1e9  # budgets count in whole units
    target = {"epsilon": exactly, "delta": 1e-300}
    found = await plan_release(
        world.runtime, spec=spec | {"mechanism": {"kind": "baps", "temperature": 0.003}, "target": target}
    )
    assert found["mechanism"]["samples"] == 7
    budget = {"epsilon": exactly, "delta": 0.0}
    dataset = await families(world, budget=budget, force=True)
    with pytest.raises(BudgetExhausted):
        await world.request(dataset, model=POISSON, mechanism=mechanism | {"samples": 8}, force=True)
    await world.published(dataset, model=POISSON, mechanism=mechanism, force=True)


@POSTGRES_DEEP
async def test_a_point_is_one_sample_and_is_paid_for_once(world: World):
    dataset = await families(world)
    release = await world.published(dataset, model=NORMAL_MEAN, mechanism={"kind": "map", "epsilon": 10.0})
    stored = await world.release(release)
    assert stored.mechanism == {"kind": "map", "epsilon": 10.0, "score": "log_density"}
    cost = cost_from_json(stored.cost)
    assert (cost.samples, cost.per_sample.pure) == (1, 0.0)
    assert (await world.account(dataset)).spent == prefix_charge(cost.per_sample, 1, cost.once)


@POSTGRES_DEEP
async def test_auto_is_stored_and_charged_as_what_it_became(world: World):
    dataset = await families(world)
    requested = await world.request(dataset, model=POISSON, mechanism=AUTO)
    assert requested.mechanism["kind"] in ("baps", "laplace")
    assert requested.cost.epsilon <= AUTO["epsilon"]
    await world.work()
    stored = await world.release(requested.id)
    assert (stored.status, stored.mechanism) == ("published", requested.mechanism)
    event = (await world.entries(dataset))[1].event
    assert json.loads(event)["mechanism"] == requested.mechanism


@POSTGRES_DEEP
async def test_a_plan_and_a_release_settle_auto_alike(world: World):
    dataset = await families(world)
    spec = {"model": NORMAL_MEAN, "mechanism": AUTO | {"samples": 30}}
    planned = await plan_release(world.runtime, spec=spec | {"columns": COLUMNS, "n": 600})
    requested = await world.request(dataset, **spec)
    assert requested.mechanism == planned["mechanism"]
    assert requested.cost.epsilon == planned["cost"]["epsilon"]


@pytest.mark.deep
@POSTGRES_DEEP
async def test_the_same_auto_request_again_is_the_same_release(world: World):
    dataset = await families(world)
    first = await world.request(dataset, model=POISSON, mechanism=AUTO, key="once")
    again = await world.request(dataset, model=POISSON, mechanism=AUTO, key="once")
    assert again == first
    assert await world.kinds(dataset) == ["open", "reserve"]


@pytest.mark.cases(3)
@POSTGRES_DEEP
@pytest.mark.parametrize(
    "mechanism",
    [
        {"kind": "auto"},
        {"kind": "auto", "epsilon": 0},
        {"kind": "auto", "epsilon": 1.0, "samples": 0},
        {"kind": "auto", "epsilon": 1.0, "temperature": 1.0},
        {"kind": "laplace", "samples": 10},
        {"kind": "map", "epsilon": 1.0, "score": "density"},
        {"kind": "fourier"},
    ],
)
async def test_a_mechanism_that_cannot_be_read_charges_nothing(world: World, mechanism: dict[str, Any]):
    dataset = await families(world)
    with pytest.raises(InvalidMechanism):
        await world.request(dataset, model=POISSON, mechanism=mechanism)
    assert await world.kinds(dataset) == ["open"]


@POSTGRES_DEEP
@pytest.mark.parametrize(
    "mechanism", [LAPLACE, LAPLACE | {"kind": "gaussian", "delta": 1e-7}], ids=["laplace", "gaussian"]
)
async def test_noise_is_also_for_people_with_several_rows_and_paid_for_once(world: World, mechanism: dict[str, Any]):
    unit = {"column": "person", "max_rows": 3}
    lines = family_rows(40).decode().splitlines()
    data = [f"person,{lines[0]}"] + [f"p{number // 2},{line}" for number, line in enumerate(lines[1:])]
    dataset = await world.dataset(columns=COLUMNS, privacy_unit=unit, data="\n".join(data).encode() + b"\n")
    release = await world.published(dataset, model=POISSON, mechanism=mechanism)
    samples = np.frombuffer(await world.samples(release) or b"")
    lower, upper = POISSON["trim"]["lower"], POISSON["trim"]["upper"]
    assert len(samples) == LAPLACE["samples"]
    assert lower <= samples.min() <= samples.max() <= upper
    cost = cost_from_json((await world.release(release)).cost)
    assert cost.prefix(1) == cost.total


@POSTGRES_DEEP
async def test_a_vacuous_release_is_refused_unless_forced_and_then_says_so_first(world: World):
    dataset = await families(world, budget={"epsilon": 900.0, "delta": 1e-6}, force=True)
    huge = LAPLACE | {"epsilon": 500.0}
    with pytest.raises(VacuousGuarantee) as refusal:
        await world.request(dataset, model=POISSON, mechanism=huge)
    assert refusal.value.code == "vacuous_guarantee"
    assert await world.kinds(dataset) == ["open"]
    release = await world.published(dataset, model=POISSON, mechanism=huge, force=True)
    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    assert card["vacuous"] is True
    assert card["lines"][0]["name"] == "vacuous"
    assert "WARNING" in card["lines"][0]["text"]
    assert "promises next to nothing" in card["lines"][0]["text"]
