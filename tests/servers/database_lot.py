"""Migrated databases handed out one a test, and emptied rather than made again.

Creating a database copies hundreds of files; emptying a few small tables takes milliseconds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from tests.servers.postgres import PostgresServer

_OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> %s"
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
# Everything a test could have taken away: relations, and triggers with their state.
_SHAPE = """
SELECT (SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
       (SELECT string_agg(tgname || ':' || tgenabled::text, ',' ORDER BY tgrelid, tgname) FROM pg_trigger WHERE NOT tgisinternal)
"""


class DatabaseLot:
    """`migrate` gets the address of a new database and makes its tables; or `template` names one that has them."""

    def __init__(self, server: PostgresServer, migrate: Callable[[str], object], template: str | None = None) -> None:
        self._server = server
        self.template = template or server.create_database()
        migrate(server.url(self.template))
        self._free: list[str] = []
        with psycopg.connect(server.url(self.template)) as connection:
            self._shape = connection.execute(_SHAPE).fetchone()
            self._tables = _tables(connection)
            rows = {table: _rows(connection, table) for table in self._tables}
        self._deleted = _deleted(self._tables)
        self._emptied = sql.SQL("; ").join([self._deleted, _inserted(rows)])

    def take(self) -> str:
        return self._free.pop() if self._free else self._server.create_database(template=self.template)

    def give_back(self, name: str) -> None:
        """Empty it for the next test, or drop it if its shape was changed."""
        with self._alone(name) as connection:
            intact = self._repaired(connection)
            if intact:
                connection.execute(self._emptied)
        if intact:
            self._free.append(name)
        else:
            self._server.drop_database(name)

    def contents(self, name: str) -> "DatabaseContents":
        return DatabaseContents(self, name)

    @contextmanager
    def _alone(self, name: str) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(self._server.url(name)) as connection:
            connection.execute(_OTHERS, (connection.info.backend_pid,))
            yield connection

    def _repaired(self, connection: psycopg.Connection[Any]) -> bool:
        """True if everything is there. Triggers somebody disabled are enabled again."""
        if connection.execute(_SHAPE).fetchone() == self._shape:
            return True
        for table in self._tables:
            connection.execute(sql.SQL("ALTER TABLE IF EXISTS {} ENABLE TRIGGER USER").format(sql.Identifier(table)))
        return bool(connection.execute(_SHAPE).fetchone() == self._shape)


class DatabaseContents:
    """The rows of a migrated database, which can be brought back."""

    def __init__(self, lot: DatabaseLot, name: str) -> None:
        self._lot, self._name = lot, name

    def keep(self) -> dict[str, bytes]:
        with self._lot._alone(self._name) as connection:
            return {table: b"".join(_copied(connection, table)) for table in self._lot._tables}

    def put_back(self, kept: dict[str, bytes]) -> None:
        with self._lot._alone(self._name) as connection:
            assert self._lot._repaired(connection), "a test changed the tables themselves"
            connection.execute(self._lot._deleted)
            for table, rows in kept.items():
                if rows:
                    statement = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))
                    with connection.cursor().copy(statement) as copy:
                        copy.write(rows)


def _copied(connection: psycopg.Connection[Any], table: str) -> Iterator[bytes]:
    with connection.cursor().copy(sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(table))) as copy:
        yield from (bytes(piece) for piece in copy)


def _deleted(tables: Iterable[str]) -> sql.Composed:
    """All rows, in one round trip. As a replica, because the triggers would rightly refuse."""
    steps = [sql.SQL("SET session_replication_role = replica")]
    return sql.SQL("; ").join([*steps, *(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)) for name in tables)])


def _inserted(rows: Mapping[str, list[tuple[Any, ...]]]) -> sql.Composed:
    """The rows every migrated database has."""
    return sql.SQL("; ").join(
        sql.SQL("INSERT INTO {} VALUES ({})").format(
            sql.Identifier(table), sql.SQL(", ").join(sql.Literal(value) for value in row)
        )
        for table, found in rows.items()
        for row in found
    )


def _tables(connection: psycopg.Connection[Any]) -> list[str]:
    return [row[0] for row in connection.execute(_TABLES)]


def _rows(connection: psycopg.Connection[Any], table: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table))).fetchall()
