"""What the query benchmark asks about: PostgreSQL, Redis, releases of several sizes, and people with keys to them."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from app.storage.migrate import upgrade
from tests.conftest import Backend
from tests.servers.postgres import PostgresServer
from tests.servers.valkey import ValkeyServer
from tests.services.world import MODEL, new_world, services, settings_for


@dataclass(frozen=True, slots=True)
class Place:
    """`environment` is that of a production process: logs and limits as they are by default."""

    environment: dict[str, str]
    tokens: tuple[str, ...]
    releases: dict[int, str]

    def path(self, samples: int, batch: bool = False) -> str:
        return f"/v1/releases/{self.releases[samples]}/{'queries' if batch else 'query'}"


@contextmanager
def query_place(sizes: Sequence[int], keys: int) -> Iterator[Place]:
    postgres, valkey = PostgresServer(), ValkeyServer()
    try:
        with TemporaryDirectory(prefix="postern-bench-") as folder:
            url = postgres.url(postgres.create_database())
            upgrade(url)
            backend = Backend("postgres", url, valkey.url)
            tokens, releases = asyncio.run(_fill(backend, Path(folder), sizes, keys))
            own = {
                "POSTERN_DATA_DIR": str(Path(folder) / "data"),
                "POSTERN_DATABASE_URL": url,
                "POSTERN_REDIS_URL": valkey.url,
            }
            kept = {name: value for name, value in os.environ.items() if not name.startswith(("POSTERN_", "PYTHON"))}
            yield Place(kept | own, tokens, releases)
    finally:
        valkey.stop()
        postgres.stop()


async def _fill(
    backend: Backend, folder: Path, sizes: Sequence[int], keys: int
) -> tuple[tuple[str, ...], dict[int, str]]:
    """Releases whose samples are free, so that their number costs nothing; keys of analysts who were granted all."""
    async with services(settings_for(backend, folder)) as runtime:
        world = await new_world(runtime)
        releases: dict[int, str] = {}
        dataset = await world.dataset()
        for size in sizes:
            mechanism = {"kind": "laplace", "epsilon": 0.5, "samples": size}
            releases[size] = await world.published(dataset, model=MODEL, mechanism=mechanism)
        people = [await world.person("dashboard", f"board {number}") for number in range(keys)]
        for person in people:
            await world.cap(dataset, person, samples=max(sizes))
        return tuple(person.token for person in people), releases
