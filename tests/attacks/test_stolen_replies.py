"""Whoever takes the database, or another key of the same person, opens no stored answer."""

from typing import Any

import httpx
import pytest
from sqlalchemy import text

from app.services.people.keys import create_key
from tests.services.world import World, over_http

pytestmark = pytest.mark.engine_in_turn

SECRET_KEY = "rotation-of-march"


async def _post(client: httpx.AsyncClient, path: str, body: Any, token: str, key: str = SECRET_KEY) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
    return await client.post(f"/v1{path}", json=body, headers=headers)


async def _stored(world: World) -> bytes:
    """Every value of the table, as bytes; times apart."""
    async with world.runtime.database.read() as connection:
        rows = (await connection.execute(text("SELECT * FROM idempotency_keys"))).all()
    values = [
        bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode() for row in rows for value in row
    ]
    return b"\n".join(values)


async def test_a_stolen_table_shows_neither_tokens_nor_keys_nor_answers(world: World):
    analyst = await world.person("analyst", "ada-of-the-stolen-table")
    async with over_http(world.runtime) as client:
        made = await _post(client, f"/analysts/{analyst.id}/keys", {"label": "laptop-label"}, world.boss.token)
    assert made.status_code == 201
    token = made.json()["token"]
    stored = await _stored(world)
    assert len(stored) > 300
    for secret in (token, token.split("_", 2)[2], SECRET_KEY, "laptop-label", world.boss.token, made.text):
        assert secret.encode() not in stored


async def test_another_key_of_the_same_person_gets_no_answer_and_does_no_work(world: World):
    """It is told that the request was made and, if that has an address, where."""
    second = await create_key(world.runtime, actor=None, principal_id=world.boss.id, label="second", expires_us=None)
    body = {
        "name": "twice",
        "columns": {"cured": {"type": "binary"}},
        "budget": {"epsilon": 1.0, "delta": 1e-6},
        "source": {"kind": "upload", "retain": True},
    }
    async with over_http(world.runtime) as client:
        made = await _post(client, "/datasets", body, world.boss.token)
        refused = await _post(client, "/datasets", body, str(second.token))
        listed = await client.get("/v1/datasets", headers=world.boss.headers)
    assert made.status_code == 201
    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")
    assert refused.json()["location"] == made.headers["location"]
    assert [item["id"] for item in listed.json()["items"]] == [made.json()["id"]]


@pytest.mark.parametrize("change", ["sealed", "input_hash", "route"])
async def test_an_answer_moved_or_changed_in_the_table_is_never_given(world: World, change: str):
    """Ciphertext of one row in another, or one bit of it turned, is a refusal and not another answer."""
    async with over_http(world.runtime) as client:
        for name, key in (("one", "key-1"), ("two", "key-2")):
            assert (await _post(client, "/analysts", {"name": name}, world.boss.token, key)).status_code == 201
        async with world.runtime.database.write() as connection:
            rows = (await connection.execute(text("SELECT key_digest, sealed, input_hash FROM idempotency_keys"))).all()
            swapped = {"sealed": (rows[1][1], rows[0][0]), "input_hash": (rows[1][2], rows[0][0])}
            if change == "route":
                await connection.execute(text("UPDATE idempotency_keys SET route = 'POST /v1/elsewhere'"))
            else:
                value, digest = swapped[change]
                statement = text(f"UPDATE idempotency_keys SET {change} = :value WHERE key_digest = :digest")
                await connection.execute(statement, {"value": value, "digest": digest})
        codes = set()
        for name, key in (("one", "key-1"), ("two", "key-2")):
            again = await _post(client, "/analysts", {"name": name}, world.boss.token, key)
            codes.add(again.status_code)
            assert again.status_code == 409 or again.json()["name"] == name
        people = await client.get("/v1/analysts", headers=world.boss.headers)
    assert 409 in codes
    assert sorted(item["name"] for item in people.json()["items"]) == ["one", "two"]
