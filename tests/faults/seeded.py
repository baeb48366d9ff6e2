"""A database with a dataset, rows and people in it, copied for every sequence: seeding again would take all the time."""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from app.core.privacy import ORDERS
from app.settings import Settings
from app.storage.migrate import upgrade
from tests.conftest import Backend
from tests.faults.book_model import Books, Filter, ModelRelease
from tests.servers.database_lot import DatabaseLot
from tests.servers.postgres import PostgresServer
from tests.services.world import Person, new_world, rows, services, settings_for

DELTA = 1e-6
BUDGET = 9.0
POPULATION_BUDGET = 8.5
POPULATION_DELTA = 1e-5
EPSILONS = (0.5, 2.5, 4.0, 7.0)
SAMPLES_MAX = 3
PEOPLE = 40


@dataclass(frozen=True, slots=True)
class Seeded:
    """One copy: settings that point at it, and what the seed put there."""

    settings: Settings
    folder: Path
    steward: Person
    analysts: tuple[Person, Person]
    dataset: str
    population: str
    release: str
    cost: Mapping[str, Any]
    delta: float = DELTA
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000

    def books(self) -> Books:
        """What the model knows of the seed: one published release of the largest size, two caps, nothing bought."""
        shared = Filter(ORDERS, POPULATION_BUDGET, POPULATION_DELTA)
        books = Books(self.cost, Filter(ORDERS, BUDGET, DELTA), shared)
        books.caps = {person.id: Filter(ORDERS, EPSILONS[2], DELTA) for person in self.analysts}
        books.releases[self.release] = ModelRelease(SAMPLES_MAX, asked_us=0, status="published", attempts=1)
        books.charge(books.prefix(SAMPLES_MAX))
        return books

    @contextlib.contextmanager
    def rows_away(self) -> Iterator[None]:
        uploads = self.folder / "data" / "uploads"
        uploads.rename(uploads.with_name("elsewhere"))
        uploads.mkdir(mode=0o700)
        try:
            yield
        finally:
            shutil.rmtree(uploads)
            uploads.with_name("elsewhere").rename(uploads)


async def seed(backend: Backend, folder: Path) -> Seeded:
    settings = settings_for(backend, folder)
    async with services(settings) as runtime:
        world = await new_world(runtime)
        budget = {"epsilon": BUDGET, "delta": DELTA}
        population = await world.population(epsilon=POPULATION_BUDGET, delta=POPULATION_DELTA)
        dataset = await world.dataset(data=rows(PEOPLE, 13), budget=budget, population=population)
        release = await world.published(dataset, samples=SAMPLES_MAX)
        people = [await world.person("analyst", name) for name in ("ada", "bob")]
        for person in people:
            await world.cap(dataset, person, epsilon=EPSILONS[2], delta=DELTA)
        cost = (await world.release(release)).cost
    return Seeded(settings, folder, world.boss, (people[0], people[1]), dataset, population, release, cost)


class Stage(Protocol):
    def take(self) -> Seeded: ...
    def give_back(self, used: Seeded) -> None: ...


class SqliteStage:
    def __init__(self, template: Seeded, folder: Path) -> None:
        self._template = template
        self._folder = folder
        self._taken = 0

    def take(self) -> Seeded:
        self._taken += 1
        folder = self._folder / str(self._taken)
        shutil.copytree(self._template.folder, folder)
        url = f"sqlite:///{folder / 'postern.db'}"
        return replace(self._template, folder=folder, settings=settings_for(Backend("sqlite", url, None), folder))

    def give_back(self, used: Seeded) -> None:
        shutil.rmtree(used.folder)


class PostgresStage:
    """The lot puts a used database back to the seed's rows."""

    def __init__(self, server: PostgresServer, template: Seeded, name: str, folder: Path) -> None:
        self._server = server
        self._template = template
        self._folder = folder
        self._taken = 0
        self._lot = DatabaseLot(server, lambda _: None, template=name)
        self._names: dict[Path, str] = {}

    def take(self) -> Seeded:
        self._taken += 1
        folder = self._folder / str(self._taken)
        shutil.copytree(self._template.folder, folder)
        name = self._lot.take()
        self._names[folder] = name
        backend = Backend("postgres", self._server.url(name), None)
        return replace(self._template, folder=folder, settings=settings_for(backend, folder))

    def give_back(self, used: Seeded) -> None:
        shutil.rmtree(used.folder)
        self._lot.give_back(self._names.pop(used.folder))


async def sqlite_stage(folder: Path) -> SqliteStage:
    template = folder / "template"
    template.mkdir()
    url = f"sqlite:///{template / 'postern.db'}"
    upgrade(url)
    return SqliteStage(await seed(Backend("sqlite", url, None), template), folder)


async def postgres_stage(server: PostgresServer, folder: Path) -> PostgresStage:
    template = folder / "template"
    template.mkdir()
    name = server.create_database()
    upgrade(server.url(name))
    return PostgresStage(server, await seed(Backend("postgres", server.url(name), None), template), name, folder)
