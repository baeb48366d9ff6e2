"""A table or view as one table of cells: only declared columns are ever named, and only as the catalogue spells them."""

from collections.abc import Mapping

from app.core.schema import Column, OtherColumns, PrivacyUnit
from app.errors import DataMissing
from app.sources.dialects.postgresql import POSTGRES
from app.sources.scans import Scan, other_names
from app.sources.tables.postgresql_session import GONE, Session
from app.sources.typed_rows import FileCell, typed_rows

_STORED = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "numeric": "DECIMAL(",
    "text": "VARCHAR",
    "varchar": "VARCHAR",
    "bpchar": "VARCHAR",
    "name": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "uuid": "UUID",
}
_ENUM = "ENUM("
_READABLE = "('r', 'p', 'v', 'm')"
"""Tables, partitioned tables, views. Not foreign tables: they are files and hosts that the operator did not name."""


def found_columns(session: Session, table: str) -> dict[str, str]:
    """Name → stored type, in order. Raises DataMissing if there is no such table, or nothing of it may be read."""
    space, name = parts_of(table)
    found = session.run(
        "SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typnamespace = 'pg_catalog'::regnamespace "  # noqa: S608
        "THEN t.typname ELSE '' END FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid "
        f"WHERE n.nspname = {POSTGRES.text(space)} AND c.relname = {POSTGRES.text(name)} AND c.relkind IN {_READABLE} "
        "AND a.attnum > 0 AND NOT a.attisdropped AND has_schema_privilege(n.oid, 'USAGE') "
        "AND has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY a.attnum"
    )
    if not found:
        raise DataMissing(GONE)
    return {str(column): _ENUM if kind == "enum" else _STORED.get(str(kind), "OTHER") for column, kind in found}


def scan_table(
    session: Session,
    table: str,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    other_columns: OtherColumns = "ignore",
) -> Scan:
    """Raises InvalidRows about columns that are not there, or that cannot hold what was declared; DataMissing."""
    stored = found_columns(session, table)
    others = other_names([*stored], columns, unit, other_columns)
    places = {
        name: FileCell(f"c{place}", kind)
        for place, (name, kind) in enumerate((name, kind) for name, kind in stored.items() if name not in others)
    }
    cells = ", ".join(f"{POSTGRES.name(name)} AS {place.cell}" for name, place in places.items())
    source = ".".join(map(POSTGRES.name, parts_of(table)))
    rows = f"(SELECT true AS whole, {cells} FROM {source})"  # noqa: S608 - names of the catalogue, quoted
    return Scan(*typed_rows(rows, places, columns, unit, POSTGRES), 1, others, columns, "a row of the table")


def parts_of(table: str) -> tuple[str, str]:
    space, dot, name = table.partition(".")
    return (space, name) if dot else ("public", table)
