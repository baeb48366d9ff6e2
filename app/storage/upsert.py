"""INSERT … ON CONFLICT, which both engines spell alike and SQLAlchemy keeps in two dialects."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection


async def insert_new(connection: AsyncConnection, table: Table, values: Mapping[str, Any]) -> bool:
    """True if the row is ours; False if one with the same key was there, or won the race, first."""
    statement = _insert(connection, table).values(values).on_conflict_do_nothing()
    return await _wrote(connection, statement, table)


async def insert_or_change(
    connection: AsyncConnection,
    table: Table,
    values: Mapping[str, Any],
    *,
    key: Sequence[str],
    change: Mapping[str, Any],
    where: ColumnElement[bool] | None = None,
) -> bool:
    """True if a row was written: the new one, or the old one changed (only `where` it holds)."""
    statement = (
        _insert(connection, table)
        .values(values)
        .on_conflict_do_update(index_elements=list(key), set_=dict(change), where=where)
    )
    return await _wrote(connection, statement, table)


async def _wrote(connection: AsyncConnection, statement: postgresql.Insert | sqlite.Insert, table: Table) -> bool:
    """By what comes back: the row count of an INSERT is not kept on PostgreSQL."""
    return (await connection.execute(statement.returning(*table.primary_key))).first() is not None


def _insert(connection: AsyncConnection, table: Table) -> postgresql.Insert | sqlite.Insert:
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
