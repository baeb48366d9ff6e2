"""Which rows count, and what each of them brings: the table every statistic is an aggregate of."""

from collections.abc import Sequence

from app.core.schema import PrivacyUnit
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK
from app.sources.engine import Connection
from app.sources.scans import Scan


def counted_rows(connection: Connection, scan: Scan, unit: PrivacyUnit, hash_key: bytes, cells: Sequence[str]) -> str:
    """SQL of a table with one row for each row that counts, and the columns v0, v1, … for `cells`, SQL over the scan.

    With a privacy unit at most `max_rows` rows of each person count: those with the smallest
    keyed hash of their own content, so that neither file order nor whoever wrote the file
    chooses them. Equal rows have equal hashes and either may stand for the other. The content is
    the whole row, whatever the statistic looks at: every statistic is of the same rows.

    The rows are sorted into a temporary table, where a person's rows are neighbours: those less than
    `max_rows` after the first count, so no more than that can, whatever the sort did. Sorting and joining
    spill to disk, which a window over the rows does not do well enough: 10⁶ rows of 37 cells ran out of 512 MB.
    """
    values = ", ".join(f"{cell} AS v{place}" for place, cell in enumerate(cells))
    if unit.column is None:
        return f"(SELECT {values} FROM {scan.table})"  # noqa: S608 - declared names only
    person = _person(scan, unit.column, DUCK)
    connection.execute(
        f"CREATE TEMP TABLE owned AS SELECT {person} AS person, {values} "  # noqa: S608
        f"FROM {scan.table} ORDER BY person, {DUCK.digest(*_content(scan))}",
        {"key": hash_key.hex()},
    )
    first = "(SELECT person AS owner, min(rowid) AS place FROM owned GROUP BY person)"
    return (
        f"(SELECT owned.* FROM owned JOIN {first} AS first ON owned.person = first.owner "  # noqa: S608
        f"WHERE owned.rowid < first.place + {unit.max_rows})"
    )


def chosen_rows(scan: Scan, unit: PrivacyUnit, cells: Sequence[str], dialect: Dialect) -> str:
    """The same table where nothing may be written: by a window over the rows, which such an engine sorts on its own disk. With
    a unit the statement needs the key."""
    values = ", ".join(f"{cell} AS v{place}" for place, cell in enumerate(cells))
    if unit.column is None:
        return f"(SELECT {values} FROM {scan.table})"  # noqa: S608 - declared names only
    hashed = dialect.step(
        [f"{_person(scan, unit.column, dialect)} AS person", f"{dialect.digest(*_content(scan))} AS digest"], scan.table
    )
    ordered = f"(SELECT *, row_number() OVER (PARTITION BY person ORDER BY digest) AS turn FROM {hashed})"  # noqa: S608
    return f"(SELECT {values} FROM {ordered} WHERE turn <= {unit.max_rows})"  # noqa: S608 - declared names only


def _person(scan: Scan, column: str, dialect: Dialect) -> str:
    return dialect.digest(f"coalesce('p' || {scan.rules[column].canonical}, '')")


def _content(scan: Scan) -> list[str]:
    """SQL of each cell preceded by its length, columns in order of name; what is derived from them adds nothing.

    A key in front of what is hashed is enough here: hashes never leave the engine, so nobody can extend one. Should two ever
    be equal (2⁻⁶⁹ for 10⁹ rows), two people would share a person's rows, or another row of a person would count.
    """
    cells = (rule.canonical for _, rule in sorted(scan.rules.items()) if not rule.derived)
    return [f"coalesce(length({cell}) || ':' || {cell}, '-')" for cell in cells]
