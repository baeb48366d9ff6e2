"""Malformed, oversized and nonsensical requests are 4xx problems with stable codes."""

import json
import math
from typing import Any

import httpx
import pytest

from app.settings import Settings
from tests.api.conftest import COLUMNS, MODEL, QUESTION, ROWS, Service, started

pytestmark = pytest.mark.engine_in_turn

DATASET = {
    "name": "hostile",
    "columns": COLUMNS,
    "budget": {"epsilon": 3.0, "delta": 1e-6},
    "source": {"kind": "upload", "retain": False},
}
RAW = [
    (b"", "malformed_body"),
    (b"{", "malformed_body"),
    (b'{"budget": NaN}', "malformed_body"),
    (b'{"name": "a", "name": "b"}', "malformed_body"),
    (b"[" * 5000, "malformed_body"),
    (b'"\xff"', "malformed_body"),
    (b'"\\ud800"', "malformed_body"),
    (b'{"n": 1e999}', "invalid_request"),
    (b'{"n": 99999999999999999999}', "invalid_request"),
    (b"[]", "invalid_request"),
    (b"null", "invalid_request"),
    (b"1", "invalid_request"),
    (b"{}", "invalid_request"),
]
JSON_ROUTES = [
    ("POST", "/datasets"),
    ("POST", "/plans"),
    ("POST", "/analysts"),
    ("PUT", "/datasets/ds_x/analysts/an_x"),
    ("POST", "/datasets/ds_x/releases"),
    ("POST", "/analysts/an_x/keys"),
]


def is_problem(answer: httpx.Response) -> bool:
    body = answer.json()
    return (
        answer.headers["content-type"] == "application/problem+json"
        and body["status"] == answer.status_code
        and body["type"] == f"urn:postern:problem:{body['code']}"
    )


async def test_every_json_route_refuses_what_is_not_json(known: Service):
    headers = {"Content-Type": "application/json"}
    for method, path in JSON_ROUTES:
        for raw, code in RAW:
            if raw == b"{}" and path.endswith("an_x"):
                continue
            answer = await known.call("steward", method, path, content=raw, headers=headers)
            assert is_problem(answer), answer.text
            assert answer.json()["code"] == code, f"{method} {path} {raw[:30]!r}: {answer.text}"


async def test_questions_that_are_not_json_are_refused_too(service: Service):
    release = await service.release(await service.dataset(), samples=5)
    headers = {"Content-Type": "application/json"}
    for path in (f"/releases/{release}/query", f"/releases/{release}/queries"):
        for raw, _ in RAW:
            answer = await service.call("steward", "POST", path, content=raw, headers=headers)
            assert answer.status_code in (400, 422), f"{path} {raw[:30]!r}: {answer.text}"
            assert is_problem(answer)
        text = await service.call("steward", "POST", path, content=b"{}", headers={"Content-Type": "text/plain"})
        assert (text.status_code, text.json()["code"]) == (415, "unsupported_format")


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("unknown field", {"surprise": 1}),
    ("name of the wrong type", {"name": 7}),
    ("empty name", {"name": ""}),
    ("endless name", {"name": "x" * 201}),
    ("name with a newline", {"name": "a\nb"}),
    ("no columns", {"columns": {}}),
    ("columns as a list", {"columns": []}),
    ("unknown column type", {"columns": {"a": {"type": "complex"}}}),
    ("bounds the wrong way round", {"columns": {"a": {"type": "real", "lower": 1, "upper": 0}}}),
    ("columns that differ by case only", {"columns": {"a": {"type": "binary"}, "A": {"type": "binary"}}}),
    ("zero epsilon", {"budget": {"epsilon": 0, "delta": 1e-6}}),
    ("negative epsilon", {"budget": {"epsilon": -1, "delta": 1e-6}}),
    ("epsilon as text", {"budget": {"epsilon": "3", "delta": 1e-6}}),
    ("epsilon true", {"budget": {"epsilon": True, "delta": 1e-6}}),
    ("vacuous epsilon", {"budget": {"epsilon": 1e5, "delta": 1e-6}}),
    ("delta of one", {"budget": {"epsilon": 3, "delta": 1}}),
    ("zero delta", {"budget": {"epsilon": 3, "delta": 0}}),
    ("no rows a person", {"privacy_unit": {"column": "who", "max_rows": 0}}),
    ("unit without a column", {"privacy_unit": {"max_rows": 1}}),
    ("unknown source", {"source": {"kind": "telepathy"}}),
    ("source of the wrong type", {"source": "upload"}),
    ("nobody", {"n": 0}),
    ("a fraction of a person", {"n": 1.5}),
]


async def test_a_dataset_that_makes_no_sense_is_refused_by_field(service: Service):
    for what, change in CHANGES:
        answer = await service.call("steward", "POST", "/datasets", {**DATASET, **change})
        assert answer.status_code == 422, f"{what}: {answer.text}"
        assert answer.json()["errors"][0]["field"], what
    assert (await service.expect(200, "steward", "GET", "/datasets"))["items"] == []


async def test_a_release_that_makes_no_sense_is_refused_and_charges_nothing(service: Service):
    dataset = await service.dataset()
    mechanism = {"kind": "baps", "samples": 10, "temperature": 1.0}
    changes: list[tuple[str, str]] = []
    for model, wanted in (
        ({**MODEL, "family": "unknown"}, "invalid_model"),
        ({**MODEL, "column": "nowhere"}, "invalid_model"),
        ({**MODEL, "column": "days"}, "invalid_model"),
        ({**MODEL, "trim": 0.5}, "invalid_model"),
        ({**MODEL, "trim": -1}, "invalid_model"),
        ({**MODEL, "prior": {"alpha": 0, "beta": 1}}, "invalid_model"),
        ({**MODEL, "surprise": 1}, "invalid_model"),
    ):
        answer = await service.call(
            "steward", "POST", f"/datasets/{dataset}/releases", {"model": model, "mechanism": mechanism}
        )
        changes.append((answer.json()["code"], wanted))
    for change in ({"samples": 0}, {"samples": 1e3}, {"samples": 10**9}, {"temperature": 2}, {"kind": "magic"}):
        answer = await service.call(
            "steward", "POST", f"/datasets/{dataset}/releases", {"model": MODEL, "mechanism": {**mechanism, **change}}
        )
        changes.append((answer.json()["code"], "invalid_mechanism"))
    assert all(found == wanted for found, wanted in changes), changes
    spent = await service.expect(200, "steward", "GET", f"/datasets/{dataset}")
    assert spent["budget"]["spent_epsilon"] == 0


@pytest.mark.parametrize("key", ["", "x" * 201, "ü", "a\x7f"])
async def test_an_idempotency_key_must_be_short_printable_ascii(known: Service, key: str):
    headers = {"Idempotency-Key": key.encode()}
    answer = await known.call("steward", "POST", "/datasets/ds_x/releases", {}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=x", "limit=1.5", "cursor=", "cursor=%00", "cursor=x"])
async def test_strange_pages_are_refused_not_guessed(known: Service, query: str):
    for path in ("/datasets", "/releases", "/analysts"):
        answer = await known.call("steward", "GET", f"{path}?{query}")
        assert answer.status_code == 422, f"{path}?{query}: {answer.text}"


@pytest.mark.parametrize("garbage", ["%00", "a%20b", "..%2f..", "x" * 65, "%F0%9F%92%A9", "'%20OR%201=1"])
async def test_garbage_in_an_address_is_a_4xx_problem(known: Service, garbage: str):
    for method, path in (
        ("GET", f"/datasets/{garbage}"),
        ("GET", f"/releases/{garbage}"),
        ("GET", f"/releases/{garbage}/card"),
        ("DELETE", f"/keys/{garbage}"),
        ("GET", f"/datasets/{garbage}/ledger"),
    ):
        answer = await known.call("steward", method, path)
        assert answer.status_code in (404, 405, 422), f"{method} {path}: {answer.text}"
        assert is_problem(answer)


async def test_a_body_over_the_limit_is_refused_before_it_is_parsed(known: Service):
    body = json.dumps({**DATASET, "name": "x" * (1024 * 1024)}).encode()
    answer = await known.call("steward", "POST", "/datasets", content=body)
    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


async def test_an_upload_over_its_limit_is_refused_and_leaves_nothing_behind(api_settings: Settings):
    folder = api_settings.data_dir / "uploads"
    async with started(api_settings.model_copy(update={"upload_bytes_max": 1000})) as service:
        dataset = (await service.expect(201, "steward", "POST", "/datasets", DATASET))["id"]
        sent = {"content": ROWS.encode(), "headers": {"Content-Type": "text/csv"}}
        refused = await service.expect(413, "steward", "PUT", f"/datasets/{dataset}/data", **sent)
        assert refused["code"] == "payload_too_large"
        assert (await service.expect(200, "steward", "GET", f"/datasets/{dataset}"))["n"] is None
        assert list(folder.iterdir()) == []


async def test_questions_with_numbers_that_overflow_are_refused(service: Service):
    release = await service.release(await service.dataset(), samples=5)
    headers = {"Content-Type": "application/json"}
    for number in ("1e999", "-1e999", "9" * 400):
        raw = json.dumps(QUESTION).replace("0.95", number).encode()
        answer = await service.call("steward", "POST", f"/releases/{release}/query", content=raw, headers=headers)
        assert answer.status_code in (400, 422), answer.text
    with pytest.raises(ValueError, match="JSON"):
        await service.call("steward", "POST", f"/releases/{release}/query", {**QUESTION, "confidence": math.nan})
