"""Made-up rows from a declared schema alone: every value as likely as any other, the same for the same seed.

They say nothing about anybody. With a privacy unit each person has one to `max_rows` rows, and public columns are constant
within a person, as an upload demands.
"""

import datetime
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.core.schema import Column, PrivacyUnit
from app.errors import InvalidInput
from app.sources.typed_rows import stored_names

ROWS_MAX = 1_000_000
DAYS = (0, 25_568)
"""Dates have no bounds to draw between: from 1970 to 2039."""
SEED_MAX = 2**63 - 1


def refuse_large_rehearsal(people: int, unit: PrivacyUnit) -> None:
    if people * unit.max_rows > ROWS_MAX:
        raise InvalidInput("n", f"at most {ROWS_MAX // unit.max_rows} people in a rehearsal")


def write_rehearsal(path: Path, columns: Mapping[str, Column], unit: PrivacyUnit, people: int, seed: int) -> None:
    """A CSV file of `people` people. Blocking; some seconds for a million rows."""
    chance = np.random.default_rng(seed)
    owned = np.ones(people, np.int64) if unit.column is None else chance.integers(1, unit.max_rows + 1, people)
    rows = int(owned.sum())
    cells: dict[str, list[str]] = {}
    for name in sorted(stored_names(columns, unit)):
        column = columns.get(name)
        if column is None:
            cells[name] = np.repeat(np.array([f"person-{place}" for place in range(people)], object), owned).tolist()
        elif name == unit.column:
            cells[name] = _identifiers(column, owned)
        elif column.public and unit.column is not None:
            cells[name] = np.repeat(np.array(_cells(column, people, chance), object), owned).tolist()
        else:
            cells[name] = _cells(column, rows, chance)
    with path.open("x", encoding="utf-8") as file:
        file.write(",".join(map(_quoted, cells)) + "\n")
        file.writelines(f"{','.join(row)}\n" for row in zip(*cells.values(), strict=True))


def _cells(column: Column, size: int, chance: np.random.Generator) -> list[str]:
    if column.type == "binary":
        return [str(value) for value in chance.integers(0, 2, size).tolist()]
    if column.type == "categorical":
        levels = [_quoted(level) for level in column.levels]
        return [levels[place] for place in chance.integers(0, len(levels), size).tolist()]
    if column.type == "date":
        days = chance.integers(*DAYS, size)
        return [_written(column, day) for day in (np.datetime64("1970-01-01") + days).tolist()]
    lower, upper = _bounds(column)
    if column.type == "integer":
        return [str(value) for value in chance.integers(int(lower), int(upper) + 1, size).tolist()]
    values: NDArray[np.float64] = np.clip(lower + (upper - lower) * chance.random(size), lower, upper)
    if column.decimal == "comma":
        return [_quoted(repr(value).replace(".", ",")) for value in values.tolist()]
    return [repr(value) for value in values.tolist()]


def _written(column: Column, day: datetime.date) -> str:
    pattern = {"day.month.year": "%d.%m.%Y", "day/month/year": "%d/%m/%Y", "month/day/year": "%m/%d/%Y"}
    return day.strftime(pattern.get(column.written, "%Y-%m-%d"))


def _identifiers(column: Column, owned: NDArray[np.int64]) -> list[str]:
    """Different for different people: a declared column that names them has to have room for that."""
    people = len(owned)
    if column.type == "date":
        names = [
            _written(column, day) for day in (np.datetime64("1970-01-01") + np.arange(min(people, DAYS[1]))).tolist()
        ]
    elif column.type == "categorical":
        names = [_quoted(level) for level in column.levels[:people]]
    else:
        lower, upper = (0.0, 1.0) if column.type == "binary" else _bounds(column)
        names = [str(int(lower) + place) for place in range(min(people, int(upper - lower) + 1))]
    if len(names) < people:
        raise InvalidInput("n", f"at most {len(names)} people, which is how many {column.name!r} can name")
    return np.repeat(np.array(names, object), owned).tolist()


def _bounds(column: Column) -> tuple[float, float]:
    if column.lower is None or column.upper is None:
        raise InvalidInput(f"columns.{column.name}", "bounds")
    return column.lower, column.upper


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
