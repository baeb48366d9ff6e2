"""Migrated databases handed out one a test, and emptied rather than made again.

Creating a database copies hundreds of files; emptying a few small tables takes milliseconds.
"""

from collections.abc import Callable
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
            self._rows = {table: _rows(connection, table) for table in _tables(connection)}

    def take(self) -> str:
        return self._free.pop() if self._free else self._server.create_database(template=self.template)

    def give_back(self, name: str) -> None:
        """Empty it for the next test, or drop it if its shape was changed."""
        with psycopg.connect(self._server.url(name)) as connection:
            connection.execute(_OTHERS, (connection.info.backend_pid,))
            intact = connection.execute(_SHAPE).fetchone() == self._shape
            if intact:
                self._empty(connection)
        if intact:
            self._free.append(name)
        else:
            self._server.drop_database(name)

    def _empty(self, connection: psycopg.Connection[Any]) -> None:
        """Back to the rows of the template. As a replica, because the triggers would rightly refuse."""
        connection.execute("SET session_replication_role = replica")
        for table, rows in self._rows.items():
            connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
            for row in rows:
                places = sql.SQL(", ").join([sql.Placeholder()] * len(row))
                connection.execute(sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(table), places), row)


def _tables(connection: psycopg.Connection[Any]) -> list[str]:
    return [row[0] for row in connection.execute(_TABLES)]


def _rows(connection: psycopg.Connection[Any], table: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(table))).fetchall()
