"""A ledger in use gets its new kinds of lines and keeps every line, index and refusal it had."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from app.storage.database_url import parse_database_url
from app.storage.migrate import blocking_engine, migrations_folder, upgrade
from tests.servers.postgres import PostgresServer

BEFORE = "0006"
ACT = (
    "INSERT INTO ledger_acts (number, kind, ledger_id, sequence, digest, actor, reason, at_us, key_id, signature)"
    " VALUES (1, 'adopted', 'led_1', 1, :digest, 'start', 'first', 7, 'k', :signature)"
)
LINE = (
    "INSERT INTO ledger_entries (sequence, account_id, kind, release_id, pure_nano, slack_atto, curve_nano, total_pure_nano,"
    " total_slack_atto, total_curve_nano, event, actor, reason, at_us, previous, digest, version)"
    " VALUES (:sequence, 'ds_a', :kind, :release, :pure, 0, '0', 1, 0, '0', '{}', 'a', 'r', 7, :previous, :digest, 1)"
)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'used.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = server.create_database()
    yield server.url(name)
    server.drop_database(name)


def _line(sequence: int, kind: str, pure: int, previous: bytes) -> dict[str, object]:
    release = None if kind in ("open", "cap") else "rel_1"
    digest = bytes([sequence]) * 32
    return {
        "sequence": sequence,
        "kind": kind,
        "release": release,
        "pure": pure,
        "previous": previous,
        "digest": digest,
    }


def _prepare(url: str) -> set[str]:
    """At the revision before, with an account, two lines and an act; the names of its triggers."""
    engine = blocking_engine(parse_database_url(url))
    with engine.execution_options(postern_write=True).begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(migrations_folder()))
        config.attributes["connection"] = connection
        command.upgrade(config, BEFORE)
        connection.execute(text("INSERT INTO principals VALUES ('st_a', 'steward', 'a', NULL, 1)"))
        connection.execute(
            text(
                "INSERT INTO datasets (id, owner, name, columns, unit, source, epsilon, delta, created_us, data_version,"
                " data_state) VALUES ('ds_a', 'st_a', 'a', '{}', '{}', '{}', 1, 0, 1, 0, 'none')"
            )
        )
        connection.execute(
            text("INSERT INTO accounts VALUES ('ds_a', 'ds_a', NULL, 1, 0, 0, NULL, 0, 1, 1, 0, '0', 1)")
        )
        genesis = bytes(connection.execute(text("SELECT digest FROM ledger_head")).scalar_one())
        for line in (_line(1, "open", 0, genesis), _line(2, "reserve", 1, b"\x01" * 32)):
            connection.execute(text(LINE), line)
            moved = text("UPDATE ledger_head SET sequence = :sequence, digest = :digest")
            connection.execute(moved, {"sequence": line["sequence"], "digest": line["digest"]})
        connection.execute(text(ACT), {"digest": b"d" * 32, "signature": b"s" * 64})
        names = _triggers(connection)
    engine.dispose()
    return names


def _triggers(connection: Connection) -> set[str]:
    if connection.dialect.name == "sqlite":
        found = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'"))
    else:
        found = connection.execute(text("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"))
    return set(found.scalars())


def test_lines_acts_and_refusals_survive_and_a_charge_can_be_lowered(url: str) -> None:
    before = _prepare(url)
    upgrade(url)
    engine = blocking_engine(parse_database_url(url)).execution_options(postern_write=True)
    with engine.begin() as connection:
        assert _triggers(connection) >= before
        kinds = connection.execute(text("SELECT kind FROM ledger_entries ORDER BY sequence")).scalars().all()
        assert kinds == ["open", "reserve"]
        assert connection.execute(text("SELECT regime FROM accounts")).scalar_one() is None
        assert connection.execute(text("SELECT kind FROM ledger_acts")).scalar_one() == "adopted"
        connection.execute(text(LINE), _line(3, "recost", -1, b"\x02" * 32))
    for refused in (
        "UPDATE ledger_entries SET actor = 'b'",
        "DELETE FROM ledger_entries",
        "DELETE FROM ledger_acts",
        "UPDATE ledger_acts SET actor = 'b'",
        "UPDATE ledger_head SET sequence = 9",
    ):
        with pytest.raises(DBAPIError), engine.begin() as connection:
            connection.execute(text(refused))
    with pytest.raises(DBAPIError), engine.begin() as connection:
        connection.execute(text(LINE), _line(4, "recost", 1, b"\x03" * 32))
    engine.dispose()
