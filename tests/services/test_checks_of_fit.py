"""A check of fit from request to verdict: charged with the release, read by all its readers, said in every answer."""

import json
import math
from typing import Any

import numpy as np
import pytest

from app.core.kinds import parse_model
from app.core.kinds.fit_check import FitCheck, with_check
from app.core.kinds.one_parameter.mechanisms import Laplace
from app.core.schema import parse_columns
from app.errors import BudgetExhausted, CheckNotOffered, InvalidCheck
from app.ledger.account import account_id
from app.ledger.amounts import prefix_charge
from app.services.ledger.recost_ledger import recost_ledger
from app.services.plans.plan_release import plan_release
from app.services.reading.read_card import read_card
from app.storage import sample_sets
from tests.conftest import POSTGRES_DEEP
from tests.services.world import COLUMNS, World, over_http

pytestmark = POSTGRES_DEEP

VISITS = {"visits": {"type": "integer", "lower": 0, "upper": 40}}
POISSON = {"family": "poisson", "column": "visits"}
LAPLACE = {"kind": "laplace", "samples": 200, "epsilon": 0.5}
NEAR = {"visits": {"type": "integer", "lower": 0, "upper": 15}}
QUIET = LAPLACE | {"epsilon": 6.0}
"""No false alarms: a row too many in a bin at 40 is worth an eighth of the variance, in one at 15 a hundredth."""
CHECK = {"epsilon": 0.1}
RATE = {"estimand": {"kind": "parameter", "name": "rate"}, "utility": {"kind": "interval", "level": 0.9}}
PEOPLE = 2_000


def counts(ratio: float, seed: int = 3) -> bytes:
    """Visits of mean 5 and variance 5·ratio; for ratio 1 Poisson's quantiles, to which nobody could object but for noise."""
    if ratio > 1:
        drawn = np.random.default_rng(seed).negative_binomial(5 / (ratio - 1), 1 / ratio, PEOPLE)
    else:
        below = np.cumsum([math.exp(-5) * 5**count / math.factorial(count) for count in range(40)])
        drawn = np.searchsorted(below, (np.arange(PEOPLE) + 0.5) / PEOPLE)
    return b"visits\n" + b"".join(b"%d\n" % min(int(each), 40) for each in drawn)


async def checked(world: World, ratio: float, columns: dict[str, Any] = VISITS, **changes: Any) -> tuple[str, str]:
    dataset = await world.dataset(columns=columns, data=counts(ratio))
    spec: dict[str, Any] = {"model": POISSON, "mechanism": LAPLACE, "check": CHECK}
    return dataset, await world.published(dataset, **(spec | changes))


async def verdict_of(world: World, release: str) -> dict[str, Any]:
    async with over_http(world.runtime) as client:
        found = await client.get(f"/v1/releases/{release}/check", headers=world.boss.headers)
        assert found.status_code == 200, found.text
        body: dict[str, Any] = found.json()
        return body


async def test_counts_that_vary_too_much_are_noticed_named_and_said_in_every_answer(world: World) -> None:
    _, release = await checked(world, 2.8, check={"epsilon": 1.0})
    found = await verdict_of(world, release)
    assert found["verdict"] == "doubtful"
    assert 2.2 < found["dispersion"]["ratio"] < 3.5
    assert found["text"].startswith(f"counts vary {found['dispersion']['ratio']:.2g} × as much as the model says")
    assert "too narrow; a wider family" in found["advice"]
    assert found["probability"] <= found["level"] == 0.05
    assert sum(each["expected"] for each in found["bins"]) == pytest.approx(PEOPLE)
    async with over_http(world.runtime) as client:
        for view in ("samples", "calibrated"):
            answer = await client.post(
                f"/v1/releases/{release}/query", json=RATE | {"view": view}, headers=world.boss.headers
            )
            warnings = {each["code"]: each["detail"] for each in answer.json()["warnings"]}
            assert found["text"] in warnings["model_doubtful"]
            assert "model_unchecked" not in warnings
            path = f"/v1/releases/{release}/summary?view={view}"
            row = (await client.get(path, headers=world.boss.headers)).json()["rows"][0]
            assert "model_doubtful" in {each["code"] for each in row["warnings"]}


async def test_counts_of_the_model_meet_no_objection_and_what_would_have_been_noticed_is_said(world: World) -> None:
    _, release = await checked(world, 1.0, NEAR, mechanism=QUIET, check={"epsilon": 3.0})
    found = await verdict_of(world, release)
    assert found["verdict"] == "no_objection"
    assert found["advice"] is None
    assert 1.05 < found["noticed"]["ratio"] < 1.6
    assert f"counts that vary {found['noticed']['ratio']:.2g} × as much would have been noticed 80%" in found["text"]
    async with over_http(world.runtime) as client:
        answer = await client.post(f"/v1/releases/{release}/query", json=RATE, headers=world.boss.headers)
        assert {each["code"] for each in answer.json()["warnings"]} == set()


async def test_the_check_is_charged_with_the_release_named_in_its_line_and_recosted_to_the_unit(world: World) -> None:
    dataset, release = await checked(world, 1.0)
    model = parse_model(POISSON, parse_columns(VISITS))
    cost = with_check(Laplace(200, 0.5).cost(model, PEOPLE, 1), FitCheck(0.1), 1)
    charge = prefix_charge(cost.per_sample, 200, cost.once)
    assert (await world.account(dataset)).spent == charge
    [line] = [each for each in await world.entries(dataset) if each.kind == "reserve"]
    assert line.amounts == charge
    assert json.loads(line.event)["check"] == {"epsilon": 0.1, "delta": None}
    analyst = await world.buyer(dataset, release, 1)
    assert (await world.account(account_id(dataset, analyst.id))).spent == charge
    _, found = await recost_ledger(world.runtime)
    assert [each.outcome for each in found] == ["exact", "exact"]
    assert await world.verified()
    stored = await world.release(release)
    assert stored.fit_check == {"epsilon": 0.1, "delta": None}


async def test_every_reader_reads_the_same_check_and_one_who_paid_nothing_reads_none(world: World) -> None:
    dataset, release = await checked(world, 2.8, mechanism={"kind": "baps", "samples": 30, "temperature": 0.01})
    analyst, stranger = await world.buyer(dataset, release, 1), await world.person("analyst", "eve")
    poor = await world.person("analyst", "poor")
    await world.cap(dataset, poor)
    async with over_http(world.runtime) as client:
        path = f"/v1/releases/{release}/check"
        mine = await client.get(path, headers=world.boss.headers)
        theirs = await client.get(path, headers=analyst.headers)
        assert mine.content == theirs.content
        assert mine.headers["ETag"] == theirs.headers["ETag"]
        again = await client.get(path, headers=analyst.headers | {"If-None-Match": mine.headers["ETag"]})
        assert again.status_code == 304
        assert (await client.get(path, headers=poor.headers)).json()["code"] == "access_required"
        assert (await client.get(path, headers=stranger.headers)).json()["code"] == "not_found"
    world.runtime.warm.clear()
    async with over_http(world.runtime) as client:
        assert (await client.get(path, headers=analyst.headers)).content == mine.content


async def test_a_release_without_a_check_says_so_and_still_says_that_its_model_is_unchecked(world: World) -> None:
    _, release = await checked(world, 2.8, check=None)
    async with over_http(world.runtime) as client:
        found = await client.get(f"/v1/releases/{release}/check", headers=world.boss.headers)
        assert (found.status_code, found.json()["code"]) == (409, "check_not_bought")
        answer = await client.post(f"/v1/releases/{release}/query", json=RATE, headers=world.boss.headers)
        assert {each["code"] for each in answer.json()["warnings"]} == {"model_unchecked"}
        shown = (await client.get(f"/v1/releases/{release}", headers=world.boss.headers)).json()
        assert shown["check"] is None
    async with world.runtime.database.read() as connection:
        assert await sample_sets.get_checked(connection, release) is None


@pytest.mark.parametrize(
    ("model", "check", "refusal"),
    [
        ({"family": "bernoulli", "column": "cured"}, CHECK, CheckNotOffered),
        (
            {"family": "linear_regression", "target": "days", "features": ["cured"], "noise_sd": 30.0},
            CHECK,
            CheckNotOffered,
        ),
        ({"family": "normal_mean", "column": "days", "sd": 30}, {"epsilon": 0}, InvalidCheck),
        ({"family": "normal_mean", "column": "days", "sd": 30}, {"epsilon": 1, "delta": 0.5}, InvalidCheck),
        ({"family": "normal_mean", "column": "days", "sd": 30}, {"epsilon": 1, "bins": 4}, InvalidCheck),
    ],
)
async def test_a_check_that_is_not_offered_or_not_valid_charges_nothing(
    world: World, model: dict[str, Any], check: dict[str, Any], refusal: type[Exception]
) -> None:
    dataset = await world.dataset()
    assert set(COLUMNS) == {"cured", "days"}
    mechanism = {"kind": "gaussian", "samples": 5, "epsilon": 1.0, "delta": 1e-6}
    if model["family"] == "linear_regression":
        mechanism = {"kind": "perturbed_statistics", "samples": 5, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(refusal):
        await world.request(dataset, model=model, mechanism=mechanism, check=check)
    assert await world.kinds(dataset) == ["open"]


async def test_a_budget_that_pays_for_the_release_alone_refuses_it_with_a_check(world: World) -> None:
    budget = {"epsilon": 0.5, "delta": 1e-6}
    dataset = await world.dataset(columns=VISITS, data=counts(1.0), budget=budget)
    with pytest.raises(BudgetExhausted):
        await world.request(dataset, model=POISSON, mechanism=LAPLACE, check=CHECK)
    await world.published(dataset, model=POISSON, mechanism=LAPLACE)


async def test_a_gaussian_release_with_a_gaussian_check_fits_a_budget_by_the_law_of_their_noise(world: World) -> None:
    dataset = await world.dataset(columns=VISITS, data=counts(2.8))
    mechanism = {"kind": "gaussian", "samples": 50, "epsilon": 0.5, "delta": 1e-6}
    release = await world.published(dataset, model=POISSON, mechanism=mechanism, check={"epsilon": 0.3, "delta": 1e-6})
    found = await verdict_of(world, release)
    assert (found["verdict"], found["cost"]["pure_epsilon"]) == ("doubtful", None)
    assert found["cost"]["epsilon"] == pytest.approx(0.3, rel=1e-6)


async def test_the_card_counts_the_check_in_and_has_a_line_for_it(world: World) -> None:
    _, plain = await checked(world, 1.0, check=None)
    dataset = (await world.release(plain)).dataset_id
    release = await world.published(dataset, model=POISSON, mechanism=LAPLACE, check=CHECK)
    cards = [await read_card(world.runtime, principal=world.steward, release_id=each) for each in (plain, release)]
    lines = [{line["name"]: line for line in card["lines"]} for card in cards]
    assert cards[1]["pure_epsilon"] == pytest.approx(cards[0]["pure_epsilon"] + 0.1)
    assert "check" not in lines[0]
    assert lines[1]["check"]["value"]["pure_epsilon"] == pytest.approx(0.1)
    for name in ("robustness", "zcdp_rho", "gdp_mu", "min_entropy_leakage_bits"):
        assert lines[1][name]["value"] > lines[0][name]["value"]
    floors = [each["distinguishability"]["value"]["error_sum_at_least"] for each in lines]
    assert floors[1] < floors[0]


async def test_a_plan_shows_what_a_check_costs_and_could_notice(world: World) -> None:
    spec = {"model": POISSON, "columns": VISITS, "mechanism": LAPLACE, "n": PEOPLE}
    alone, both = [await plan_release(world.runtime, spec=spec | more) for more in ({}, {"check": CHECK})]
    assert alone["check"] is None
    assert both["cost"]["pure_epsilon"] == pytest.approx(alone["cost"]["pure_epsilon"] + 0.1)
    assert both["check"]["cost"]["pure_epsilon"] == pytest.approx(0.1)
    assert both["check"]["noise_sd"] == pytest.approx(np.sqrt(2) * 20, rel=0.01)
    assert 1.1 < both["check"]["noticed"]["ratio"] < 1.8
    assert both["accuracy"] == alone["accuracy"]
    narrow = await plan_release(world.runtime, spec=spec | {"mechanism": None, "target": {"sd": 0.2}, "check": CHECK})
    assert narrow["release"]["check"] == {"epsilon": 0.1, "delta": None}
    with pytest.raises(CheckNotOffered):
        await plan_release(
            world.runtime, spec={"model": {"family": "bernoulli", "column": "c"}, "n": 100, "check": CHECK}
        )


async def test_several_rows_a_person_are_checked_at_their_own_price_and_their_independence_is_not(world: World) -> None:
    visits = np.random.default_rng(5).permutation([int(line) for line in counts(1.0).split()[1:]])
    lines = [b"%d,%d\n" % (row % 667, count) for row, count in enumerate(visits)]
    dataset = await world.dataset(
        columns=NEAR, privacy_unit={"column": "person", "max_rows": 3}, data=b"person,visits\n" + b"".join(lines)
    )
    release = await world.published(dataset, model=POISSON, mechanism=QUIET, check={"epsilon": 9.0})
    found = await verdict_of(world, release)
    step = math.exp(-9.0 / 6)  # whole noise P(j) ∝ step^|j|: three rows move six counts
    assert found["noise_sd"] == pytest.approx(math.sqrt(2 * step) / (1 - step), rel=1e-6)
    assert found["verdict"] == "no_objection"
    async with over_http(world.runtime) as client:
        answer = await client.post(f"/v1/releases/{release}/query", json=RATE, headers=world.boss.headers)
        [warning] = answer.json()["warnings"]
        assert warning["code"] == "model_unchecked"
        assert "rows of one person are independent of one another" in warning["detail"]
