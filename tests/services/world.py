"""What most stories about services begin with: open services, people with keys, a dataset, a release."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import msgspec

from app.api.application import build_api
from app.ledger.account import Account
from app.ledger.entry import Entry
from app.services.datasets.create_dataset import create_dataset
from app.services.datasets.populations import create_population
from app.services.datasets.set_cap import set_cap
from app.services.datasets.upload_data import upload_data
from app.services.ledger.verify_ledger import verify_ledger
from app.services.people.directory import create_principal
from app.services.people.keys import create_key
from app.services.people.verify_key import verify_key
from app.services.principals import Analyst, AnyPrincipal, Auditor, Dashboard, Steward
from app.services.releases.buy_access import buy_access
from app.services.releases.request_release import request_release
from app.services.releases.run_release import run_next_release
from app.services.runtime.idempotency import Once, Reply, input_hash, perform_once
from app.services.runtime.runtime import Runtime, open_runtime
from app.services.runtime.watch_rights import check_rights
from app.services.views import ReleaseView
from app.settings import Settings
from app.storage import accounts, ledger_book, releases, sample_sets
from app.storage.releases import Release
from tests.conftest import Backend

COLUMNS = {"cured": {"type": "binary"}, "days": {"type": "real", "lower": 0, "upper": 365}}
MODEL = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1, "beta": 1}, "trim": 0.05}
QUESTION = b'{"estimand":{"kind":"parameter","name":"theta"},"utility":{"kind":"squared"},"confidence":0.95}'
CAP = {"epsilon": 15.0, "delta": 1e-6}
SECOND_US = 1_000_000


def rows(people: int = 400, ones: int = 130) -> bytes:
    """A CSV of `people` rows of which `ones` are cured."""
    lines = (f"{int(person < ones)},{person % 365}\n" for person in range(people))
    return b"cured,days\n" + "".join(lines).encode()


def release_spec(samples: int = 20, **changes: Any) -> dict[str, Any]:
    return {"model": MODEL, "mechanism": {"kind": "baps", "samples": samples, "temperature": 1.0}} | changes


def settings_for(backend: Backend, folder: Path, **changes: Any) -> Settings:
    """As a server process on this backend would read them; nothing comes from the environment of the tests."""
    values: dict[str, Any] = {
        "data_dir": folder / "data",
        "redis_url": backend.redis_url,
        "embedded_worker": False,
        "database_silence_s": 20,
        "publication_tick_s": 0.01,
        "publication_pace": 1e-6,
    }
    return Settings(**(values | {"database_url": backend.database_url} | changes))


async def at_once(seconds: float) -> None:
    """For `sleep`, where a clock was set ahead or stands still: nobody waits for it to get there."""


@asynccontextmanager
async def services(settings: Settings, **changes: Any) -> AsyncIterator[Runtime]:
    """The services of one process, warm: what it remembers about rights is believed."""
    opened = await open_runtime(settings)
    try:
        runtime = replace(opened, **changes)
        await check_rights(runtime)
        yield runtime
    finally:
        await opened.close()


@asynccontextmanager
async def over_http(runtime: Runtime) -> AsyncIterator[httpx.AsyncClient]:
    """The HTTP application on services that are already open."""
    app = build_api(body_bytes_max=runtime.settings.body_bytes_max)
    app.state.runtime = runtime
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test") as client:
        yield client


async def chunks_of(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@dataclass(frozen=True, slots=True)
class Person:
    """Someone with a key; `who` is what services take."""

    who: AnyPrincipal
    token: str

    @property
    def id(self) -> str:
        return self.who.id

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def analyst(self) -> Analyst:
        assert isinstance(self.who, Analyst)
        return self.who

    @property
    def reader(self) -> Steward | Analyst | Dashboard:
        assert not isinstance(self.who, Auditor)
        return self.who


@dataclass(frozen=True, slots=True)
class World:
    """One steward on open services, and what stewards do."""

    runtime: Runtime
    boss: Person

    @property
    def steward(self) -> Steward:
        assert isinstance(self.boss.who, Steward)
        return self.boss.who

    def on(self, runtime: Runtime) -> "World":
        """The same steward on another process's services."""
        return replace(self, runtime=runtime)

    async def person(self, role: str, name: str = "someone") -> Person:
        by = None if role == "steward" else self.steward
        return await add_person(self.runtime, role, name, by)

    async def dataset(self, name: str = "trial", *, data: bytes | None = None, **changes: Any) -> str:
        """Declared and filled; `retain` unless said otherwise, so that several releases can follow."""
        spec: dict[str, Any] = {
            "name": name,
            "columns": COLUMNS,
            "budget": {"epsilon": 20.0, "delta": 1e-6},
            "source": {"kind": "upload", "retain": True},
        }
        made = await create_dataset(self.runtime, steward=self.steward, spec=spec | changes)
        await self.upload(made.id, rows() if data is None else data)
        return made.id

    async def population(self, name: str = "people", **budget: float) -> str:
        spec = {"name": name, "budget": {"epsilon": 20.0, "delta": 1e-6} | budget}
        return (await create_population(self.runtime, steward=self.steward, spec=spec)).id

    async def upload(self, dataset: str, data: bytes) -> None:
        chunks = chunks_of(data)
        await upload_data(self.runtime, steward=self.steward, dataset_id=dataset, chunks=chunks)

    async def request(self, dataset: str, *, key: str | None = None, **changes: Any) -> ReleaseView:
        """With a key: as over HTTP, where a repetition is told the first answer."""
        spec = release_spec(**changes)
        if key is None:
            return await request_release(self.runtime, steward=self.steward, dataset_id=dataset, spec=spec)
        once = self.once(key, f"POST /v1/datasets/{dataset}/releases", spec)
        reply, _ = await perform_once(
            self.runtime,
            once,
            lambda: request_release(self.runtime, steward=self.steward, dataset_id=dataset, spec=spec, once=once),
        )
        return msgspec.msgpack.decode(reply.body, type=ReleaseView)

    def once(self, key: str, route: str, body: Any, by: Person | None = None) -> Once[Any]:
        """The steward's request, or someone's, under an `Idempotency-Key`; answered with the view itself."""
        caller = by or self.boss
        return Once(
            principal_id=caller.id,
            route=route,
            input_hash=input_hash(body),
            key=key,
            token=caller.token,
            render=lambda view: Reply(200, msgspec.msgpack.encode(view)),
        )

    async def published(self, dataset: str, **changes: Any) -> str:
        requested = await self.request(dataset, **changes)
        await self.work()
        found = await self.release(requested.id)
        assert found.status == "published", found
        return requested.id

    async def work(self) -> None:
        while await run_next_release(self.runtime):
            pass

    async def cap(self, dataset: str, person: Person, **changes: Any) -> None:
        spec = {"samples": changes["samples"]} if "samples" in changes else CAP | changes
        await set_cap(self.runtime, steward=self.steward, dataset_id=dataset, principal_id=person.id, spec=spec)

    async def buyer(self, dataset: str, release: str, samples: int, name: str = "ada") -> Person:
        """An analyst with a cap on the dataset who paid for a prefix of the release."""
        analyst = await self.person("analyst", name)
        await self.cap(dataset, analyst)
        await buy_access(self.runtime, analyst=analyst.analyst, release_id=release, samples=samples)
        return analyst

    async def release(self, release_id: str) -> Release:
        async with self.runtime.database.read() as connection:
            found = await releases.get_release(connection, release_id)
        assert found is not None
        return found

    async def samples(self, release_id: str) -> bytes | None:
        async with self.runtime.database.read() as connection:
            found = await sample_sets.get_samples(connection, release_id)
        return None if found is None else found.body

    async def account(self, account_id: str) -> Account:
        async with self.runtime.database.read() as connection:
            found = await accounts.get_account(connection, account_id)
        assert found is not None
        return found

    async def entries(self, dataset: str) -> tuple[Entry, ...]:
        async with self.runtime.database.read() as connection:
            return (await ledger_book.page_entries(connection, dataset=dataset, limit=1000)).items

    async def kinds(self, dataset: str) -> list[str]:
        """The kinds of the dataset's ledger lines, in order."""
        return [entry.kind for entry in await self.entries(dataset)]

    async def verified(self) -> bool:
        return (await verify_ledger(self.runtime)).ok


async def add_person(runtime: Runtime, role: str, name: str, by: Steward | None) -> Person:
    person = await create_principal(runtime, role=role, name=name, created_by=by)
    key = await create_key(runtime, actor=by, principal_id=person.id, label=name, expires_us=None)
    token = str(key.token)
    return Person(await verify_key(runtime, token=token), token)


async def new_world(runtime: Runtime) -> World:
    return World(runtime, await add_person(runtime, "steward", "grace", None))


def upload_files(runtime: Runtime) -> list[Path]:
    """Whatever lies in the private folder for rows."""
    return sorted(runtime.uploads.root.iterdir())


def kinds_of(entries: Iterable[Entry], release: str) -> list[str]:
    return [entry.kind for entry in entries if entry.release == release]
