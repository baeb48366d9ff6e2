"""Every refusal is a problem with a stable code, and says nothing it should not."""

import json
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI, Query

import app.errors as errors
from app.api.middleware.envelope import EnvelopeMiddleware
from app.api.middleware.last_resort import LastResortMiddleware
from app.api.problems import BORN_OF_HTTP, MEDIA_TYPE, PROBLEMS, install_problem_handlers

SECRET = "canary-37-of-1000"


def all_codes() -> set[str]:
    found, waiting = set(), [errors.PosternError]
    while waiting:
        kind = waiting.pop()
        found.add(kind.code)
        waiting.extend(kind.__subclasses__())
    return found


RAISED = {
    "rows": errors.InvalidRows([errors.RowProblem(line=3, column="cured", expected="0 or 1")]),
    "expression": errors.InvalidExpression("utility.actions.buy", "a number", position=4),
    "fields": errors.InvalidRequest([errors.FieldProblem("a", "1"), errors.FieldProblem("b", "2")]),
    "anonymous": errors.Unauthenticated("a key is needed"),
    "revoked": errors.KeyRevoked("this key was revoked"),
    "away": errors.Unavailable("the database is away", retry_after_s=7),
    "spent": errors.BudgetExhausted("the budget does not cover this", left_epsilon=0.25),
    "sly": errors.BudgetExhausted("no", status=200, code="fine"),
    "ours": errors.PosternError(f"no code of its own: {SECRET}"),
    "crash": RuntimeError(SECRET),
    "ledger": errors.IntegrityFailure("entry 4 does not verify"),
}


def refusing_app() -> FastAPI:
    app = FastAPI()
    install_problem_handlers(app)
    app.add_middleware(LastResortMiddleware)
    app.add_middleware(EnvelopeMiddleware)

    @app.get("/raise/{name}")
    async def refuse(name: str) -> None:
        raise RAISED[name]

    @app.put("/raise/{name}")
    async def nothing(name: str) -> None: ...

    @app.get("/numbers")
    async def numbers(limit: Annotated[int, Query(ge=1, le=200)]) -> int:
        return limit

    return app


@pytest.fixture
async def client():
    transport = httpx.ASGITransport(app=refusing_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as found:
        yield found


def test_every_error_code_has_a_status_and_every_status_a_code():
    assert set(PROBLEMS) == all_codes() | BORN_OF_HTTP


def test_caller_mistakes_are_4xx_and_only_our_own_failures_5xx():
    ours = {code for code, (status, _) in PROBLEMS.items() if status >= 500}
    assert ours == {"internal", "integrity_failure", "unavailable", "too_busy", "ledger_untrusted"}


async def test_a_problem_names_code_status_title_detail_and_request(client):
    answer = await client.get("/raise/spent", headers={"X-Request-Id": "abc-123"})
    assert answer.status_code == 409
    assert answer.headers["content-type"] == MEDIA_TYPE
    assert answer.json() == {
        "type": "urn:postern:problem:budget_exhausted",
        "title": PROBLEMS["budget_exhausted"][1],
        "status": 409,
        "detail": "the budget does not cover this",
        "instance": "urn:postern:request:abc-123",
        "code": "budget_exhausted",
        "left_epsilon": 0.25,
    }


async def test_facts_cannot_replace_the_members_of_the_standard(client):
    answer = await client.get("/raise/sly")
    assert (answer.status_code, answer.json()["status"], answer.json()["code"]) == (409, 409, "budget_exhausted")


async def test_field_problems_and_row_problems_are_listed(client):
    fields = (await client.get("/raise/fields")).json()
    assert fields["errors"] == [{"field": "a", "expected": "1"}, {"field": "b", "expected": "2"}]
    rows = (await client.get("/raise/rows")).json()
    assert rows["rows"] == [{"line": 3, "column": "cured", "expected": "0 or 1"}]
    assert (await client.get("/raise/expression")).json()["position"] == 4


async def test_a_missing_key_is_told_how_to_authenticate(client):
    anonymous, revoked = await client.get("/raise/anonymous"), await client.get("/raise/revoked")
    assert anonymous.headers["www-authenticate"] == 'Bearer realm="postern"'
    assert revoked.headers["www-authenticate"] == 'Bearer realm="postern", error="invalid_token"'
    assert (anonymous.status_code, revoked.status_code) == (401, 401)


async def test_what_is_away_says_when_to_come_back(client):
    answer = await client.get("/raise/away")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "7")


@pytest.mark.parametrize("name", ["ours", "crash"])
async def test_an_unexpected_failure_reveals_nothing_of_itself(client, name, capsys):
    answer = await client.get(f"/raise/{name}", headers={"X-Request-Id": "find-me"})
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert answer.json()["instance"].endswith("find-me")
    logged = "".join(capsys.readouterr())
    assert SECRET not in answer.text + logged
    assert "find-me" in logged


async def test_unknown_addresses_are_not_found(client):
    answer = await client.get("/nowhere")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


async def test_a_wrong_method_is_told_all_the_right_ones(client):
    answer = await client.delete("/raise/x")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, PUT"


async def test_a_bad_parameter_is_named_and_its_value_is_not_repeated(client):
    answer = await client.get("/numbers", params={"limit": SECRET})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert answer.json()["errors"][0]["field"] == "query.limit"
    assert SECRET not in json.dumps(answer.json())
