"""A file as one table of cells `c0, c1, …` with a rule for each, whatever its format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.schema import Column, PrivacyUnit
from app.errors import InvalidRows, RowProblem
from app.sources.cell_rules import (
    TEXT,
    CellRule,
    person_rule,
    stored_types,
    text_rule,
    typed_rule,
)
from app.sources.csv_lines import CELLS, ROW, lines_of
from app.sources.engine import Connection, identifier, literal
from app.sources.formats import Format

PROBLEMS_MAX = 20


@dataclass(frozen=True, slots=True)
class Scan:
    """`table` is SQL with a column `whole` (the record has the right shape) and the cells.

    `rules` covers every declared column, by name, and the privacy unit if it is another column.
    `first_line` is the line of the first record.
    """

    table: str
    rules: Mapping[str, CellRule]
    first_line: int

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
) -> Scan:
    """Check the header or stored schema against the declared one. Raises InvalidRows about line 1."""
    if file_format == "csv":
        return _scan_csv(connection, path, columns, unit, forgiving=forgiving)
    return _scan_parquet(connection, path, columns, unit)


def _scan_csv(
    connection: Connection,
    path: Path,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    *,
    forgiving: bool,
) -> Scan:
    header = f"SELECT {CELLS} FROM {lines_of(path, header=True)}"  # noqa: S608 - path quoted
    row = connection.execute(header).fetchone()
    if row is None or row[0] is None:
        raise InvalidRows([RowProblem(1, ROW, "a header line naming the declared columns")])
    found: list[str] = row[0]
    _check_names(found, columns, unit)
    place = {name: f"c{position}" for position, name in enumerate(found)}
    rules = {name: text_rule(column, place[name]) for name, column in columns.items()}
    if unit.column is not None and unit.column not in rules:
        rules[unit.column] = _required(person_rule(unit.column, place[unit.column], TEXT))
    cells = ", ".join(f"cells[{position + 1}] AS c{position}" for position in range(len(found)))
    lines = lines_of(path, header=False, forgiving=forgiving)
    table = (
        f"(SELECT coalesce(len(cells) = {len(found)}, false) AS whole, {cells} "  # noqa: S608 - numbers
        f"FROM (SELECT {CELLS} AS cells FROM {lines}))"
    )
    return Scan(table, rules, first_line=2)


def _scan_parquet(connection: Connection, path: Path, columns: Mapping[str, Column], unit: PrivacyUnit) -> Scan:
    where = literal(str(path))
    source = f"read_parquet({where}, hive_partitioning = false, union_by_name = false)"
    schema = connection.execute(f"SELECT name, num_children FROM parquet_schema({where})")  # noqa: S608
    found = _top_level(schema.fetchall())
    _check_names(found, columns, unit)
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608
    stored = {str(name): str(engine_type) for name, engine_type, *_ in described}
    place = {name: f"c{position}" for position, name in enumerate(found)}
    rules: dict[str, CellRule] = {}
    problems = []
    for name in found:
        column = columns.get(name)
        kind = stored.get(name, "")
        rule = typed_rule(column, place[name], kind) if column else person_rule(name, place[name], kind)
        if rule is None:
            expected = "a string or integer column" if column is None else stored_types(column)
            problems.append(RowProblem(1, name, expected))
        else:
            rules[name] = rule
    _raise_if_any(problems)
    cells = ", ".join(f"{identifier(name)} AS {place[name]}" for name in found)
    return Scan(f"(SELECT true AS whole, {cells} FROM {source})", rules, first_line=1)  # noqa: S608


def _top_level(schema: Sequence[tuple[object, int | None]]) -> list[str]:
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


def _check_names(found: Sequence[str], columns: Mapping[str, Column], unit: PrivacyUnit) -> None:
    """Exactly the declared names, each once, in any order.

    An unexpected name is given by its place: in a file without a header it is a value.
    """
    wanted = set(columns) | ({unit.column} if unit.column is not None else set())
    problems = []
    seen: set[str] = set()
    for position, name in enumerate(found, start=1):
        if name not in wanted:
            problems.append(RowProblem(1, f"#{position}", "the name of a declared column in the header"))
        elif name in seen:
            problems.append(RowProblem(1, name, "each column once"))
        seen.add(name)
    problems += [RowProblem(1, name, "this declared column in the file") for name in sorted(wanted - seen)]
    _raise_if_any(problems)


def _raise_if_any(problems: Sequence[RowProblem]) -> None:
    if problems:
        raise InvalidRows(problems[:PROBLEMS_MAX])


def _required(rule: CellRule | None) -> CellRule:
    assert rule is not None  # noqa: S101 - text always holds an identifier
    return rule
