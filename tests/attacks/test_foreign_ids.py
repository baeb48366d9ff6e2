"""Ids of other people's things answer like ids that do not exist, to the last byte, on every route and to every role."""

import json

import pytest

from tests.services.world import QUESTION, World, new_world, over_http, release_spec, upload_files

pytestmark = pytest.mark.engine_in_turn

UNKNOWN = {"dataset": f"ds_{'a' * 16}", "release": f"rel_{'a' * 16}", "person": f"an_{'a' * 16}", "key": "a" * 16}
UNKNOWN["population"] = f"pop_{'b' * 16}"
CALLS = [
    ("steward", "GET", "/v1/datasets/{dataset}", None),
    ("steward", "POST", "/v1/datasets/{dataset}/releases", release_spec()),
    ("steward", "PUT", "/v1/datasets/{dataset}/analysts/{person}", {"epsilon": 1.0, "delta": 1e-6}),
    ("steward", "DELETE", "/v1/datasets/{dataset}/analysts/{person}", None),
    ("steward", "GET", "/v1/datasets/{dataset}/ledger", None),
    ("auditor", "GET", "/v1/datasets/{dataset}/ledger", None),
    *((role, "POST", "/v1/datasets/{dataset}/rehearsals", {}) for role in ("steward", "analyst")),
    *((role, "GET", "/v1/populations/{population}/ledger", None) for role in ("steward", "auditor")),
    *(("steward", method, "/v1/populations/{population}", None) for method in ("GET", "DELETE")),
    ("steward", "GET", "/v1/analysts/{person}/keys", None),
    ("steward", "POST", "/v1/analysts/{person}/keys", {"label": "x"}),
    ("steward", "DELETE", "/v1/keys/{key}", None),
    *(
        (role, method, path, body)
        for role in ("steward", "analyst", "dashboard", "auditor")
        for method, path, body in (
            ("GET", "/v1/releases/{release}", None),
            ("GET", "/v1/releases/{release}/card", None),
            ("GET", "/v1/releases?dataset={dataset}", None),
        )
    ),
    *(
        (role, "POST", f"/v1/releases/{{release}}/{end}", body)
        for role in ("steward", "analyst", "dashboard")
        for end, body in (("query", json.loads(QUESTION)), ("queries", {"queries": [json.loads(QUESTION)]}))
    ),
    *((role, "GET", "/v1/releases/{release}/check", None) for role in ("steward", "analyst", "dashboard")),
    ("analyst", "POST", "/v1/releases/{release}/access", {"samples": 1}),
]


async def test_foreign_ids_answer_like_unknown_ones(world: World):
    other = await new_world(world.runtime)
    dataset = await other.dataset()
    release = await other.published(dataset)
    theirs = await other.buyer(dataset, release, 5)
    foreign = {"dataset": dataset, "release": release, "person": theirs.id, "key": theirs.who.key_id}
    foreign["population"] = await other.population()
    askers = {role: await world.person(role) for role in ("analyst", "dashboard", "auditor")} | {"steward": world.boss}
    async with over_http(world.runtime) as client:
        for role, method, path, body in CALLS:
            seen = []
            for ids in (foreign, UNKNOWN):
                headers = askers[role].headers | {"X-Request-Id": "same"}
                answer = await client.request(method, path.format(**ids), json=body, headers=headers)
                text = answer.text
                for name, value in ids.items():
                    text = text.replace(value, name)
                varying = {"content-length", "etag", "ratelimit"}
                rest = {name: value for name, value in answer.headers.items() if name not in varying}
                seen.append((answer.status_code, rest, text))
            assert seen[0] == seen[1], (role, method, path)
            assert seen[0][0] == (200 if "?" in path else 404)


async def test_what_is_pending_shows_an_analyst_only_that(world: World):
    dataset = await world.dataset()
    requested = await world.request(dataset)
    analyst = await world.person("analyst")
    await world.cap(dataset, analyst)
    async with over_http(world.runtime) as client:

        async def shown() -> dict[str, object]:
            answer = await client.get(f"/v1/releases/{requested.id}", headers=analyst.headers)
            view: dict[str, object] = answer.json()
            return view

        pending = await shown()
        assert pending["status"] == "pending"
        for end, body in (("query", QUESTION), ("access", b'{"samples":1}')):
            path = f"/v1/releases/{requested.id}/{end}"
            answer = await client.post(path, content=body, headers=analyst.headers)
            assert (answer.status_code, answer.json()["code"]) == (409, "release_not_ready")
        for path in upload_files(world.runtime):
            path.unlink()
        await world.work()
        withdrawn = await shown()
        assert withdrawn == pending | {"status": "withdrawn"}
        answer = await client.post(f"/v1/releases/{requested.id}/query", content=QUESTION, headers=analyst.headers)
        assert (answer.status_code, answer.json()["code"]) == (409, "release_withdrawn")
        reason = str((await world.release(requested.id)).reason)
        assert reason not in answer.text
