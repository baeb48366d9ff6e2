"""Plans and releases of every mechanism over HTTP: field names, codes and one-sentence refusals."""

from typing import Any

import pytest

from tests.api.conftest import MODEL, Published, Service
from tests.conftest import SHARED_POSTGRES_DEEP
from tests.deep import deep

pytestmark = SHARED_POSTGRES_DEEP

TARGET = {"epsilon": 1.0, "delta": 1e-6}
COLUMNS = {"days": {"type": "real", "lower": 0, "upper": 365}, "visits": {"type": "integer", "lower": 0, "upper": 40}}
WEIBULL = {"family": "weibull", "column": "days", "shape": 1.5, "prior": {"kind": "jeffreys"}}
POISSON = {"family": "poisson", "column": "visits", "trim": {"lower": 1, "upper": 20}}
DAYS = {"family": "exponential", "column": "days"}


def plan_body(**changes: Any) -> dict[str, Any]:
    return {"model": MODEL, "mechanism": {"kind": "baps", "samples": 50}, "n": 1_000} | changes


@pytest.mark.slow
async def test_a_plan_for_any_key_answers_with_curves_and_an_alternative(known: Service):
    body = plan_body(model=POISSON, columns=COLUMNS, n=500)
    planned = await known.expect(200, "ada", "POST", "/plans", body)
    assert set(planned) == {
        "model", "mechanism", "n", "privacy_unit_rows", "parameters", "cost", "vacuous", "accuracy",
        "prior_predictive", "grid_points", "curves", "scores",
        "bounds", "alternatives", "advice", "target", "precision", "release", "check", "by", "where",
    }  # fmt: skip
    assert planned["parameters"] == [{"name": "rate", "lower": 1.0, "upper": 20.0}]
    assert {"samples", "epsilon", "total_sd"} == set(planned["curves"]["by_samples"][0])
    assert planned["alternatives"][0]["mechanism"]["kind"] == "laplace"
    assert planned["advice"]
    assert planned["target"] is None


@pytest.mark.slow
async def test_alternatives_in_a_plan_of_a_network_by_private_groups_are_models_to_send(known: Service):
    columns = {name: {"type": "binary"} for name in ("cured", "north")}
    network = {"family": "network", "nodes": {"cured": {}}}
    mechanism = {"kind": "laplace", "samples": 5, "epsilon": 1.0}
    body = plan_body(model=network, mechanism=mechanism, columns=columns, by=["north"], n=50)
    planned = await known.expect(200, "ada", "POST", "/plans", body)
    assert planned["by"] == ["north"]
    assert planned["alternatives"]
    assert all(set(each["model"]) == set(planned["model"]) for each in planned["alternatives"])


@pytest.mark.slow
async def test_what_a_plan_finds_can_be_sent_as_a_release(service: Service):
    dataset = await service.dataset()
    asked = plan_body(model=DAYS, columns={"days": COLUMNS["days"]}, mechanism={"kind": "auto"}, target=TARGET)
    planned = await service.expect(200, "steward", "POST", "/plans", asked)
    body = {"model": planned["model"], "mechanism": planned["mechanism"]}
    made = await service.expect(202, "steward", "POST", f"/datasets/{dataset}/releases", body)
    assert made["cost"]["epsilon"] == planned["cost"]["epsilon"] <= 1.0
    assert made["model"] == planned["model"]
    await service.settled(made["id"])


@pytest.mark.slow
async def test_an_auto_release_shows_what_it_became(service: Service):
    dataset = await service.dataset()
    body = {"model": DAYS, "mechanism": {"kind": "auto", "epsilon": 1.0, "samples": 100}}
    made = await service.expect(202, "steward", "POST", f"/datasets/{dataset}/releases", body)
    assert made["mechanism"]["kind"] in ("baps", "laplace")
    assert made["samples"] == 100
    release = await service.settled(made["id"])
    assert (await service.expect(200, "steward", "GET", f"/releases/{release}"))["mechanism"] == made["mechanism"]


@pytest.mark.slow
async def test_an_analyst_is_charged_once_for_free_samples(service: Service):
    dataset = await service.dataset()
    body = {"model": DAYS, "mechanism": {"kind": "laplace", "samples": 100, "epsilon": 2.0}}
    made = await service.expect(202, "steward", "POST", f"/datasets/{dataset}/releases", body)
    release = await service.settled(made["id"])
    assert made["cost"]["per_sample"]["epsilon"] == 0.0
    cap = {"epsilon": 2.0, "delta": 1e-6}
    await service.expect(200, "steward", "PUT", f"/datasets/{dataset}/analysts/{service.people['ada']}", cap)
    charged = []
    for samples in (10, 100, 50):
        access = await service.expect(200, "ada", "POST", f"/releases/{release}/access", {"samples": samples})
        charged.append(access["charged"]["epsilon"])
    assert charged[0] == pytest.approx(2.0, rel=1e-3)
    assert charged[1:] == [0.0, 0.0]
    me = await service.expect(200, "ada", "GET", "/me")
    assert me["accesses"] == [{"release": release, "samples": 100}]
    card = await service.expect(200, "ada", "GET", f"/releases/{release}/card")
    assert card["pure_epsilon"] <= 2.0
    assert (await service.expect(200, "steward", "POST", "/ledger/verify"))["ok"] is True


@pytest.mark.slow
async def test_a_release_stores_the_score_its_plan_named(service: Service):
    dataset = await service.dataset()
    asked = {"model": MODEL, "mechanism": {"kind": "map", "epsilon": 2.0}}
    planned = await service.expect(200, "ada", "POST", "/plans", asked | {"n": 1_000})
    assert [each["score"] for each in planned["scores"] if each["chosen"]] == [planned["mechanism"]["score"]]
    made = await service.expect(202, "steward", "POST", f"/datasets/{dataset}/releases", asked)
    assert made["mechanism"] == planned["mechanism"]
    assert made["mechanism"]["score"] in ("log_density", "probability")
    assert made["cost"]["pure_epsilon"] <= 2.0
    await service.settled(made["id"])


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("calibrate", ["samples", "temperature", "trim"])
async def test_a_calibrated_plan_fits_and_an_impossible_one_says_what_it_would_take(known: Service, calibrate: str):
    mechanism = {"kind": "baps", "temperature": 0.01} if calibrate == "samples" else {"kind": "baps", "samples": 3}
    asked = plan_body(model=POISSON, columns=COLUMNS, mechanism=mechanism, calibrate=calibrate, target=TARGET)
    planned = await known.expect(200, "ada", "POST", "/plans", asked)
    assert planned["target"]["fits"] is True
    assert planned["curves"]["by_samples"]
    assert planned["curves"]["by_epsilon"]
    hopeless = asked | {"n": 2, "target": {"epsilon": 1e-7, "delta": 1e-12}}
    refused = await known.expect(422, "ada", "POST", "/plans", hopeless)
    assert (refused["code"], refused["errors"][0]["field"]) == ("invalid_mechanism", "target.epsilon")


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"model": POISSON}, "invalid_model", "columns"),
        ({"model": WEIBULL | {"shape": "wide"}, "columns": COLUMNS}, "invalid_model", "model.shape"),
        ({"model": WEIBULL | {"sd": 2}, "columns": COLUMNS}, "invalid_model", "model.sd"),
        (
            {"model": POISSON, "columns": {"visits": {"type": "integer", "upper": 9}}},
            "invalid_schema",
            "columns.visits.lower",
        ),
        ({"model": POISSON, "columns": []}, "invalid_request", "columns"),
        ({"calibrate": "temperature"}, "invalid_request", "target"),
        ({"calibrate": "prior", "target": TARGET}, "invalid_request", "calibrate"),
        ({"mechanism": {"kind": "auto"}}, "invalid_request", "target"),
        (
            {"mechanism": {"kind": "baps", "temperature": 1.0}, "n": 5, "target": TARGET},
            "invalid_mechanism",
            "target.epsilon",
        ),
        ({"mechanism": {"kind": "map", "epsilon": -1}}, "invalid_mechanism", "mechanism.epsilon"),
    ],
)
async def test_a_refused_plan_is_flat_and_names_the_field(
    known: Service, changes: dict[str, Any], code: str, field: str
):
    refused = await known.expect(422, "ada", "POST", "/plans", plan_body(**changes))
    assert refused["code"] == code
    assert [each["field"] for each in refused["errors"]] == [field]


async def careless(service: Service) -> str:
    """A dataset of 100 people whose budget its steward forced."""
    body = {
        "name": "careless",
        "columns": {"days": COLUMNS["days"]},
        "budget": {"epsilon": 5_000.0, "delta": 1e-6},
        "source": {"kind": "upload", "retain": True},
    }
    refused = await service.expect(422, "steward", "POST", "/datasets", body)
    assert (refused["code"], refused["errors"][0]["field"]) == ("vacuous_guarantee", "budget.epsilon")
    made = await service.expect(201, "steward", "POST", "/datasets", body | {"force": True})
    rows = "days\n" + "".join(f"{day}\n" for day in range(100))
    headers = {"Content-Type": "text/csv"}
    await service.expect(200, "steward", "PUT", f"/datasets/{made['id']}/data", content=rows.encode(), headers=headers)
    return str(made["id"])


VACUOUS = [
    {"kind": "laplace", "samples": 10, "epsilon": 400.0},
    deep({"kind": "baps", "samples": 200}),
    deep({"kind": "map", "epsilon": 400.0}),
    deep({"kind": "auto", "epsilon": 400.0, "samples": 10}),
]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", VACUOUS, ids=lambda mechanism: mechanism["kind"])
async def test_a_vacuous_release_needs_force_and_its_card_says_so_first(service: Service, mechanism: dict[str, Any]):
    where = f"/datasets/{await careless(service)}"
    body = {"model": DAYS, "mechanism": mechanism}
    refused = await service.expect(422, "steward", "POST", f"{where}/releases", body)
    assert (refused["code"], refused["errors"][0]["field"]) == ("vacuous_guarantee", "mechanism")
    made = await service.expect(202, "steward", "POST", f"{where}/releases", body | {"force": True})
    card = await service.expect(200, "steward", "GET", f"/releases/{await service.settled(made['id'])}/card")
    assert card["vacuous"] is True
    assert card["lines"][0]["name"] == "vacuous"
    assert card["lines"][0]["text"].startswith("WARNING: ")
    spec = {"model": DAYS, "columns": COLUMNS, "mechanism": made["mechanism"], "n": 100}
    planned = await service.expect(200, "ada", "POST", "/plans", spec)
    assert planned["vacuous"] is True


async def test_a_vacuous_cap_needs_force(service: Service):
    where = f"/datasets/{await service.dataset()}/analysts/{service.people['ada']}"
    cap = {"epsilon": 21.0, "delta": 1e-6}
    refused = await service.expect(422, "steward", "PUT", where, cap)
    assert (refused["code"], refused["errors"][0]["field"]) == ("vacuous_guarantee", "epsilon")
    made = await service.expect(200, "steward", "PUT", where, cap | {"force": True})
    assert made["budget"]["epsilon"] == 21.0


@pytest.mark.parametrize("delta", [1, 1.0, 1.5, 1e300])
async def test_a_delta_of_one_promises_nothing_anywhere(published: Published, delta: float):
    service = published.service
    budget = {"epsilon": 1.0, "delta": delta}
    body = {"name": "none", "columns": {"days": COLUMNS["days"]}, "budget": budget, "source": {"kind": "upload"}}
    where = f"/datasets/{published.dataset}/analysts/{service.people['ada']}"
    asked = [
        ("steward", "POST", "/datasets", body),
        ("steward", "PUT", where, budget),
        ("ada", "POST", "/plans", plan_body(delta=delta)),
        ("ada", "POST", "/plans", plan_body(mechanism={"kind": "auto"}, target=budget)),
    ]
    for who, method, path, sent in asked:
        refused = await service.expect(422, who, method, path, sent)
        assert refused["code"] == "vacuous_guarantee", path
    forced = await service.expect(422, "steward", "POST", "/datasets", body | {"force": True})
    assert forced["errors"][0]["field"] == "budget.delta"


async def test_force_is_a_stewards_and_no_plans(service: Service):
    dataset = await service.dataset()
    body = {"model": DAYS, "mechanism": {"kind": "laplace", "samples": 1, "epsilon": 400.0}, "force": True}
    await service.expect(403, "ada", "POST", f"/datasets/{dataset}/releases", body)
    refused = await service.expect(422, "ada", "POST", "/plans", plan_body(force=True))
    assert refused["code"] == "invalid_request"
