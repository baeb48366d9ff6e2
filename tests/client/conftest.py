import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from postern.client import AsyncClient, Client
from tests.client.blocking import Blocking
from tests.client.served_place import Place, Trial, make_trial, served_place
from tests.end_to_end.fixtures import bytecode

__all__ = ["bytecode"]

Opener = Callable[..., Any]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POSTERN_URL", "POSTERN_KEY", "POSTERN_INSECURE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path, bytecode: Path | None) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("client")
    shutil.copyfile(migrated_file, folder / "postern.db")
    with served_place(folder, f"sqlite:///{folder / 'postern.db'}", bytecode) as started:
        yield started


@pytest.fixture(scope="session")
def trial(place: Place) -> Trial:
    return make_trial(place)


@pytest.fixture(params=["sync", "async"])
def opened(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """`opened(url, key)` is a client of either kind with blocking methods; closed with the test."""
    loop = asyncio.new_event_loop()
    clients: list[Any] = []

    def open_client(*given: Any, **named: Any) -> Any:
        kind = Client if request.param == "sync" else AsyncClient
        client = kind(*given, **named)
        clients.append(client if request.param == "sync" else Blocking(client, loop))
        return clients[-1]

    yield open_client
    for client in clients:
        with client:
            pass
    loop.close()


@pytest.fixture
def analyst(opened: Opener, trial: Trial) -> Any:
    return opened(trial.place.url, trial.analyst_key)


@pytest.fixture
def steward(opened: Opener, place: Place) -> Any:
    return opened(place.url, place.steward_key)
