"""INSERT … ON CONFLICT, which both engines spell alike and SQLAlchemy keeps in two dialects."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection


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
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = (
        dialect.insert(table)
        .values(values)
        .on_conflict_do_update(index_elements=list(key), set_=dict(change), where=where)
        .returning(*table.primary_key)
    )
    # By what comes back: the row count of an INSERT is not kept on PostgreSQL.
    return (await connection.execute(statement)).first() is not None
