"""A file as one table of cells `c0, c1, …` with a rule for each, whatever its format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.core.schema import Column, OtherColumns, PrivacyUnit
from app.errors import InvalidRows, RowProblem
from app.sources.cell_rules import CellRule
from app.sources.engine import Connection, identifier, literal
from app.sources.files.csv_lines import ROW, cells_of, lines_of
from app.sources.files.formats import Format
from app.sources.files.header import column_name, header_of, separator_of
from app.sources.typed_rows import PROBLEMS_MAX, FileCell, stored_names, typed_rows

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}


@dataclass(frozen=True, slots=True)
class Scan:
    """`table` is SQL with a column `whole` (the record has the right shape), the cells and their values.

    `rules` covers every declared column, by name, and the privacy unit if it is another column.
    `first_line` is the line of the first record; `others` names the columns of the file that nobody declared, `columns` are
    the declared ones.
    """

    table: str
    rules: Mapping[str, CellRule]
    first_line: int
    others: tuple[str, ...] = ()
    columns: Mapping[str, Column] = field(default_factory=dict)
    shape: str = "a whole record"
    """What a record has to look like, for the steward."""
    kept: bool = False
    """Whether it is of typed columns that no longer change: reading them again finds the same rows, and parses nothing."""

    @property
    def allowed(self) -> str:
        """SQL, never NULL: the record may be stored."""
        cells = (f"coalesce({rule.valid}, false)" for rule in self.rules.values())
        return " AND ".join(["whole", *cells])


def open_scan(
    connection: Connection,
    path: Path,
    file_format: Format,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    *,
    forgiving: bool = False,
    other_columns: OtherColumns = "ignore",
    separator: str | None = None,
    unquoted: bool = False,
) -> Scan:
    """Check the header or stored schema against the declared one. Raises InvalidRows about line 1.

    The `separator` of CSV, if not given, is the one that cuts the header, and no other line, into most declared names. Where
    quotes were taken off (`unquoted`), it is the one of the file that was sent.
    """
    form: dict[str, Any] = {
        "other_columns": other_columns,
        "forgiving": forgiving,
        "separator": separator,
        "unquoted": unquoted,
    }
    cells = stored_cells(connection, path, file_format, columns, unit, **form)
    first_line = 2 if file_format == "csv" else 1
    return Scan(*typed_rows(cells.table, cells.places, columns, unit), first_line, cells.others, columns, cells.shape)


@dataclass(frozen=True, slots=True)
class StoredCells:
    """SQL of a table with a column `whole`, and where in it each column stands."""

    table: str
    places: Mapping[str, FileCell]
    others: tuple[str, ...]
    shape: str = "a whole record"


def stored_cells(
    connection: Connection,
    path: Path,
    file_format: Format,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    *,
    forgiving: bool = False,
    other_columns: OtherColumns = "ignore",
    separator: str | None = None,
    unquoted: bool = False,
) -> StoredCells:
    """Of one file. `columns` and `unit` are of what it has to hold."""
    if file_format != "csv":
        return _parquet_cells(connection, path, columns, unit, other_columns)
    separator = separator or separator_of(header_of(path), stored_names(columns, unit))
    cut = cells_of(separator, unquoted=unquoted)
    header = f"SELECT {cut} FROM {lines_of(path, header=True)}"  # noqa: S608 - path quoted
    row = connection.execute(header).fetchone()
    if row is None or row[0] is None:
        raise InvalidRows([RowProblem(1, ROW, "a header line naming the declared columns")])
    found: list[str] = [column_name(name) for name in row[0]]
    others = other_names(found, columns, unit, other_columns)
    places = {name: FileCell(f"c{position}") for position, name in enumerate(found)}
    cells = ", ".join(f"cells[{position + 1}] AS c{position}" for position in range(len(found)))
    lines = lines_of(path, header=False, forgiving=forgiving)
    table = (
        f"(SELECT coalesce(len(cells) = {len(found)}, false) AS whole, {cells} "  # noqa: S608 - numbers
        f"FROM (SELECT {cut} AS cells FROM {lines}))"
    )
    shape = f"{len(found)} cells separated by {_SEPARATORS[separator]}, quotes around whole cells only"
    return StoredCells(table, places, others, shape)


def _parquet_cells(
    connection: Connection,
    path: Path,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    other_columns: OtherColumns,
) -> StoredCells:
    where = literal(str(path))
    source = parquet_rows([path])
    schema = connection.execute(f"SELECT name, num_children FROM parquet_schema({where})")  # noqa: S608
    found = top_level(schema.fetchall())
    others = other_names(found, columns, unit, other_columns)
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608
    stored = {str(name): str(engine_type) for name, engine_type, *_ in described}
    wanted = [name for name in found if name not in others]
    places = {name: FileCell(f"c{position}", stored.get(name, "")) for position, name in enumerate(wanted)}
    cells = ", ".join(f"{identifier(name)} AS {place.cell}" for name, place in places.items())
    return StoredCells(f"(SELECT true AS whole, {cells} FROM {source})", places, others)  # noqa: S608


def parquet_rows(paths: Sequence[Path]) -> str:
    """Files of one schema, as one table."""
    listed = ", ".join(literal(str(path)) for path in paths)
    return f"read_parquet([{listed}], hive_partitioning = false, union_by_name = false)"


def top_level(schema: Sequence[tuple[object, int | None]]) -> list[str]:
    """Names of the columns themselves: the tree comes depth first, its root first."""
    names = []
    inside = 0
    for name, children in schema[1:]:
        if inside == 0:
            names.append(str(name))
        else:
            inside -= 1
        inside += children or 0
    return names


def other_names(
    found: Sequence[str], columns: Mapping[str, Column], unit: PrivacyUnit, policy: OtherColumns
) -> tuple[str, ...]:
    """Every declared name once, in any order; further ones are left alone, unless the dataset refuses them.

    A name that is refused is given by its place: in a file without a header it is a value.
    """
    wanted = set(stored_names(columns, unit))
    small = {name.lower() for name in wanted}
    problems = []
    seen: set[str] = set()
    others = []
    for position, name in enumerate(found, start=1):
        if name not in wanted:
            others.append(name)
            if name.lower() in small:  # the engine would not tell them apart
                problems.append(
                    RowProblem(1, f"#{position}", "a name that differs by more than case from a declared one")
                )
            elif policy == "refuse":
                problems.append(RowProblem(1, f"#{position}", "the name of a declared column in the header"))
        elif name in seen:
            problems.append(RowProblem(1, name, "each column once"))
        seen.add(name)
    problems += [RowProblem(1, name, "this declared column in the file") for name in sorted(wanted - seen)]
    if problems:
        raise InvalidRows(problems[:PROBLEMS_MAX])
    return tuple(others)
