"""Neighbours that differ in one person's rows look alike to an analyst: moments, fields, headers, metrics.

Both are lived through on databases of their own, under a time that moves only when a worker waits. One person has a single
ordinary row in the one and 3,000 rows at the edges of every column in the other, most of which do not count. Whatever an
analyst or an auditor can ask for is then compared, apart from ids, digests of these and request ids.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.core.kinds import KINDS, kind_with
from app.services.releases.public_moment import duration_us, release_seconds
from app.services.releases.run_release import run_next_release
from app.services.releases.stored_release import stored_mechanism, stored_model
from app.services.runtime.failpoints import arm, disarm
from app.services.runtime.runtime import Runtime
from app.storage import datasets
from app.storage.releases import Release
from tests.conftest import Backend
from tests.services.clockwork import Clockwork
from tests.services.test_every_kind import BINARY, COLUMNS, LINEAR, MEAN, PRECISION, kind_rows
from tests.services.world import CAP, QUESTION, Person, World, new_world, over_http, services, settings_for

PEOPLE, MANY = 30, 3_000
TICK_S, PACE = 0.5, 1.5
BUDGET = {"epsilon": 40.0, "delta": 1e-5, "slack_delta": 1e-6}
UNIT = {"column": "person", "max_rows": 2}
ONE: dict[str, Any] = {"family": "bernoulli", "column": "sick", "trim": 0.05}
AGE: dict[str, Any] = {"family": "normal_mean", "column": "age", "sd": 20}
NODE: dict[str, Any] = {"family": "network", "nodes": {"sick": {}}}
"""One node: beliefs of more take seconds."""
NOISE: dict[str, Any] = {"kind": "perturbed_statistics", "samples": 5, "epsilon": 2.0, "delta": 1e-7}
SEVERAL_ROWS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (ONE, {"kind": "baps", "samples": 5, "temperature": 0.1}),
    (AGE, {"kind": "map", "epsilon": 1.0, "score": "log_density"}),
    (ONE, {"kind": "map", "epsilon": 1.0, "score": "probability"}),
    (NODE, {"kind": "baps", "samples": 5, "temperature": 0.02}),
    (NODE, {"kind": "laplace", "samples": 5, "epsilon": 1.0}),
    (NODE, {"kind": "gaussian", "samples": 5, "epsilon": 1.0, "delta": 1e-7}),
    (ONE, {"kind": "gaussian", "samples": 5, "epsilon": 1.0, "delta": 1e-7}),
    (NODE, {"kind": "map", "epsilon": 1.0, "score": "log_density"}),
    (BINARY, {"kind": "fourier", "samples": 5, "epsilon": 1.0}),
    (LINEAR, {"kind": "baps", "samples": 5, "temperature": 0.001}),
    (LINEAR, NOISE),
]
ONE_ROW: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (ONE, {"kind": "laplace", "samples": 5, "epsilon": 1.0}),
    (MEAN, {"kind": "baps", "samples": 5, "temperature": 0.05}),
    (MEAN, NOISE | {"kind": "gaussian"}),
    (PRECISION, NOISE),
]
ORDINARY, EDGE = "0,0,a,50.0,5.0,10.0", "1,1,c,100.0,0.0,20.0"
OTHER_EDGE = "0,1,b,0.0,10.0,0.0"

_ID = re.compile(r"(?<![.\w])(?:[a-z]+_)?(?:[a-z2-7]{16}|[0-9a-f]{16,128})\b")
_OF_THE_REQUEST = {"x-request-id", "date", "etag"}
_TIMED = re.compile(rb"^(?:postern_request_seconds|\w+_created).*\n", re.MULTILINE)


def rows_of(first: list[str], *, several: bool) -> bytes:
    """The rows of everybody, those of the first person being `first`."""
    header, *others = kind_rows(PEOPLE - 1).decode().split()
    if not several:
        return "\n".join([header, *first[:1], *others, ""]).encode()
    owned = [f"{line},p0" for line in first] + [f"{line},p{1 + who}" for who, line in enumerate(others)]
    return "\n".join([f"{header},person", *owned, ""]).encode()


NEIGHBOURS = ([ORDINARY], [EDGE, OTHER_EDGE] * (MANY // 2))


class Seen:
    """What somebody was told, with ids in the order they came instead of the ids."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client
        self._names: dict[str, str] = {}
        self.told: list[tuple[str, str, list[tuple[str, str]], str]] = []

    async def ask(self, who: Person, method: str, path: str, **sent: Any) -> None:
        answer = await self._client.request(method, path, headers=who.headers, **sent)
        headers = [(name, self._plain(value)) for name, value in answer.headers.items() if name not in _OF_THE_REQUEST]
        body = _TIMED.sub(b"", answer.content) if path == "/metrics" else answer.content
        if path == "/metrics":
            headers = [each for each in headers if each[0] != "content-length"]
        self.told.append(
            (f"{method} {self._plain(path)}", str(answer.status_code), headers, self._plain(body.decode()))
        )

    def _plain(self, text: str) -> str:
        return _ID.sub(lambda found: self._names.setdefault(found[0], f"<{len(self._names)}>"), text)


async def ask_everything(seen: Seen, people: dict[str, Person], dataset: str, release: str) -> None:
    """An analyst who has bought nothing, and an auditor."""
    one = f"/v1/releases/{release}"
    for path in (
        "/v1/me",
        "/v1/releases",
        one,
        f"{one}/card",
        f"{one}/samples",
        f"{one}/summary",
        "/metrics",
        "/readyz",
    ):
        await seen.ask(people["analyst"], "GET", path)
    await seen.ask(people["analyst"], "POST", f"{one}/query", content=QUESTION)
    for path in (f"/v1/datasets/{dataset}/ledger", "/v1/ledger/head", f"/v1/releases/{release}"):
        await seen.ask(people["auditor"], "GET", path)


async def public_duration_us(runtime: Runtime, release: Release) -> int:
    """From what anyone may know: the declaration, n, and the release as it was asked for."""
    async with runtime.database.read() as connection:
        dataset = await datasets.get_dataset(connection, release.dataset_id)
    assert dataset is not None
    model, rows = stored_model(release, dataset), (dataset.unit or {"max_rows": 1})["max_rows"]
    mechanism = stored_mechanism(release, model)
    seconds = release_seconds(dataset, model, mechanism, mechanism.cost(model, PEOPLE, rows), PEOPLE, rows)
    return duration_us(seconds, PACE, TICK_S)


async def lived_through(
    runtime: Runtime,
    first: list[str],
    releases: list[tuple[dict[str, Any], dict[str, Any]]],
    run: Callable[[World], Any],
) -> tuple[list[Any], list[tuple[int, int, int]]]:
    """What was told, and (started, duration, published) of every release."""
    world = await new_world(runtime)
    people = {role: await world.person(role, role) for role in ("analyst", "auditor")}
    several = releases is not ONE_ROW
    unit = {"privacy_unit": UNIT} if several else {}
    moments = []
    async with over_http(runtime) as client:
        seen = Seen(client)
        dataset = await world.dataset(
            columns=COLUMNS, data=rows_of(first, several=several), budget=BUDGET, force=True, **unit
        )
        await world.cap(dataset, people["analyst"], **CAP)
        for model, mechanism in releases:
            asked = await world.request(dataset, model=model, mechanism=mechanism, force=True)
            await seen.ask(people["analyst"], "GET", f"/v1/releases/{asked.id}")
            await run(world)
            await seen.ask(people["analyst"], "GET", f"/v1/releases/{asked.id}/card")
            found = await world.release(asked.id)
            assert found.duration_us == await public_duration_us(runtime, found)
            moments.append((found.started_us, found.duration_us, found.published_us))
        await ask_everything(seen, people, dataset, asked.id)
    return seen.told, moments


async def compared(folder: Path, migrated: Path, releases: list[Any], run: Callable[[World], Any]) -> list[Any]:
    """Both neighbours' moments, which are one."""
    sides = []
    for number, first in enumerate(NEIGHBOURS):
        place = folder / str(number)
        place.mkdir()
        shutil.copyfile(migrated, place / "postern.db")
        backend = Backend("sqlite", f"sqlite:///{place / 'postern.db'}", None)
        settings = settings_for(backend, place, publication_tick_s=TICK_S, publication_pace=PACE)
        async with services(settings, **Clockwork().parts()) as runtime:
            sides.append(await lived_through(runtime, first, releases, run))
    (told, moments), (other_told, other_moments) = sides
    for one, other in zip(told, other_told, strict=True):
        assert one == other
    assert moments == other_moments
    return moments


async def work(world: World) -> None:
    await world.work()


@pytest.mark.parametrize("releases", [SEVERAL_ROWS, ONE_ROW], ids=["several rows a person", "one row a person"])
async def test_neighbours_are_told_the_same_at_the_same_moments(
    tmp_path: Path, migrated_file: Path, releases: list[Any]
):
    moments = await compared(tmp_path, migrated_file, releases, work)
    for started_us, lasts_us, published_us in moments:
        assert published_us == started_us + lasts_us
    begun = [started_us for started_us, _, _ in moments]
    assert begun == [begun[0], *(published_us for _, _, published_us in moments[:-1])], "a worker was not held"


def test_the_lists_above_leave_out_no_mechanism_of_any_kind():
    tried = {(kind_with(model["family"]).name, mechanism["kind"]) for model, mechanism in [*SEVERAL_ROWS, *ONE_ROW]}
    assert tried == {(kind.name, mechanism) for kind in KINDS for mechanism in kind.mechanisms}


class Crash(BaseException):
    """The process ended here."""


async def test_neighbours_whose_worker_is_killed_while_reading_are_told_the_same(tmp_path: Path, migrated_file: Path):
    def die() -> None:
        raise Crash

    async def killed(world: World) -> None:
        arm("release.rows_read", die)
        with pytest.raises(Crash):
            await run_next_release(world.runtime)
        disarm()
        await world.runtime.sleep(31.0)
        await world.work()

    ((started_us, lasts_us, published_us),) = await compared(tmp_path, migrated_file, SEVERAL_ROWS[:1], killed)
    assert published_us == started_us + 64 * lasts_us
