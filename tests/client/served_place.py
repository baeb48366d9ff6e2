"""A really started service on SQLite, with a steward's key, for every test of the client in one process of the run."""

import asyncio
import csv
import io
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.services.people.directory import create_principal
from app.services.people.keys import create_key
from app.services.runtime.runtime import open_runtime
from postern.client import Client, Release
from tests.conftest import Backend
from tests.end_to_end.served import ServingProcess, environment_for
from tests.services.world import settings_for

COLUMNS = {
    "cured": {"type": "binary"},
    "arm": {"type": "categorical", "levels": ["drug", "placebo"]},
    "visits": {"type": "integer", "lower": 0, "upper": 2},
}
MODEL = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05}
NETWORK = {"family": "network", "nodes": {"arm": {}, "cured": {"parents": ["arm"]}, "visits": {"parents": ["cured"]}}}
BAPS = {"kind": "baps", "samples": 10, "temperature": 0.5}
COOL = {"kind": "baps", "samples": 10, "temperature": 0.05}
PEOPLE = 600


@dataclass(frozen=True, slots=True)
class Place:
    url: str
    steward_key: str = field(repr=False)

    def steward(self) -> Client:
        return Client(self.url, self.steward_key)


def rows() -> list[tuple[str, str, str]]:
    """600 people of a trial; seed fixed."""
    chance = random.Random(7)
    people = []
    for _ in range(PEOPLE):
        arm = chance.choice(["drug", "placebo"])
        cured = chance.random() < (0.7 if arm == "drug" else 0.4)
        people.append((str(int(cured)), arm, str(chance.choice([0, 1] if cured else [1, 2]))))
    return people


def csv_bytes() -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([tuple(COLUMNS), *rows()])
    return text.getvalue().encode()


@contextmanager
def served_place(folder: Path, database: str, bytecode: Path | None) -> Iterator[Place]:
    backend = Backend("sqlite", database, None)
    key = asyncio.run(_steward_key(backend, folder))
    server = ServingProcess(environment_for(backend, folder, bytecode, PUBLICATION_TICK_S="0.01", LOG_LEVEL="warning"))
    try:
        yield Place(server.wait_until_ready().url, key)
    finally:
        server.stop()


async def _steward_key(backend: Backend, folder: Path) -> str:
    runtime = await open_runtime(settings_for(backend, folder))
    try:
        steward = await create_principal(runtime, role="steward", name="Ada", created_by=None)
        key = await create_key(runtime, actor=None, principal_id=steward.id, label="tests", expires_us=None)
    finally:
        await runtime.close()
    assert key.token is not None
    return key.token


@dataclass(frozen=True, slots=True)
class Trial:
    """A dataset with a released parameter and a released network, and an analyst who bought a prefix of the first."""

    place: Place
    dataset: str
    release: str
    network: str
    analyst: str
    analyst_key: str = field(repr=False)


def make_trial(place: Place) -> Trial:
    with place.steward() as steward:
        dataset = steward.create_dataset(
            "trial", COLUMNS, epsilon=15.0, delta=1e-6, source={"kind": "upload", "retain": True}
        )
        steward.upload(dataset, csv_bytes())
        release = steward.request_release(dataset, MODEL, BAPS, timeout_s=60)
        network = steward.request_release(dataset, NETWORK, COOL, timeout_s=60)
        analyst = steward.create_analyst("Grace")
        key = steward.create_key(analyst, "notebook")
        steward.set_cap(dataset, analyst, epsilon=10.0, delta=1e-6)
    with Client(place.url, key.token) as reader:
        for bought in (release.id, network.id):
            reader.release(bought).buy_access(8)
    return Trial(place, dataset.id, release.id, network.id, analyst.id, key.token)


def published(client: Client, trial: Trial) -> Release:
    return client.release(trial.release)
