"""Who gets in, who does not, and what they are told."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.services.people.keys import create_key
from tests.api.conftest import MODEL, QUESTION, Service

pytestmark = pytest.mark.engine_in_turn

SECRET = "x" * 43
NOBODY = f"pstn_{'a' * 16}_{SECRET}"
PERMITTED = {
    ("GET", "/datasets"): {"steward", "ada", "wall", "eve"},
    ("POST", "/datasets"): {"steward"},
    ("GET", "/datasets/ds_x"): {"steward", "ada", "wall", "eve"},
    ("PATCH", "/datasets/ds_x"): {"steward"},
    ("DELETE", "/datasets/ds_x"): {"steward"},
    ("PUT", "/datasets/ds_x/data"): {"steward"},
    ("POST", "/datasets/ds_x/releases"): {"steward"},
    ("PUT", "/datasets/ds_x/analysts/an_x"): {"steward"},
    ("DELETE", "/datasets/ds_x/analysts/an_x"): {"steward"},
    ("POST", "/datasets/ds_x/rehearsals"): {"steward", "ada"},
    ("POST", "/populations"): {"steward"},
    ("GET", "/populations"): {"steward"},
    ("GET", "/populations/pop_x"): {"steward"},
    ("PATCH", "/populations/pop_x"): {"steward"},
    ("DELETE", "/populations/pop_x"): {"steward"},
    ("GET", "/populations/pop_x/ledger"): {"steward", "eve"},
    ("POST", "/audits"): {"steward", "eve"},
    ("GET", "/audits"): {"steward", "eve"},
    ("GET", "/audits/aud_x"): {"steward", "eve"},
    ("GET", "/audits/aud_x/report"): {"steward", "eve"},
    ("GET", "/analysts"): {"steward"},
    ("POST", "/analysts"): {"steward"},
    ("GET", "/analysts/an_x/keys"): {"steward"},
    ("POST", "/analysts/an_x/keys"): {"steward"},
    ("DELETE", "/keys/key_x"): {"steward"},
    ("POST", "/plans"): {"steward", "ada", "wall", "eve"},
    ("GET", "/releases"): {"steward", "ada", "wall", "eve"},
    ("GET", "/releases/rel_x"): {"steward", "ada", "wall", "eve"},
    ("POST", "/releases/rel_x/cancel"): {"steward"},
    ("POST", "/schemas/draft"): {"steward"},
    ("GET", "/releases/rel_x/card"): {"steward", "ada", "wall", "eve"},
    ("POST", "/releases/rel_x/access"): {"ada"},
    ("POST", "/releases/rel_x/query"): {"steward", "ada", "wall"},
    ("POST", "/releases/rel_x/queries"): {"steward", "ada", "wall"},
    ("GET", "/releases/rel_x/check"): {"steward", "ada", "wall"},
    ("GET", "/releases/rel_x/summary"): {"steward", "ada", "wall"},
    ("GET", "/releases/rel_x/density?parameter=theta"): {"steward", "ada", "wall"},
    ("GET", "/releases/rel_x/samples"): {"steward", "ada", "wall"},
    ("GET", "/releases/rel_x/synthetic"): {"steward", "ada", "wall"},
    ("GET", "/releases/rel_x/progress"): {"steward"},
    ("GET", "/releases/rel_x/progress/events"): {"steward"},
    ("GET", "/datasets/ds_x/progress"): {"steward"},
    ("GET", "/datasets/ds_x/progress/events"): {"steward"},
    ("POST", "/datasets/ds_x/statistics"): {"steward"},
    ("GET", "/statistics/key"): {"steward", "ada", "wall", "eve"},
    ("POST", "/releases/rel_x/inference"): {"steward", "ada", "wall"},
    ("GET", "/me"): {"steward", "ada", "wall", "eve"},
    ("GET", "/datasets/ds_x/ledger"): {"steward", "eve"},
    ("GET", "/ledger/head"): {"steward", "eve"},
    ("POST", "/ledger/verify"): {"steward", "eve"},
}


def test_the_table_below_covers_every_keyed_route(known: Service):
    paths = [(method, path) for path, methods in known.app.openapi()["paths"].items() for method in methods]
    assert len(PERMITTED) == len([path for _, path in paths if path.startswith("/v1/")])


async def test_a_role_gets_exactly_the_routes_it_may_use(known: Service):
    for (method, path), allowed in PERMITTED.items():
        for who in known.tokens:
            answer = await known.call(who, method, path, {} if method in ("POST", "PUT", "PATCH") else None)
            forbidden = answer.status_code == 403 and answer.json()["code"] == "forbidden"
            assert forbidden == (who not in allowed), f"{who} {method} {path}: {answer.text}"


async def test_no_route_answers_without_a_key_even_to_garbage(known: Service):
    for method, path in PERMITTED:
        answer = await known.client.request(method, f"/v1{path}", content=b"\xff not json")
        assert answer.status_code == 401, f"{method} {path}"
        assert answer.json()["code"] == "unauthenticated"
        assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic dXNlcjpwYXNz",
        f"Token {NOBODY}",
        NOBODY,
        f"Bearer {NOBODY} {NOBODY}",
        f"Bearer {NOBODY}x",
        f"Bearer {NOBODY[:-1]}",
        f"Bearer {NOBODY.upper()}",
        f"Bearer {NOBODY}",
        "Bearer pstn__",
        "Bearer ' OR 1=1 --",
        "Bearer " + "a" * 5000,
    ],
)
async def test_a_garbled_or_unknown_key_is_unauthenticated(known: Service, header: str):
    answer = await known.client.get("/v1/me", headers={"Authorization": header})
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_two_keys_at_once_are_refused_even_if_both_are_good(known: Service):
    good = f"Bearer {known.tokens['ada']}"
    answer = await known.client.get("/v1/me", headers=[("Authorization", good), ("Authorization", good)])
    assert answer.status_code == 401


async def test_the_scheme_s_case_does_not_matter(known: Service):
    answer = await known.client.get("/v1/me", headers={"Authorization": f"bEARER {known.tokens['ada']}"})
    assert answer.status_code == 200


async def test_a_key_s_secret_with_one_character_changed_is_refused(known: Service):
    token = known.tokens["ada"]
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    answer = await known.client.get("/v1/me", headers={"Authorization": f"Bearer {wrong}"})
    assert answer.status_code == 401


async def test_a_steward_adds_a_person_who_can_then_ask_who_they_are(service: Service):
    person = await service.expect(201, "steward", "POST", "/analysts", {"name": "grace"})
    assert person["role"] == "analyst"
    path = f"/analysts/{person['id']}/keys"
    made = await service.expect(201, "steward", "POST", path, {"label": "notebook"})
    service.tokens["grace"] = made["token"]
    assert (await service.expect(200, "grace", "GET", "/me"))["name"] == "grace"
    listed = await service.expect(200, "steward", "GET", path)
    assert [key["id"] for key in listed["items"]] == [made["id"]]
    assert made["token"] not in str(listed)
    people = await service.expect(200, "steward", "GET", "/analysts?limit=200")
    assert person["id"] in [item["id"] for item in people["items"]]


async def test_a_revoked_key_stops_within_a_second(service: Service):
    person = await service.expect(201, "steward", "POST", "/analysts", {"name": "mallory"})
    made = await service.expect(201, "steward", "POST", f"/analysts/{person['id']}/keys", {"label": "x"})
    service.tokens["mallory"] = made["token"]
    await service.expect(200, "mallory", "GET", "/me")
    await service.expect(204, "steward", "DELETE", f"/keys/{made['id']}")
    for _ in range(50):
        if (await service.call("mallory", "GET", "/me")).status_code != 200:
            break
        await asyncio.sleep(0.02)
    refused = await service.expect(401, "mallory", "GET", "/me")
    assert refused["code"] == "key_revoked"
    await service.expect(204, "steward", "DELETE", f"/keys/{made['id']}")


async def test_an_expired_key_says_so(own_service: Service):
    runtime = own_service.app.state.runtime
    hour_us = 3_600_000_000
    expires_us = runtime.clock() + hour_us
    key = await create_key(
        runtime, actor=None, principal_id=own_service.people["ada"], label="x", expires_us=expires_us
    )
    own_service.tokens["brief"] = str(key.token)
    await own_service.expect(200, "brief", "GET", "/me")
    own_service.app.state.runtime = replace(runtime, clock=lambda: expires_us)
    assert (await own_service.expect(401, "brief", "GET", "/me"))["code"] == "key_expired"


async def test_a_key_cannot_be_born_expired(service: Service):
    person = await service.expect(201, "steward", "POST", "/analysts", {"name": "late"})
    body = {"label": "old", "expires_at": "2020-01-01T00:00:00Z"}
    refused = await service.expect(422, "steward", "POST", f"/analysts/{person['id']}/keys", body)
    assert refused["errors"][0]["field"] == "expires_at"
    body["expires_at"] = "2199-01-01T00:00:00Z"
    refused = await service.expect(422, "steward", "POST", f"/analysts/{person['id']}/keys", body)
    assert refused["errors"][0]["field"] == "expires_at"
    soon = datetime.now(UTC).year + 2
    body["expires_at"] = f"{soon}-01-01T00:00:00+02:00"
    made = await service.expect(201, "steward", "POST", f"/analysts/{person['id']}/keys", body)
    assert made["expires_at"] == f"{soon - 1}-12-31T22:00:00.000000Z"


@pytest.mark.slow
async def test_unknown_and_foreign_things_look_alike(service: Service):
    dataset = await service.dataset()
    release = await service.release(dataset, samples=5)
    await service.add("rival", "steward")
    for path in (f"/datasets/{dataset}", "/datasets/ds_nothing"):
        assert (await service.expect(404, "rival", "GET", path))["code"] == "not_found"
    for who in ("rival", "ada", "wall"):
        for path in (f"/releases/{release}", "/releases/rel_nothing"):
            assert (await service.expect(404, who, "GET", path))["code"] == "not_found"
        answer = await service.expect(404, who, "POST", f"/releases/{release}/query", QUESTION)
        assert answer["code"] == "not_found"
    wanted = {"model": MODEL, "mechanism": {"kind": "baps", "samples": 1, "temperature": 1.0}}
    await service.expect(404, "rival", "POST", f"/datasets/{dataset}/releases", wanted)
    assert (await service.expect(200, "rival", "GET", "/datasets"))["items"] == []


@pytest.mark.slow
async def test_a_dashboard_reads_what_it_was_granted_and_pays_nothing(service: Service):
    dataset = await service.dataset()
    release = await service.release(dataset)
    path = f"/datasets/{dataset}/analysts/{service.people['wall']}"
    granted = await service.expect(200, "steward", "PUT", path, {"samples": 30})
    assert (granted["samples"], granted["budget"]) == (30, None)
    answer = await service.expect(200, "wall", "POST", f"/releases/{release}/query", QUESTION)
    assert answer["samples"] == 30
    await service.expect(403, "wall", "POST", f"/releases/{release}/access", {"samples": 1})


async def test_an_analyst_with_a_cap_but_no_access_is_told_to_pay(service: Service):
    dataset = await service.dataset()
    release = await service.release(dataset, samples=20)
    path = f"/datasets/{dataset}/analysts/{service.people['ada']}"
    await service.expect(200, "steward", "PUT", path, {"epsilon": 15.0, "delta": 1e-6})
    answer = await service.expect(403, "ada", "POST", f"/releases/{release}/query", QUESTION)
    assert answer["code"] == "access_required"
