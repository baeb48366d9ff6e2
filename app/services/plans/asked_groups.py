"""`by` and `where` beside a model, read: the model as it would be stored, with how many people each public stratum has.

The numbers are the dataset's own where there is a dataset. A plan without one may name them, or is about strata of equal size.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.core.kinds import GROUPS, PARTS, group_columns, read_where, split_columns, split_groups
from app.core.schema import Column, RowExpression
from app.core.statistics.groups import GroupColumn, group_count, groups_of
from app.errors import InvalidInput, InvalidModel
from app.services.datasets.dataset_strata import people_by

Sizes = Callable[[Sequence[GroupColumn], RowExpression | None], list[int]]
"""(public columns, a condition on others) → how many people every stratum has."""


def grouped_spec(
    spec: Mapping[str, Any], columns: Mapping[str, Column], stored: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """Of a dataset, whose strata are `stored`. Raises InvalidModel."""
    return _with_groups(spec, columns, lambda public, where: people_by(stored, public, where, columns))


def planned_spec(spec: Mapping[str, Any], columns: Mapping[str, Column], people: int) -> Mapping[str, Any]:
    """Of `people` who need not exist. Raises InvalidModel, InvalidInput."""

    def sizes(public: Sequence[GroupColumn], where: RowExpression | None) -> list[int]:
        return _named_or_equal(spec.get("strata"), public, people, filtered=where is not None)

    return _with_groups(spec, columns, sizes)


def described(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored model as the fields of a release's body: `model`, and `by` and `where` if it has them."""
    model, groups = split_groups(stored)
    asked = groups or {}
    return {"model": model} | {name: asked[name] for name in ("by", "where") if asked.get(name)}


def _with_groups(spec: Mapping[str, Any], columns: Mapping[str, Column], sizes: Sizes) -> Mapping[str, Any]:
    model, by, where = spec["model"], spec.get("by") or [], spec.get("where")
    if GROUPS in model:
        raise InvalidModel(f"model.{GROUPS}", "no such field: name columns in `by`, beside the model")
    if PARTS in model:
        raise InvalidModel(f"model.{PARTS}", "no such field: send a list of `models` instead of `model`")
    if not by and where is None:
        return dict(model)
    public, _ = split_columns(group_columns(by, columns), columns)
    asked = read_where(where, columns)
    groups: dict[str, Any] = {"by": list(by)} | ({} if asked.text is None else {"where": asked.text})
    if public or asked.public is not None:
        groups["strata"] = sizes(public, asked.public)
    return {**model, GROUPS: groups}


def _named_or_equal(
    named: Sequence[Mapping[str, Any]] | None, public: Sequence[GroupColumn], people: int, *, filtered: bool
) -> list[int]:
    """Of a condition on public columns nobody knows here how many meet it: all, unless numbers are named."""
    groups = groups_of(tuple(public))
    if named is None:
        each, more = divmod(people, group_count(tuple(public)))
        return [each + (place < more) for place in range(len(groups))]
    places = {group: place for place, group in enumerate(groups)}
    found = [0] * len(groups)
    for i, stratum in enumerate(named):
        place = places.get(tuple((column.name, stratum["group"].get(column.name)) for column in public))
        if place is None:
            raise InvalidInput(f"strata.{i}.group", "a declared level of every public column in `by`")
        found[place] += stratum["n"]
    if sum(found) != people and not (filtered and sum(found) < people):
        raise InvalidInput("strata", f"numbers of people that sum to n, {people}")
    return found
