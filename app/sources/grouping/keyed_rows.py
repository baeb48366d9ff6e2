"""Rows by the levels of columns: which level a cell is of, and one statement that adds up what falls under each key."""

from collections.abc import Sequence

from app.core.schema import Column
from app.sources.cell_rules import CellRule
from app.sources.dialects.dialect import Dialect
from app.sources.dialects.duckdb import DUCK

BINARY = {"false": "0", "true": "1"}
"""Levels of a binary column, and how its cells spell them."""

Keys = Sequence[str]
"""Names of whole-number columns of the table: one row of results for each combination that occurs, the keys in front."""


def aggregated(results: Sequence[str], table: str, keys: Keys) -> str:
    """The statement; without keys there is one row of results."""
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join([*keys, *results])} FROM {table}{grouped}"  # noqa: S608 - columns and whole numbers


def level_place(column: Column, rule: CellRule, levels: Sequence[str], dialect: Dialect = DUCK) -> str:
    """SQL of the place of a cell's level, 0 for what is missing or no level: total, as every cell is."""
    cell, spelled = rule.canonical, levels
    if column.type == "binary":
        spelled = [BINARY[level] for level in levels]
    elif column.type == "integer":
        # The engine's casts are generous: '1.5' and '1_0' have a canonical spelling without being allowed.
        cell = f"CASE WHEN {rule.valid} THEN {rule.canonical} END"
    return dialect.cast(f"coalesce({dialect.place(cell, spelled)}, 0)", "USMALLINT")
