"""Every call there is, on real rows and on a rehearsal of them: the same answers, and neither ever becomes the other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from app.services.runtime.identifiers import is_rehearsal
from app.storage.tables import accounts, datasets, ledger_entries, releases
from tests.conftest import POSTGRES_DEEP
from tests.deep import deep
from tests.services.world import CAP, COLUMNS, MODEL, QUESTION, Person, World, over_http, release_spec, rows

DOCUMENT = Path(__file__).parents[2] / "openapi" / "openapi.json"
SPELLINGS: list[dict[str, Any]] = [
    {"rehearsal": True},
    {"rehearsal": False, "source": {"kind": "upload", "retain": True}},
]
"""What somebody may add to a body who wants to turn one into the other."""
UNLIKE = {"upload_data": (200, 409)}
"""All that real rows can do and made-up ones cannot: rows of anybody never come into a rehearsal."""


def bodies(name: str, dataset: str) -> dict[str, Any]:
    """For each call that takes one. `name` is new every time."""
    declared = {"name": name, "columns": COLUMNS, "budget": CAP, "source": {"kind": "upload"}}
    return {
        "create_analyst": {"name": name, "role": "analyst"},
        "create_key": {"label": name},
        "create_dataset": declared,
        "create_population": {"name": name, "budget": CAP},
        "change_dataset": {"name": name, "description": "d"},
        "change_population": {"name": name, "description": "d"},
        "set_cap": CAP,
        "rehearse_dataset": {"name": f"{name} rehearsed", "n": 20},
        "request_release": release_spec(2),
        "plan_statistics": release_spec(2),
        "plan_release": {
            "models": [{"model": MODEL}],
            "account": dataset,
            "n": 7,
        },  # refused, by the account's owner only
        "buy_access": {"samples": 1},
        "answer_query": json.loads(QUESTION),
        "answer_queries": {"queries": [json.loads(QUESTION)]},
    }


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(method, path, name): what waits is cancelled first, deletions come last."""
    found = [
        (method.upper(), path, described["operationId"])
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    ]
    yield from sorted(found, key=lambda each: (each[0] == "DELETE", each[2] != "cancel_release", each[1]))


async def send(client: httpx.AsyncClient, who: Person, method: str, path: str, name: str, body: Any) -> httpx.Response:
    more: dict[str, Any] = {} if body is None else {"json": body}
    if name in ("upload_data", "draft_schema"):
        more = {"content": rows()}
        return await client.request(method, path, headers=who.headers | {"content-type": "text/csv"}, **more)
    return await client.request(method, path, headers=who.headers, **more)


class Place:
    """A dataset with a published release, an analyst who may buy it, and whoever owns it."""

    def __init__(self, owner: Person, analyst: Person, dataset: str, release: str, waiting: str) -> None:
        self.owner, self.analyst = owner, analyst
        self.ids = {"dataset_id": dataset, "release_id": release, "analyst_id": analyst.id}
        self.waiting = waiting

    def path(self, template: str, name: str, population: str) -> str:
        ids = self.ids | {"population_id": population, "key_id": "none", "audit_id": "none"}
        return template.format(**(ids | ({"release_id": self.waiting} if name == "cancel_release" else {})))

    @property
    def dataset(self) -> str:
        return self.ids["dataset_id"]


async def two_places(
    world: World, owners: dict[str, Person], analyst: Person, client: httpx.AsyncClient
) -> list[Place]:
    async def requested(dataset: str) -> str:
        asked = await client.post(
            f"/v1/datasets/{dataset}/releases", json=release_spec(2), headers=owners[dataset].headers
        )
        assert asked.status_code == 202, asked.text
        return str(asked.json()["id"])

    published = {dataset: await requested(dataset) for dataset in owners}
    await world.work()
    return [Place(owner, analyst, name, published[name], await requested(name)) for name, owner in owners.items()]


@pytest.mark.slow
@POSTGRES_DEEP
@pytest.mark.parametrize("role", ["analyst", deep("steward")])
async def test_every_call_answers_a_rehearsal_as_it_does_real_rows_and_turns_neither_into_the_other(
    world: World, role: str
) -> None:
    """The rehearsal is made, and owned, by an analyst with a cap on the dataset, or by its steward."""
    async with over_http(world.runtime) as client:
        ada, population = await world.person("analyst", "ada"), await world.population()
        owner, real = ada if role == "analyst" else world.boss, await world.dataset()
        await world.cap(real, ada)
        asked = await client.post(f"/v1/datasets/{real}/rehearsals", json={"n": 50}, headers=owner.headers)
        rehearsed = asked.json()["id"]
        if role == "steward":
            await world.cap(rehearsed, ada)
        places = await two_places(world, {real: world.boss, rehearsed: owner}, ada, client)
        steps = list(operations(json.loads(DOCUMENT.read_text())))
        assert bodies("x", "x").keys() <= {name for _, _, name in steps}
        for number, (method, template, name) in enumerate(steps):
            of_a_place = "{dataset_id}" in template or "{release_id}" in template
            found = []
            for here in places if of_a_place or method != "GET" else places[1:]:
                who = here.analyst if name == "buy_access" else here.owner
                body = bodies(f"{number} {here.dataset}", here.dataset).get(name)
                path = here.path(template, name, population)
                answer = await send(client, who, method, path, name, body)
                found.append(answer.status_code)
                assert answer.status_code < 500, (name, answer.text)
                for more in SPELLINGS if body is not None and of_a_place else ():
                    turned = await send(client, who, method, path, name, body | more)
                    assert turned.status_code == 422, (name, more, turned.text)
            if of_a_place:
                assert tuple(found) == UNLIKE.get(name, (found[0],) * 2), (name, found)
            if method != "GET":
                await check_apart(world)
        await world.work()
        await check_apart(world)
        assert await world.verified()


async def check_apart(world: World) -> None:
    """Ids, seeds, sources, accounts, lines, populations: all of made-up rows, or none."""
    async with world.runtime.database.read() as connection:
        found = (await connection.execute(select(datasets))).all()
        owned = (await connection.execute(select(releases.c.id, releases.c.dataset_id))).all()
        lines = (
            await connection.execute(
                select(ledger_entries.c.release_id, accounts.c.dataset_id).join(
                    accounts, accounts.c.id == ledger_entries.c.account_id
                )
            )
        ).all()
    for row in found:
        assert is_rehearsal(row.id) == (row.rehearsal is not None)
        assert row.rehearsal is None or (row.population is None and json.loads(row.source)["kind"] == "upload")
    for release, dataset in owned:
        assert is_rehearsal(release) == is_rehearsal(dataset)
    for release, dataset in lines:
        if release is not None and dataset is not None:
            assert is_rehearsal(release) == is_rehearsal(dataset)
