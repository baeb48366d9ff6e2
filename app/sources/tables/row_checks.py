"""Counts that say whether rows are what was declared, on any engine: `run` answers one statement. Only counts come out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.core.schema import Column, PrivacyUnit
from app.sources.scans import Scan

Run = Callable[[str], Sequence[tuple[Any, ...]]]


def count_people(run: Run, scan: Scan, unit: PrivacyUnit, rows: int) -> tuple[int, int]:
    """How many people, and how many of them own more rows than the unit allows."""
    if unit.column is None:
        return rows, 0
    person = scan.rules[unit.column].canonical
    ((people, clipped),) = run(
        f"SELECT count(*), count(*) FILTER (WHERE owned > {unit.max_rows}) FROM "  # noqa: S608
        f"(SELECT {person} AS person, count(*) AS owned FROM {scan.table} GROUP BY {person})"
    )
    return int(people), int(clipped)


def count_cells(run: Run, scan: Scan, columns: Mapping[str, Column]) -> tuple[dict[str, int], dict[str, int]]:
    """How many cells of each column a policy gave a value, missing and outside; columns without such cells are left out."""
    flags = [flag for name in columns for flag in (scan.rules[name].gone, scan.rules[name].beyond)]
    counts = ", ".join(f"count(*) FILTER (WHERE {flag})" for flag in flags)
    (counted,) = run(f"SELECT {counts} FROM {scan.table}")  # noqa: S608
    missing, outside = (dict(zip(columns, counted[first::2], strict=True)) for first in (0, 1))
    return {name: n for name, n in missing.items() if n}, {name: n for name, n in outside.items() if n}


def public_values(scan: Scan, columns: Mapping[str, Column], unit: PrivacyUnit) -> dict[str, str]:
    """SQL of the value of each public column, where people may have several rows."""
    if unit.column is None:
        return {}
    return {name: scan.rules[name].canonical for name, column in columns.items() if column.public}


def scattered(run: Run, scan: Scan, person: str, values: Mapping[str, str]) -> list[str]:
    """Columns with two values for one person. Grouping spills to disk, which a window over all rows does not do well enough."""
    if not values:
        return []
    ends = ", ".join(
        f"min({value}) AS a{place}, max({value}) AS b{place}" for place, value in enumerate(values.values())
    )
    differ = ", ".join(f"bool_or(a{place} <> b{place})" for place in range(len(values)))
    (found,) = run(
        f"SELECT {differ} FROM (SELECT {person} AS person, {ends} FROM {scan.table} GROUP BY {person})"  # noqa: S608
    )
    return [name for name, differs in zip(values, found, strict=True) if differs]
