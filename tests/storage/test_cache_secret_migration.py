"""A database in use moves to sealed answers without forgetting what was already asked for."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from app.services.runtime.idempotency import Once, Reply
from app.storage.database_url import parse_database_url
from app.storage.migrate import blocking_engine, migrations_folder, upgrade
from tests.servers.postgres import PostgresServer

OLD = (
    "INSERT INTO idempotency_keys (principal_id, key, route, body_hash, status, body, location, created_us)"
    " VALUES ('an_a', 'trial-1', 'request_release', :hash, 202, :body, 'rel_1', 7)"
)


@pytest.fixture(params=["sqlite", "postgres"])
def used_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """At the revision before, with one key in use."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'used.db'}"
        _prepare(url)
        yield url
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = server.create_database()
    _prepare(server.url(name))
    yield server.url(name)
    server.drop_database(name)


def _prepare(url: str) -> None:
    engine = blocking_engine(parse_database_url(url))
    with engine.execution_options(postern_write=True).begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(migrations_folder()))
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        connection.execute(text(OLD), {"hash": b"h" * 32, "body": b""})
    engine.dispose()


def _rows(connection: Connection, statement: str) -> list[tuple[object, ...]]:
    found = connection.execute(text(statement)).all()
    return [tuple(bytes(value) if isinstance(value, memoryview) else value for value in row) for row in found]


def test_a_key_used_before_is_found_under_its_digest_and_has_no_answer(used_url: str) -> None:
    upgrade(used_url)
    once: Once[None] = Once("an_a", "r", b"h" * 32, "trial-1", "token", lambda _: Reply(200, b""))
    engine = blocking_engine(parse_database_url(used_url))
    with engine.connect() as connection:
        kept = _rows(connection, "SELECT key_digest, input_hash, sealed, location, created_us FROM idempotency_keys")
        secrets = _rows(connection, "SELECT name, secret FROM installation_secrets")
    engine.dispose()
    assert kept == [(once.key_digest, b"h" * 32, None, "/v1/releases/rel_1", 7)]
    assert [name for name, _ in secrets] == ["cache"]
    assert len(set(bytes(secrets[0][1]))) > 8
