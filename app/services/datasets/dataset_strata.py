"""How many people each stratum of a dataset has, as stored beside n: public numbers, for plans, charges and cards."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.schema import Column, RowExpression
from app.core.statistics.groups import GroupColumn, group_count
from app.errors import IntegrityFailure, InvalidInput, InvalidSchema
from app.sources.grouping.strata_counts import Strata
from app.storage.datasets import Dataset

_UNSEEN = (
    "no public columns: how many people each of their values has is counted when rows are checked, and no row of this source "
    "is ever seen"
)


def strata_json(strata: Strata | None) -> dict[str, Any] | None:
    return None if strata is None else strata.as_json()


def people_by(
    stored: Mapping[str, Any] | None,
    by: Sequence[GroupColumn],
    where: RowExpression | None,
    columns: Mapping[str, Column],
) -> list[int]:
    """In every stratum of these columns, the last fastest; of those who meet a condition on public columns."""
    people = [0] * group_count(tuple(by))
    if stored is None:
        return people
    axes = [stored["columns"].index(column.name) for column in by]
    for levels, count in stored["people"]:
        if where is not None and not where.value(_cells(stored["columns"], levels, columns)):
            continue
        place = 0
        for axis, column in zip(axes, by, strict=True):
            place = place * len(column.levels) + column.levels.index(levels[axis])
        people[place] += count
    return people


def _cells(names: Sequence[str], levels: Sequence[str], columns: Mapping[str, Column]) -> dict[str, Any]:
    """A row with these levels, as conditions see it."""
    found: dict[str, Any] = {}
    for name, level in zip(names, levels, strict=True):
        kind = columns[name].type
        found[name] = level == "true" if kind == "binary" else float(level) if kind == "integer" else level
    return found


def public_strata(stored: Mapping[str, Any] | None) -> list[dict[str, Any]] | None:
    """As shown: what is counted, combination by combination; None without public columns."""
    if stored is None:
        return None
    names = stored["columns"]
    return [{"group": dict(zip(names, levels, strict=True)), "n": people} for levels, people in stored["people"]]


def refuse_unseen(dataset: Dataset) -> int:
    """The declared number of people. Raises InvalidInput without one, InvalidSchema for public columns, whose strata nobody here
    could count."""
    if dataset.source["kind"] != "statistics":
        raise IntegrityFailure("a dataset with rows of its own")
    if dataset.n is None:
        raise InvalidInput("n", "the public number of people: statistics without rows do not say it")
    for name, column in dataset.columns.items():
        if column.get("public"):
            raise InvalidSchema(f"columns.{name}.public", _UNSEEN)
    return dataset.n
