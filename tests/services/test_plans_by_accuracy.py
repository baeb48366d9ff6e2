"""Plans by accuracy, and of several models on one budget: what they say the ledger would do is what it does."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.core.kinds import kind_of, parse_mechanism, parse_model
from app.core.privacy.release_cost import ReleaseCost
from app.core.schema import parse_columns
from app.errors import AccuracyUnreachable, BudgetExhausted, Forbidden, InvalidInput, InvalidMechanism, VacuousGuarantee
from app.ledger.account import Account, charge, open_account
from app.ledger.amounts import prefix_charge
from app.ledger.reading import spent_epsilon
from app.services.plans import plan_release, plan_together
from app.services.runtime.runtime import Runtime
from tests.conftest import Backend
from tests.services.world import services, settings_for

COLUMNS = {"cured": {"type": "binary"}, "visits": {"type": "integer", "lower": 0, "upper": 20}}
CURED = {"family": "bernoulli", "column": "cured"}
SELDOM = CURED | {"prior": {"alpha": 2, "beta": 20}}
VISITS = {"family": "poisson", "column": "visits"}
N = 3_000
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
NARROW = {"half_width": 0.02}


@pytest.fixture
async def runtime(sqlite_backend: Backend, tmp_path: Path) -> AsyncIterator[Runtime]:
    async with services(settings_for(sqlite_backend, tmp_path)) as opened:
        yield opened


async def split(runtime: Runtime, *parts: dict[str, Any], **spec: Any) -> dict[str, Any]:
    body = {"models": list(parts), "columns": COLUMNS, "n": N} | spec
    return await plan_together(runtime, principal=None, spec=body)


def part(model: dict[str, Any], **target: Any) -> dict[str, Any]:
    return {"model": model, "target": target or None}


def cost_of(release: dict[str, Any]) -> ReleaseCost:
    """Computed without the plan."""
    model = parse_model(release["model"], parse_columns(COLUMNS))
    return kind_of(model).parse_mechanism(release["mechanism"]).cost(model, N, 1)


def charged(account: Account, planned: dict[str, Any]) -> Account:
    for each in planned["models"]:
        cost = cost_of(each["release"])
        account = charge(account, prefix_charge(cost.per_sample, cost.samples, cost.once), gaussian=cost.gaussian)
    return account


def charged_at_once(account: Account, planned: dict[str, Any]) -> Account:
    """All of them as the one release that the plan says to send."""
    parts = planned["release"]["models"]
    stored = [{"name": each["name"], "model": each["model"]} for each in parts]
    model = parse_model({"family": "several", "parts": stored}, parse_columns(COLUMNS))
    mechanism = parse_mechanism({"kind": "several", "parts": [each["mechanism"] for each in parts]}, model)
    cost = mechanism.cost(model, N, 1)
    return charge(account, prefix_charge(cost.per_sample, cost.samples, cost.once), gaussian=cost.gaussian)


@pytest.mark.parametrize("target", [NARROW | {"level": 0.9}, {"sd": 0.012, "delta": 1e-7}])
async def test_what_a_plan_by_accuracy_finds_can_be_planned_again(runtime: Runtime, target: dict[str, float]):
    planned = await plan_release(runtime, spec={"model": CURED, "n": N, "target": target})
    assert planned["release"] == {"model": planned["model"], "mechanism": planned["mechanism"]}
    delta = target.get("delta", 1e-6)
    again = cost_of(planned["release"]).total.epsilon(delta)
    assert again == planned["cost"]["charged_epsilon"] == planned["target"]["epsilon"]
    assert planned["cost"]["epsilon"] <= again
    assert all(each["epsilon"] > again for each in planned["alternatives"])
    measure = "sd" if "sd" in target else "half_width"
    assert 0.98 * target[measure] < planned["precision"][measure] <= 1.0025 * target[measure]
    assert planned["precision"]["coverage"]["releases"] >= 200
    assert planned["advice"].startswith(planned["mechanism"]["kind"])


async def test_a_split_is_what_the_ledger_admits_and_reads(runtime: Runtime):
    planned = await split(runtime, part(CURED, **NARROW), part(VISITS, sd=0.1), target=BUDGET)
    assert planned["reached"] is True
    assert planned["short_by"] == 1.0
    after = charged(open_account("x", **BUDGET), planned)
    assert planned["spent_epsilon"] == spent_epsilon(after).epsilon < 1.0
    assert sum(each["share"] for each in planned["models"]) == pytest.approx(1.0)
    for each, (measure, value) in zip(planned["models"], (("half_width", 0.02), ("sd", 0.1)), strict=True):
        assert each["precision"][measure] <= value * 1.02
        assert each["wider_by"] == each["precision"][measure] / value


async def test_a_budget_too_small_makes_all_wider_by_the_same_factor(runtime: Runtime):
    planned = await split(
        runtime, part(CURED, half_width=0.015), part(SELDOM, half_width=0.0085), target=BUDGET | {"epsilon": 0.1}
    )
    assert planned["reached"] is False
    assert planned["short_by"] > 1.2
    first, second = (each["wider_by"] for each in planned["models"])
    assert first == pytest.approx(second, rel=0.05)
    assert first == pytest.approx(planned["short_by"], rel=0.1)
    charged(open_account("x", epsilon=0.1, delta=1e-6), planned)
    with pytest.raises(BudgetExhausted):
        charged(open_account("x", epsilon=0.1 * 0.97, delta=1e-6), planned)


async def test_without_a_budget_the_least_that_does_is_found(runtime: Runtime):
    parts = part(CURED, **NARROW), part(SELDOM, half_width=0.01)
    planned = await split(runtime, *parts)
    assert planned["reached"] is True
    charged(open_account("x", **planned["budget"]), planned)
    charged_at_once(open_account("x", **planned["budget"]), planned)
    least = planned["budget"]["epsilon"]
    tighter = await split(runtime, *parts, target=BUDGET | {"epsilon": least * 0.97})
    assert tighter["reached"] is False


@pytest.mark.deep
async def test_many_releases_are_charged_by_the_renyi_filter(runtime: Runtime):
    """Sixteen like one another: by pure ε, or by ε of each, they would not fit."""
    parts = [part(CURED, half_width=0.0125)] * 16
    planned = await split(runtime, *parts, target={"epsilon": 2.0, "delta": 1e-6})
    assert planned["spent_epsilon"] <= 2.0 < 0.9 * sum(each["epsilon"] for each in planned["models"])
    charged(open_account("x", epsilon=2.0, delta=1e-6), planned)


async def test_models_without_a_target_share_what_others_leave(runtime: Runtime):
    planned = await split(runtime, part(CURED, **NARROW), part(SELDOM), part(CURED), target=BUDGET)
    wanted, *free = planned["models"]
    assert wanted["wider_by"] <= 1.02
    assert free[0]["wider_by"] == pytest.approx(free[1]["wider_by"], rel=0.05)
    assert 1.0 < free[0]["wider_by"] < 2.0
    assert [each["target"] for each in free] == [None, None]
    assert 0.99 < planned["spent_epsilon"] <= 1.0
    assert [each["name"] for each in planned["release"]["models"]] == ["cured", "cured_", "cured__"]
    account = open_account("x", **BUDGET)
    once, apart = charged_at_once(account, planned), charged(account, planned)
    assert apart.spent.covers(once.spent)


@pytest.mark.parametrize(
    ("changes", "error", "field"),
    [
        ({"models": []}, InvalidInput, "models"),
        ({"models": [part(CURED)]}, InvalidInput, "target"),
        ({"models": [{"target": NARROW}]}, InvalidInput, "models.0.model"),
        ({"models": [part(CURED, epsilon=1.0)]}, InvalidInput, "models.0.target"),
        ({"models": [part(CURED, half_width=-1)]}, InvalidInput, "models.0.target.half_width"),
        ({"models": [part(CURED, sd=0.1, level=1)]}, InvalidInput, "models.0.target.level"),
        ({"models": [part(CURED, half_width=1e-4)]}, AccuracyUnreachable, "models.0.target.half_width"),
        (
            {"models": [part(CURED, sd=0.1) | {"mechanism": {"kind": "baps"}}]},
            InvalidMechanism,
            "models.0.mechanism.kind",
        ),
        ({"target": NARROW}, InvalidInput, "target"),
        ({"n": None}, InvalidInput, "n"),
        ({"delta": 1.0}, VacuousGuarantee, "delta"),
        ({"account": "ds", "target": BUDGET}, InvalidInput, "target"),
    ],
)
async def test_a_split_that_cannot_be_read_names_the_field(
    runtime: Runtime, changes: dict[str, Any], error: type[InvalidInput], field: str
):
    with pytest.raises(error) as refusal:
        await split(runtime, *changes.pop("models", [part(CURED, **NARROW)]), **changes)
    assert refusal.value.problems[0].field == field


async def test_an_account_is_its_stewards(runtime: Runtime):
    with pytest.raises(Forbidden):
        await plan_together(runtime, principal=None, spec={"models": [part(CURED, **NARROW)], "account": "ds_x"})


@pytest.mark.parametrize(
    ("changes", "error", "field"),
    [
        ({"target": NARROW | {"sd": 0.1}}, InvalidInput, "target"),
        ({"target": {"sd": 0}}, InvalidInput, "target.sd"),
        ({"target": {"half_width": 1e-4}}, AccuracyUnreachable, "target.half_width"),
        ({"mechanism": {"kind": "laplace", "samples": 1, "epsilon": 1.0}}, InvalidMechanism, "mechanism.kind"),
        ({"mechanism": {"kind": "auto", "epsilon": 1.0}}, InvalidMechanism, "mechanism.epsilon"),
        ({"calibrate": "trim"}, InvalidInput, "target"),
    ],
)
async def test_a_target_by_accuracy_that_cannot_be_read_names_the_field(
    runtime: Runtime, changes: dict[str, Any], error: type[InvalidInput], field: str
):
    with pytest.raises(error) as refusal:
        await plan_release(runtime, spec={"model": CURED, "n": N, "target": NARROW} | changes)
    assert refusal.value.problems[0].field == field
