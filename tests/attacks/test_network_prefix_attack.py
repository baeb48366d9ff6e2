"""A network's later samples are replaced in the database: whoever holds the first few believes, and reads, what they did before.

`test_prefix_attack.py` asks every route about one parameter. A network's belief is another computation, of chains with a length
and random numbers of their own: a prefix rule of its own could go wrong there.
"""

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.services.runtime.runtime import Runtime
from tests.conftest import Backend
from tests.services.test_every_kind import hospital
from tests.services.world import Person, new_world, over_http, services, settings_for

PEOPLE, DRAWN, HELD = 20, 8, 3
MODEL = {"family": "network", "nodes": {"sick": {}, "test": {"parents": ["sick"]}}, "trim": 0.05}
MECHANISM = {"kind": "baps", "samples": DRAWN, "temperature": 0.5}
SICK = {"kind": "probability", "event": {"sick": True}}
ESTIMANDS: list[dict[str, Any]] = [SICK, SICK | {"evidence": {"test": True}}]
UTILITIES: list[dict[str, Any]] = [{"kind": "squared"}, {"kind": "interval", "level": 0.9}]
VIEWS = ("calibrated", "samples")
READINGS = ("summary", "samples", "samples?format=csv", "density?parameter=", "synthetic?rows=300&seed=3")
OF_THE_REQUEST = frozenset({"x-request-id", "ratelimit"})

Reply = tuple[int, list[tuple[str, str]], bytes]


async def everything(runtime: Runtime, who: Person, release: str) -> dict[str, Reply]:
    """Status, headers and bytes of every reading and question, in either view."""
    root = f"/v1/releases/{release}"
    async with over_http(runtime) as client:
        public = (await client.get(root, headers=who.headers)).json()
        found = {}
        for view in VIEWS:
            for path in READINGS:
                named = path + public["parameters"][0]["name"] if path.endswith("=") else path
                joined = named if path.startswith("synthetic") else f"{named}{'&' if '?' in named else '?'}view={view}"
                found[f"{view} {path}"] = await client.get(f"{root}/{joined}", headers=who.headers)
            for number, (estimand, utility) in enumerate((e, u) for e in ESTIMANDS for u in UTILITIES):
                body = {"estimand": estimand, "utility": utility, "view": view}
                found[f"{view} question {number}"] = await client.post(f"{root}/query", json=body, headers=who.headers)
                batch = {"queries": [body]}
                found[f"{view} batch {number}"] = await client.post(f"{root}/queries", json=batch, headers=who.headers)
    assert {reply.status_code for reply in found.values()} == {200}, [reply.text[:200] for reply in found.values()]
    return {
        name: (
            reply.status_code,
            sorted((n, v) for n, v in reply.headers.items() if n not in OF_THE_REQUEST),
            reply.content,
        )
        for name, reply in found.items()
    }


def replace_samples(database: Path, release: str, first: int, last: int) -> None:
    """As whoever can write to the file: samples from `first` on, up to `last`, have their shares the other way round."""
    connection = sqlite3.connect(database)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        if name.startswith("sample_sets"):
            connection.execute(f"DROP TRIGGER {name}")
    (body,) = connection.execute("SELECT body FROM sample_sets WHERE release_id = ?", (release,)).fetchone()
    values = np.frombuffer(body).reshape(DRAWN, -1, 2).copy()
    values[first:last] = values[first:last, :, ::-1]
    connection.execute("UPDATE sample_sets SET body = ? WHERE release_id = ?", (values.tobytes(), release))
    connection.commit()
    connection.close()


@pytest.mark.slow
async def test_no_belief_about_a_network_depends_on_a_sample_beyond_the_prefix(
    sqlite_backend: Backend, tmp_path: Path
) -> None:
    settings = settings_for(sqlite_backend, tmp_path)
    database = Path(sqlite_backend.database_url.removeprefix("sqlite:///"))
    async with services(settings, random_bytes=np.random.default_rng(5).bytes) as runtime:
        world = await new_world(runtime)
        dataset = await hospital(world, people=PEOPLE)
        release = await world.published(dataset, model=MODEL, mechanism=MECHANISM)
        ann = await world.buyer(dataset, release, HELD)
        hers, whole = [await everything(runtime, who, release) for who in (ann, world.boss)]
    replace_samples(database, release, HELD, DRAWN)
    async with services(settings) as runtime:
        assert await everything(runtime, ann, release) == hers
        assert_other_beliefs(await everything(runtime, world.boss, release), whole)
    replace_samples(database, release, HELD - 1, HELD)
    async with services(settings) as runtime:
        assert_other_beliefs(await everything(runtime, ann, release), hers)


def assert_other_beliefs(found: dict[str, Reply], before: dict[str, Reply]) -> None:
    """Whoever may read what was replaced sees that it was, in everything calibrated."""
    for name in before:
        assert not name.startswith("calibrated") or found[name][2] != before[name][2], name
