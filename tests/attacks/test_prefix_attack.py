"""Two databases that differ in samples 51 and later only: whoever holds 50 cannot tell them apart, by anything sent.

Every route of the application is called, so a new one is covered or fails the first test.
"""

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import redis as client_library
from starlette.routing import Route

from app.api.application import build_api
from app.errors import AccessRequired, BudgetExhausted, InvalidInput, NotFound
from app.ledger.account import admits, charge, open_account
from app.ledger.amounts import upgrade_charge
from app.services.reading.answer_query import answer_query
from app.services.reading.exports import FORMATS, SYNTHETIC_FORMATS
from app.services.releases.buy_access import buy_access
from app.services.releases.stored_release import cost_from_json
from app.services.runtime.runtime import Runtime
from tests.conftest import POSTGRES_DEEP, Backend
from tests.servers.postgres import PostgresServer
from tests.services.world import (
    COLUMNS,
    QUESTION,
    Person,
    World,
    at_once,
    new_world,
    over_http,
    release_spec,
    services,
    settings_for,
)

HELD, DRAWN, DRAW_BYTES = 50, 80, 32
NOW_US = 1_800_000_000_000_000
UTILITIES = (
    '{"kind":"squared"}', '{"kind":"absolute"}', '{"kind":"pinball","tau":0.25}', '{"kind":"interval","level":0.9}',
)  # fmt: skip
QUESTIONS = [QUESTION.replace(b'{"kind":"squared"}', utility.encode()) for utility in UTILITIES]
QUESTIONS += [b'{"utility":{"kind":"actions","actions":{"a":"theta","b":"1-theta"},"range":[0,1]}}', b'{"estimand":7}']
QUESTIONS += [QUESTION[:-1] + b',"view":"calibrated"}', QUESTIONS[3][:-1] + b',"view":"calibrated"}']
BATCH = b'{"queries":[' + b",".join(QUESTIONS) + b"]}"
JSON = {"Content-Type": "application/json"}

Recipes = dict[tuple[str, str], list[dict[str, Any]]]


class Cast:
    """The people of both twins, and the ids every path is filled with."""

    def __init__(self, dataset: str, release: str, **people: Person) -> None:
        self.people = people
        self.ids = {"dataset_id": dataset, "release_id": release, "analyst_id": people["analyst"].id}
        self.ids |= {"key_id": people["analyst"].who.key_id, "population_id": "pop_any"}
        self.ids |= {"audit_id": "aud_any", "version": "0", "name": "page.js"}


def recipes(dataset_id: str) -> Recipes:
    """How to call each route: bodies that are right, and some that are refused with facts."""
    nothing: list[dict[str, Any]] = [{}]
    spec = release_spec(samples=3)
    dataset = {"name": "own", "columns": COLUMNS, "budget": {"epsilon": 1.0, "delta": 1e-6}}
    return {
        ("GET", "/openapi.json"): nothing,
        ("GET", "/"): nothing,
        ("GET", "/docs"): nothing,
        ("GET", "/docs/{version}/{name}"): nothing,
        ("GET", "/healthz"): nothing,
        ("GET", "/readyz"): nothing,
        ("GET", "/metrics"): nothing,
        ("GET", "/v1/me"): nothing,
        ("POST", "/v1/plans"): [{"json": spec | {"n": 400}}, {"json": {}}],
        ("GET", "/v1/releases"): [{}, {"params": {"dataset": dataset_id, "limit": 1}}],
        ("GET", "/v1/releases/{release_id}"): nothing,
        ("GET", "/v1/releases/{release_id}/card"): nothing,
        ("GET", "/v1/releases/{release_id}/check"): nothing,
        ("GET", "/v1/releases/{release_id}/summary"): [
            {}, {"params": {"level": 0.5}}, {"params": {"parameter": "x"}}, {"params": {"view": "calibrated"}},
            {"params": {"layout": "long", "format": "csv"}},
        ],
        ("GET", "/v1/releases/{release_id}/density"): [
            {}, {"params": {"kind": "density"}}, {"params": {"bins": 0}}, {"params": {"view": "calibrated"}},
            {"params": {"layout": "long", "format": "parquet"}},
        ],
        ("GET", "/v1/releases/{release_id}/samples"): [
            {"params": {"format": name}, "headers": {"Accept-Encoding": coding}}
            for name in (*FORMATS, "no such format") for coding in ("identity", "gzip")
        ] + [{"params": {"format": name, "view": "calibrated"}} for name in ("json", "csv")]
        + [{"params": {"format": name, "layout": "long"}} for name in ("json", "arrow")],
        ("GET", "/v1/releases/{release_id}/synthetic"): [
            {"params": {"rows": rows, "seed": 3, "format": name}} for rows in (0, 40) for name in SYNTHETIC_FORMATS
        ],
        ("POST", "/v1/releases/{release_id}/access"): [{"json": {"samples": k}} for k in (1, HELD, HELD + 1, DRAWN + 1)],
        ("POST", "/v1/releases/{release_id}/query"): [{"content": body, "headers": JSON} for body in QUESTIONS],
        ("POST", "/v1/releases/{release_id}/queries"): [{"content": BATCH, "headers": JSON}],
        ("POST", "/v1/datasets"): [{"json": dataset}],
        ("GET", "/v1/datasets"): nothing,
        ("GET", "/v1/datasets/{dataset_id}"): nothing,
        ("PUT", "/v1/datasets/{dataset_id}/data"): [{"content": b"cured,days\n1,1\n", "headers": {"Content-Type": "text/csv"}}],
        ("PATCH", "/v1/datasets/{dataset_id}"): [{"json": {"description": "mine"}}, {"json": {"archived": True}}],
        ("DELETE", "/v1/datasets/{dataset_id}"): nothing,
        ("POST", "/v1/datasets/{dataset_id}/rehearsals"): [{"json": {"n": 0}}, {"json": {"n": 10**9}}],  # ids are random
        ("POST", "/v1/populations"): [{"json": {"name": "us", "budget": {"epsilon": 1.0, "delta": 1e-6}}}],
        ("GET", "/v1/populations"): nothing,
        ("GET", "/v1/populations/{population_id}"): nothing,
        ("DELETE", "/v1/populations/{population_id}"): nothing,
        ("GET", "/v1/populations/{population_id}/ledger"): nothing,
        ("PATCH", "/v1/populations/{population_id}"): [{"json": {"name": "them"}}],
        ("GET", "/v1/audits"): nothing,
        ("POST", "/v1/audits"): [{"json": {}}],
        ("GET", "/v1/audits/{audit_id}"): nothing,
        ("GET", "/v1/audits/{audit_id}/report"): nothing,
        ("GET", "/v1/datasets/{dataset_id}/progress"): nothing,
        ("GET", "/v1/datasets/{dataset_id}/progress/events"): nothing,
        ("GET", "/v1/releases/{release_id}/progress"): nothing,
        ("GET", "/v1/releases/{release_id}/progress/events"): nothing,
        ("GET", "/v1/statistics/key"): [{"params": {"no": "key"}, "headers": {"Authorization": "Bearer none"}}],
        ("POST", "/v1/datasets/{dataset_id}/statistics"): [{"json": spec}],
        ("POST", "/v1/releases/{release_id}/inference"): [{"json": {"people": {"kind": "household", "size": 4}}}],
        ("POST", "/v1/schemas/draft"): [{"content": b"cured,days\n"}],
        ("POST", "/v1/releases/{release_id}/cancel"): nothing,
        ("POST", "/v1/datasets/{dataset_id}/releases"): [{"json": spec}],
        ("PUT", "/v1/datasets/{dataset_id}/analysts/{analyst_id}"): [{"json": {"epsilon": 1.0, "delta": 1e-6}}],
        ("DELETE", "/v1/datasets/{dataset_id}/analysts/{analyst_id}"): nothing,
        ("GET", "/v1/datasets/{dataset_id}/ledger"): nothing,
        ("GET", "/v1/ledger/head"): nothing,
        ("POST", "/v1/ledger/verify"): nothing,
        ("POST", "/v1/analysts"): [{"json": {"name": "new"}}],
        ("GET", "/v1/analysts"): nothing,
        ("POST", "/v1/analysts/{analyst_id}/keys"): [{"json": {"label": "new"}}],
        ("GET", "/v1/analysts/{analyst_id}/keys"): nothing,
        ("DELETE", "/v1/keys/{key_id}"): nothing,
    }  # fmt: skip


def routes() -> set[tuple[str, str]]:
    app = build_api(body_bytes_max=1)
    return {
        (method, route.path)
        for route in app.routes
        if isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}
    }


def coins(own: int) -> Callable[[int], bytes]:
    """Randomness of which the first 50 draws are common to both twins and the rest is each one's own."""
    common = np.random.default_rng(5).bytes(HELD * DRAW_BYTES)
    return lambda size: (common + np.random.default_rng(own).bytes(size))[:size]


async def every_response(client: httpx.AsyncClient, cast: Cast, person: Person | None) -> list[Any]:
    """Status, headers and body of everything, then again what has an ETag, with that ETag."""
    own = {"X-Request-Id": "same"} | (person.headers if person is not None else {})
    seen: list[Any] = []
    for (method, path), calls in recipes(cast.ids["dataset_id"]).items():
        for call in calls:
            sent = call | {"headers": own | call.get("headers", {})}
            answer = await client.request(method, path.format(**cast.ids), **sent)
            assert answer.status_code < 500, (path, answer.text)
            seen.append((method, path, shown(path, answer)))
            if "etag" in answer.headers:
                sent["headers"]["If-None-Match"] = answer.headers["etag"]
                again = await client.request(method, path.format(**cast.ids), **sent)
                seen.append((method, path, "again", shown(path, again)))
    return seen


def shown(path: str, answer: httpx.Response) -> tuple[int, list[tuple[str, str]], bytes]:
    """Everything that was sent; of the metrics the counts, since clocks never run alike twice."""
    # How many requests are left counts requests and seconds, nothing else.
    body, headers = answer.content, sorted((n, v) for n, v in answer.headers.items() if n != "ratelimit")
    if path == "/metrics":
        body = b"\n".join(line for line in body.splitlines() if line.startswith(b"postern_requests_total"))
        headers = [(name, value) for name, value in headers if name != "content-length"]
    return answer.status_code, headers, body


@asynccontextmanager
async def twin(
    backend: Backend, server: PostgresServer, folder: Path, cast: Cast, world: World, number: int
) -> AsyncIterator[Runtime]:
    """A copy of the database in which the release is drawn with its own coins."""
    place = folder / f"twin {number}"
    shutil.copytree(folder / "data", place / "data")
    copied = None
    if backend.name == "sqlite":
        path = Path(backend.database_url.removeprefix("sqlite:///"))
        for found in path.parent.glob(f"{path.name}*"):
            shutil.copyfile(found, place / found.name)
        url = f"sqlite:///{place / path.name}"
    else:
        copied = server.create_database(template=backend.database_url.rpartition("/")[2])
        url = server.url(copied)
    try:
        settings = settings_for(replace(backend, database_url=url), place)
        still: dict[str, Any] = {"clock": lambda: NOW_US, "monotonic": lambda: 0.0, "sleep": at_once}
        async with services(settings, **still, random_bytes=coins(number)) as runtime:
            if backend.redis_url is not None:
                with client_library.Redis.from_url(backend.redis_url) as client:
                    client.flushdb()  # twins share the server, and would share samples
            await world.on(runtime).work()
            await set_rights(world.on(runtime), cast)
            yield runtime
    finally:
        if copied is not None:
            server.drop_database(copied)


async def set_rights(world: World, cast: Cast) -> None:
    """A cap that covers exactly 50 samples, all of them bought; a dashboard granted 50."""
    dataset, release = cast.ids["dataset_id"], cast.ids["release_id"]
    cost = cost_from_json((await world.release(release)).cost).per_sample
    bought, more = upgrade_charge(cost, 0, HELD), upgrade_charge(cost, HELD, HELD + 1)
    budgets = [step / 100 for step in range(1, 2000)]

    def covers(epsilon: float) -> bool:
        account = open_account(dataset, epsilon=epsilon, delta=1e-6)
        return admits(account, bought) and not admits(charge(account, bought), more)

    await world.cap(dataset, cast.people["analyst"], epsilon=next(filter(covers, budgets)))
    await buy_access(world.runtime, analyst=cast.people["analyst"].analyst, release_id=release, samples=HELD)
    await world.cap(dataset, cast.people["dashboard"], samples=HELD)


async def prepared(backend: Backend, folder: Path) -> tuple[World, Cast]:
    """Everything up to the pending release, with all services closed again: databases are copied at rest."""
    async with services(settings_for(backend, folder), clock=lambda: NOW_US) as runtime:
        world = await new_world(runtime)
        dataset = await world.dataset()
        people = {role: await world.person(role, role) for role in ("analyst", "dashboard", "auditor")}
        requested = await world.request(dataset, samples=DRAWN)
    return world, Cast(dataset, requested.id, **people)


def test_every_route_has_a_recipe():
    assert set(recipes("ds_any")) == routes()


@pytest.mark.slow
@POSTGRES_DEEP
async def test_no_response_depends_on_a_sample_beyond_the_prefix(
    backend: Backend, tmp_path: Path, postgres_server: PostgresServer
):
    world, cast = await prepared(backend, tmp_path)
    readers: dict[str, Person | None] = {"nobody": None, **cast.people}
    seen: list[dict[str, list[Any]]] = []
    bodies, steward, beliefs = [], [], []
    for number in (1, 2):
        async with twin(backend, postgres_server, tmp_path, cast, world, number) as runtime:
            drawn = await world.on(runtime).samples(cast.ids["release_id"])
            assert drawn is not None
            bodies.append(drawn)
            question = {"release_id": cast.ids["release_id"], "body": QUESTION}
            steward.append(await answer_query(runtime, reader=world.steward, **question))
            believed = question | {"body": QUESTIONS[-1]}
            beliefs.append(await answer_query(runtime, reader=world.steward, **believed))
            async with over_http(runtime) as client:
                seen.append({name: await every_response(client, cast, person) for name, person in readers.items()})
    assert bodies[0][: HELD * 8] == bodies[1][: HELD * 8]
    assert bodies[0][HELD * 8 :] != bodies[1][HELD * 8 :]
    assert steward[0] != steward[1]
    assert beliefs[0] != beliefs[1]
    for name in readers:
        assert len(seen[0][name]) > len(routes())
        for one, other in zip(seen[0][name], seen[1][name], strict=True):
            assert one == other
    answered = [entry for entry in seen[0]["analyst"] if entry[1].endswith("/query") and entry[-1][0] == 200]
    assert len(answered) == len(QUESTIONS) - 1
    made = [entry for entry in seen[0]["analyst"] if entry[1].endswith("/synthetic") and entry[-1][0] == 200]
    assert len(made) == len(SYNTHETIC_FORMATS)


async def test_nobody_reads_beyond_what_they_paid_for_or_were_granted(world: World):
    dataset = await world.dataset()
    release = await world.published(dataset, samples=DRAWN)
    stranger, wall = await world.person("analyst"), await world.person("dashboard")
    await world.cap(dataset, stranger, epsilon=1e-9)
    with pytest.raises(AccessRequired):
        await answer_query(world.runtime, reader=stranger.reader, release_id=release, body=QUESTION)
    with pytest.raises(NotFound):
        await answer_query(world.runtime, reader=wall.reader, release_id=release, body=QUESTION)
    with pytest.raises(BudgetExhausted) as refused:
        await buy_access(world.runtime, analyst=stranger.analyst, release_id=release, samples=1)
    assert refused.value.facts["samples_affordable"] == 0
    for samples in (0, -1, DRAWN + 1):
        with pytest.raises(InvalidInput):
            await buy_access(world.runtime, analyst=stranger.analyst, release_id=release, samples=samples)
    await world.cap(dataset, wall, samples=DRAWN + 5)
    whole = await answer_query(world.runtime, reader=world.steward, release_id=release, body=QUESTION)
    assert await answer_query(world.runtime, reader=wall.reader, release_id=release, body=QUESTION) == whole
