"""`groups` of a model as it is stored: which columns it is by, and how many people each public stratum has.

Callers name the columns beside the model (`by`); the numbers of people come from the dataset, never from a caller who might
have another number in mind than the rows have. Both are stored with the model: they are part of what was charged.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from app.core.kinds.groups.model import StratifiedModel
from app.core.kinds.kind import Kind
from app.core.kinds.private_groups import PrivateGroups
from app.core.kinds.protocols import ReleaseModel
from app.core.schema import NAME_LENGTH_MAX, Column
from app.core.specs import Expects, Maybe, Spec, read_spec
from app.core.statistics.groups import INTEGER_LEVELS_MAX, GroupColumn, group_column, group_count
from app.errors import InvalidModel

COLUMNS_MAX = 8
GROUPS_MAX = 512
PARAMETERS_MAX = 50_000

By = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=NAME_LENGTH_MAX)]],
    Field(max_length=COLUMNS_MAX, json_schema_extra={"uniqueItems": True}),
    Expects(f"a list of at most {COLUMNS_MAX} names of columns"),
]


class GroupsSpec(Spec):
    """As stored with a model."""

    by: By
    strata: Maybe[list[Annotated[int, Field(ge=0)]]] = Field(default=None)


_GROUPS = TypeAdapter(GroupsSpec)


def grouped_model(
    inner: ReleaseModel, kind: Kind, spec: Mapping[str, Any], columns: Mapping[str, Column]
) -> ReleaseModel:
    """Private groups inside public strata, where there are both. Raises InvalidModel."""
    read = read_spec(_GROUPS, spec, "groups", InvalidModel)
    by = group_columns(read.by, columns)
    public, private = split_columns(by, columns)
    _refuse_modelled(inner, public, "by")
    model = inner
    if private:
        model = _private(inner, kind, private)
    if group_count(by) > GROUPS_MAX or group_count(public) * len(model.parameters) > PARAMETERS_MAX:
        raise InvalidModel("by", f"at most {GROUPS_MAX} groups and {PARAMETERS_MAX} parameters in all")
    if not public:
        return model
    return _stratified(model, kind, public, read)


def group_columns(names: list[str], columns: Mapping[str, Column]) -> tuple[GroupColumn, ...]:
    """Raises InvalidModel."""
    if len(set(names)) != len(names):
        raise InvalidModel("by", "every column once")
    found = []
    for name in names:
        column = group_column(name, columns)
        if column is None:
            expected = f"categorical or binary columns, or integer ones of at most {INTEGER_LEVELS_MAX} values"
            raise InvalidModel("by", f"{expected}; {name!r} is none")
        found.append(column)
    return tuple(found)


def split_columns(
    by: tuple[GroupColumn, ...], columns: Mapping[str, Column]
) -> tuple[tuple[GroupColumn, ...], tuple[GroupColumn, ...]]:
    """(public, private), each in the order given."""
    public = tuple(each for each in by if columns[each.name].public)
    return public, tuple(each for each in by if not columns[each.name].public)


def _private(inner: ReleaseModel, kind: Kind, private: tuple[GroupColumn, ...]) -> ReleaseModel:
    if kind.private is None:
        names = ", ".join(repr(each.name) for each in private)
        raise InvalidModel("by", f"public columns, for {kind.name} models; {names} is not declared public")
    return kind.private(inner, PrivateGroups(private))


def _stratified(model: ReleaseModel, kind: Kind, public: tuple[GroupColumn, ...], read: GroupsSpec) -> StratifiedModel:
    people = tuple(read.strata or ())
    if len(people) != group_count(public):
        raise InvalidModel("groups.strata", "the number of people in every stratum")
    if not any(people):
        raise InvalidModel("by", "strata that hold anyone")
    if kind.nobody is None and not all(people):
        raise InvalidModel("by", f"strata that all hold someone: {kind.name} models say nothing of nobody")
    return StratifiedModel(model, public, people, tuple(read.by))


def _refuse_modelled(inner: ReleaseModel, by: tuple[GroupColumn, ...], field: str) -> None:
    """Inside a group of the modelled column every value is known: nothing is left to model."""
    modelled = {*inner.statistic.columns} & {each.name for each in by}
    if modelled:
        names = ", ".join(map(repr, sorted(modelled)))
        raise InvalidModel(field, f"columns that the model is not of itself; it is of {names}")
