"""Two databases that differ in what was drawn and measured for one part only: who paid for the other cannot tell them apart."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

from app.services.releases.buy_access import buy_access
from app.services.runtime.runtime import Runtime
from tests.conftest import Backend
from tests.services.world import Person, new_world, over_http, services, settings_for

RATE = {"family": "bernoulli", "column": "cured", "trim": 0.05}
NOISE = {"kind": "laplace", "samples": 40, "epsilon": 0.5}
PARTS = [
    {"name": "mine", "model": RATE, "mechanism": {"kind": "baps", "samples": 10}},
    {"name": "other", "model": RATE, "mechanism": NOISE},
]
HELD, HELD_BESIDE = 5, 7
PLAIN = {"model": RATE, "mechanism": {"kind": "baps", "samples": 9}}
OF_THE_REQUEST = frozenset({"x-request-id", "ratelimit"})
VIEWS = ("samples", "calibrated")
THETA = {"kind": "parameter", "name": "theta"}
REQUEST = re.compile(rb"urn:postern:request:\w+")


def questions() -> list[dict[str, Any]]:
    names = [("mine", "theta"), ("other", "theta"), (None, "mine.theta"), (None, "other.theta"), (None, "theta")]
    found = []
    for part, name in names:
        for view in VIEWS:
            asked = {"estimand": {"kind": "parameter", "name": name}, "utility": {"kind": "squared"}, "view": view}
            found.append(asked if part is None else asked | {"part": part})
    both = {"kind": "expression", "expression": "`mine.theta` - `other.theta`"}
    return [*found, {"estimand": both, "utility": {"kind": "squared"}}]


def against(left: dict[str, Any], other: str, right: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    compared = {"kind": "comparison", "left": left, "right": (right or THETA) | {"release": other}}
    return {"estimand": compared, "utility": {"kind": "squared"}} | more


def across(release: str, beside: str) -> list[tuple[str, dict[str, Any]]]:
    """Questions of one release that name the other, both ways round and by every name a part has."""
    inside = {name: {"kind": "part", "part": name, "estimand": THETA} for name in ("mine", "other")}
    mine = [against(THETA, beside, part=part, view=view) for part in inside for view in VIEWS]
    mine += [against({"kind": "parameter", "name": f"{name}.theta"}, beside) for name in inside]
    mine += [against(estimand, beside) for estimand in inside.values()]
    turned = [against(THETA, release), against(THETA, release, part="mine")]
    turned += [against(THETA, release, {"kind": "parameter", "name": f"{name}.theta"}) for name in inside]
    turned += [against(THETA, release, estimand) for estimand in inside.values()]
    turned += [against(THETA, release, THETA | {"part": name}, view=view) for name in inside for view in VIEWS]
    turned += [
        against(THETA, release, {"kind": "comparison", "left": THETA, "right": each}) for each in inside.values()
    ]
    return [(release, each) for each in mine] + [(beside, each) for each in turned]


def names_the_other(question: dict[str, Any]) -> bool:
    return any(name in json.dumps(question) for name in ('"other"', '"other.theta"'))


async def everything(runtime: Runtime, who: Person, release: str, beside: str) -> list[Any]:
    """Status, headers and bytes of all that is readable about the release, with every part and none, and beside another."""
    root, seen = f"/v1/releases/{release}", []
    async with over_http(runtime) as client:
        paths = (root, f"{root}/card", f"{root}/check", "/v1/me")
        seen += [await client.get(path, headers=who.headers) for path in paths]
        for part in ({}, {"part": "mine"}, {"part": "other"}):
            for view in VIEWS:
                shown = part | {"view": view}
                seen.append(await client.get(f"{root}/summary", params=shown, headers=who.headers))
                seen.append(await client.get(f"{root}/samples", params=shown | {"format": "csv"}, headers=who.headers))
                for path in ("samples", "summary", "density"):
                    long = shown | {"layout": "long", "format": "csv"}
                    seen.append(await client.get(f"{root}/{path}", params=long, headers=who.headers))
            made = part | {"rows": "20"}
            seen.append(await client.get(f"{root}/synthetic", params=made, headers=who.headers))
            for name in ("theta", "other.theta"):
                asked = part | {"parameter": name}
                seen.append(await client.get(f"{root}/density", params=asked, headers=who.headers))
        for question in questions():
            seen.append(await client.post(f"{root}/query", json=question, headers=who.headers))
            dry = {"dry_run": "true"}
            seen.append(await client.post(f"{root}/query", json=question, params=dry, headers=who.headers))
        seen.append(await client.post(f"{root}/queries", json={"queries": questions()}, headers=who.headers))
        for asked_of, question in across(release, beside):
            for path in ("query", "query?dry_run=true"):
                sent = f"/v1/releases/{asked_of}/{path}"
                seen.append(await client.post(sent, json=question, headers=who.headers))
                if names_the_other(question):
                    assert seen[-1].status_code in (403, 422), seen[-1].text
    assert all(reply.status_code < 500 for reply in seen)
    heads = [{name: value for name, value in reply.headers.items() if name not in OF_THE_REQUEST} for reply in seen]
    return [(reply.status_code, head, REQUEST.sub(b"", reply.content)) for reply, head in zip(seen, heads, strict=True)]


async def of_the_other(runtime: Runtime, who: Person, release: str, beside: str) -> list[bytes]:
    """What the change must show in, to who may read it: a summary, synthetic rows, a long table, an answer across releases."""
    root, part = f"/v1/releases/{release}", "part=other"
    paths = ("summary", f"synthetic?rows=500&{part}", f"summary?layout=long&{part}")
    question = against(THETA, beside, part="other", utility={"kind": "squared"}, view="calibrated")
    async with over_http(runtime) as client:
        seen = [await client.get(f"{root}/{path}", headers=who.headers) for path in paths]
        seen.append(await client.post(f"{root}/query", json=question, headers=who.headers))
    assert [reply.status_code for reply in seen] == [200] * len(seen), [reply.text for reply in seen]
    return [reply.content for reply in seen]


def change_the_other_part(database: Path, release: str) -> None:
    """As whoever can write to the file: other samples, and another noisy sum."""
    connection = sqlite3.connect(database)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        if name.startswith("sample_sets"):
            connection.execute(f"DROP TRIGGER {name}")
    found = connection.execute("SELECT body, measured FROM sample_sets WHERE release_id = ?", (release,)).fetchone()
    values, measured = np.frombuffer(found[0]).copy(), np.frombuffer(found[1], dtype=np.int64).copy()
    assert (len(values), measured[:2].tolist()) == (10 + 40, [-1, 1])
    values[10:], measured[2] = values[10:][::-1] * 0.9, measured[2] - 30
    connection.execute(
        "UPDATE sample_sets SET body = ?, measured = ? WHERE release_id = ?",
        (values.tobytes(), measured.tobytes(), release),
    )
    connection.commit()
    connection.close()


async def test_nothing_that_is_sent_to_a_reader_of_one_part_depends_on_another(sqlite_backend: Backend, tmp_path: Path):
    settings = settings_for(sqlite_backend, tmp_path)
    async with services(settings) as runtime:
        world = await new_world(runtime)
        dataset = await world.dataset()
        release = await world.published(dataset, model=None, mechanism=None, models=PARTS)
        beside = await world.published(dataset, **PLAIN)
        ann = await world.buyer(dataset, beside, HELD_BESIDE)
        await buy_access(runtime, analyst=ann.analyst, release_id=release, samples=HELD, part="mine")
        both = release, beside
        seen = await everything(runtime, ann, *both), await of_the_other(runtime, world.boss, *both)
    change_the_other_part(Path(sqlite_backend.database_url.removeprefix("sqlite:///")), release)
    async with services(settings) as runtime:
        again = await everything(runtime, ann, *both), await of_the_other(runtime, world.boss, *both)
    assert again[0] == seen[0]
    assert all(one != other for one, other in zip(again[1], seen[1], strict=True))  # the steward sees that it was one
    of_beside = [body for status, _, body in seen[0] if status == 200 and f'"release":"{both[1]}"'.encode() in body]
    assert len(of_beside) >= 6  # what she holds may be named in a question of the other release
    answered = [json.loads(body) for status, _, body in seen[0] if status == 200 and body.startswith(b'{"response"')]
    assert answered
    # A belief stands on all that she holds of the release that was asked; samples are paired up to the shorter prefix.
    own = (both[1], "calibrated")
    for reply in answered:
        assert reply["samples"] == (HELD_BESIDE if (reply["release"], reply["view"]) == own else HELD), reply
