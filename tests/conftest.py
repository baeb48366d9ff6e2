"""Fixtures for the whole suite: the same tests on SQLite with the in-process cache and on PostgreSQL with Redis.

The servers start with the first test that needs them and never outlive the run (`tests/servers`).
"""

import gc
import inspect
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from app.storage.cache import Cache, open_cache
from app.storage.engine import Database
from app.storage.migrate import upgrade
from tests.servers.database_lot import DatabaseLot
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import ValkeyServer

pytest_plugins = ["tests.empty_home", "tests.random_order", "tests.fewer_cases", "tests.one_of_each"]


def _no_constants() -> providers.Constants:
    return providers.Constants()


# Of tests that do not say themselves how many examples they want.
settings.register_profile("postern", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("deep", settings.get_profile("postern"), max_examples=400)
settings.load_profile("postern")
SCAN = "_get_local_constants"
"""Hypothesis reads every source of ours for numbers and words to try: a quarter of what collecting the tests takes."""

POSTGRES_DEEP = pytest.mark.parametrize(
    "backend", ["sqlite", pytest.param("postgres", marks=pytest.mark.deep)], indirect=True
)
"""For what the choice of servers can hardly change: `make test-deep` tries it on both."""
SHARED_POSTGRES_DEEP = pytest.mark.parametrize(
    "shared_backend", ["sqlite", pytest.param("postgres", marks=pytest.mark.deep)], indirect=True
)
"""The same, of tests that share a service."""
SQLITE_DEEP = pytest.mark.parametrize(
    "backend", [pytest.param("sqlite", marks=pytest.mark.deep), "postgres"], indirect=True
)
"""For what many processes do at once, which is hardest where they have servers in common."""
_EMBEDDED = "SQLite with the in-process cache"
_SERVERS = {"postgres_server", "redis_server"}
_PROCESSES = {"benchmarks", "cli", "docs", "end_to_end", "faults", "servers"}
_EVERYTHING_BUT_DEEP = "not deep"


@dataclass(frozen=True, slots=True)
class Backend:
    """Where a test's data lives; a fresh, migrated database for every test."""

    name: str
    database_url: str
    redis_url: str | None


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[ValkeyServer]:
    server = ValkeyServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def database_lot(postgres_server: PostgresServer) -> DatabaseLot:
    return DatabaseLot(postgres_server, upgrade)


@pytest.fixture(scope="session")
def migrated_template(database_lot: DatabaseLot) -> str:
    return database_lot.template


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("migrated") / "postern.db"
    upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_backend(request: pytest.FixtureRequest, tmp_path: Path, migrated_file: Path) -> Backend:
    path = tmp_path / "postern.db"
    shutil.copyfile(migrated_file, path)
    made = Backend("sqlite", f"sqlite:///{path}", None)
    note_backend(request, made)
    return made


@pytest.fixture
def postgres_backend(
    request: pytest.FixtureRequest,
    postgres_server: PostgresServer,
    redis_server: ValkeyServer,
    database_lot: DatabaseLot,
) -> Iterator[Backend]:
    name = database_lot.take()
    redis_server.flush()
    made = Backend("postgres", postgres_server.url(name), redis_server.url)
    note_backend(request, made)
    yield made
    database_lot.give_back(name)


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request: pytest.FixtureRequest) -> Backend:
    chosen: Backend = request.getfixturevalue(f"{request.param}_backend")
    return chosen


@pytest.fixture(scope="session")
def shared_sqlite(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Backend:
    path = tmp_path_factory.mktemp("shared") / "postern.db"
    shutil.copyfile(migrated_file, path)
    return Backend("sqlite", f"sqlite:///{path}", None)


@pytest.fixture(scope="session")
def shared_postgres(
    postgres_server: PostgresServer, redis_server: ValkeyServer, database_lot: DatabaseLot
) -> Iterator[Backend]:
    name = database_lot.take()
    yield Backend("postgres", postgres_server.url(name), redis_server.shared_url)
    database_lot.give_back(name)


@pytest.fixture(params=["sqlite", "postgres"])
def shared_backend(request: pytest.FixtureRequest) -> Backend:
    """One database for all tests that only read, or that can live with what others left. Other tests empty its Redis."""
    chosen: Backend = request.getfixturevalue(f"shared_{request.param}")
    note_backend(request, chosen)
    return chosen


def note_backend(request: pytest.FixtureRequest, backend: Backend) -> None:
    """The run counts what passed where."""
    place = _EMBEDDED
    if backend.redis_url is not None:
        postgres: PostgresServer = request.getfixturevalue("postgres_server")
        redis: ValkeyServer = request.getfixturevalue("redis_server")
        place = f"PostgreSQL {postgres.version} and Valkey {redis.version}"
    request.node.user_properties.append(("backend", place))


@pytest.fixture
async def database(backend: Backend) -> AsyncIterator[Database]:
    opened = Database.open(backend.database_url)
    yield opened
    await opened.dispose()


@pytest.fixture
async def cache(backend: Backend) -> AsyncIterator[Cache]:
    opened = open_cache(backend.redis_url)
    yield opened
    await opened.close()


def pytest_configure(config: pytest.Config) -> None:
    if "deep" in config.option.markexpr.replace(_EVERYTHING_BUT_DEEP, ""):
        settings.load_profile("deep")
    else:
        assert hasattr(providers, SCAN), "Hypothesis scans its sources in another way now"
        setattr(providers, SCAN, _no_constants)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs PostgreSQL or Redis, and what starts processes all the time, before anything is chosen by mark.

    What is shared lives on an event loop as old as itself, and so does a test that uses it.
    """
    for item in items:
        shared = isinstance(item, pytest.Function) and "shared_backend" in item.fixturenames
        if shared and inspect.iscoroutinefunction(item.function):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        chosen = {parameters.get("backend"), parameters.get("shared_backend")}
        if "postgres" in chosen or not _SERVERS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("servers")
        if item.path.parent.name in _PROCESSES:
            item.add_marker("slow")


def _passed_by_backend(reporter: pytest.TerminalReporter) -> dict[str, int]:
    """Counted from the reports, which arrive whole from every xdist worker."""
    counts: dict[str, int] = {}
    for report in reporter.stats.get("passed", []):
        for name, value in getattr(report, "user_properties", []):
            if name == "backend" and report.when == "call":
                counts[value] = counts.get(value, 0) + 1
    return counts


def _whole_suite(config: pytest.Config) -> bool:
    chosen = config.option
    some = chosen.keyword or chosen.markexpr not in ("", _EVERYTHING_BUT_DEEP)
    if some or chosen.collectonly or getattr(chosen, "lf", False):
        return False
    root = config.rootpath
    return {(root / argument).resolve() for argument in config.args} <= {root, root / "tests"}


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay to the end: the garbage collector need not look at them again and again.

    Nor as often at everything else as it does by default, which takes one part in fifteen of a run.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(30_000, 50, 100)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts = _passed_by_backend(terminalreporter)
    if counts:
        places = sorted(counts, key=lambda place: place != _EMBEDDED)
        listed = ", ".join(f"{counts[place]} tests on {place}" for place in places)
        terminalreporter.write_line(f"backends: {listed}")
    if _nothing_on_servers(terminalreporter):
        terminalreporter.write_line("backends: no test passed on PostgreSQL and Redis", red=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The whole suite without its servers is a failure, even if everything that did run passed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and session.exitstatus == 0 and _nothing_on_servers(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _nothing_on_servers(reporter: pytest.TerminalReporter) -> bool:
    if hasattr(reporter.config, "workerinput") or not _whole_suite(reporter.config):
        return False
    return not any(place != _EMBEDDED for place in _passed_by_backend(reporter))
