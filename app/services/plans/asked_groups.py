"""`by` beside a model, read: the model as it would be stored, with its groups and how many people each public stratum has.

The numbers are the dataset's own where there is a dataset. A plan without one may name them, or is about strata of equal size.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.kinds import GROUPS, group_columns, split_columns, split_groups
from app.core.schema import Column
from app.core.statistics.groups import GroupColumn, group_count, groups_of
from app.errors import InvalidInput, InvalidModel
from app.services.datasets.dataset_strata import people_by


def grouped_spec(
    spec: Mapping[str, Any], columns: Mapping[str, Column], stored: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """Of a dataset, whose strata are `stored`. Raises InvalidModel."""
    return _with_groups(spec, columns, lambda public: people_by(stored, public))


def planned_spec(spec: Mapping[str, Any], columns: Mapping[str, Column], people: int) -> Mapping[str, Any]:
    """Of `people` who need not exist. Raises InvalidModel, InvalidInput."""
    return _with_groups(spec, columns, lambda public: _named_or_equal(spec.get("strata"), public, people))


def described(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored model as the fields of a release's body: `model`, and `by` where there are groups."""
    model, groups = split_groups(stored)
    return {"model": model} | ({} if groups is None else {"by": list(groups["by"])})


def _with_groups(spec: Mapping[str, Any], columns: Mapping[str, Column], sizes: Any) -> Mapping[str, Any]:
    model, by = spec["model"], spec.get("by") or []
    if GROUPS in model:
        raise InvalidModel(f"model.{GROUPS}", "no such field: name columns in `by`, beside the model")
    if not by:
        return dict(model)
    public, _ = split_columns(group_columns(by, columns), columns)
    groups: dict[str, Any] = {"by": list(by)}
    if public:
        groups["strata"] = sizes(public)
    return {**model, GROUPS: groups}


def _named_or_equal(named: Sequence[Mapping[str, Any]] | None, public: Sequence[GroupColumn], people: int) -> list[int]:
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
    if sum(found) != people:
        raise InvalidInput("strata", f"numbers of people that sum to n, {people}")
    return found
