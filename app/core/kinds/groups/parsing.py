"""`groups` of a model as it is stored: which columns it is by, and how many people each public stratum has.

Callers name the columns beside the model (`by`); the numbers of people come from the dataset, never from a caller who might
have another number in mind than the rows have. Both are stored with the model: they are part of what was charged.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from app.core.kinds.groups.model import StratifiedModel
from app.core.kinds.kind import Kind
from app.core.kinds.private_groups import PrivateGroups, private_refused
from app.core.kinds.protocols import ReleaseModel
from app.core.language.tree import TEXT_LENGTH_MAX
from app.core.schema import NAME_LENGTH_MAX, Column, RowExpression, parse_filter
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


Where = Annotated[str, Field(min_length=1, max_length=TEXT_LENGTH_MAX)]


class GroupsSpec(Spec):
    """As stored with a model."""

    by: By
    where: Maybe[Where] = Field(default=None)
    strata: Maybe[list[Annotated[int, Field(ge=0)]]] = Field(default=None)


_GROUPS = TypeAdapter(GroupsSpec)


def grouped_model(
    inner: ReleaseModel, kind: Kind, spec: Mapping[str, Any], columns: Mapping[str, Column]
) -> ReleaseModel:
    """Private groups inside public strata, where there are both. Raises InvalidModel, InvalidExpression."""
    read = read_spec(_GROUPS, spec, "groups", InvalidModel)
    by = group_columns(read.by, columns)
    public, private = split_columns(by, columns)
    asked = read_where(read.where, columns)
    _refuse_modelled(inner, _with_inputs((each.name for each in public), columns), "by")
    _refuse_modelled(inner, _with_inputs(asked.columns, columns), "where")
    named = dict.fromkeys((*inner.statistic.columns, *read.by))
    present = tuple(name for name in named if columns[name].missing == "group")
    model = inner
    if private or asked.private is not None or present:
        inputs = tuple(sorted(_with_inputs((each.name for each in private), columns)))
        model = _private(inner, kind, PrivateGroups(private, asked.private, present, asked.text, inputs))
        if isinstance(model, type(inner)):  # whose groups became columns it is of
            _refuse_grouped(private, _with_inputs(asked.columns, columns))
    if group_count(public) * len(model.parameters) > PARAMETERS_MAX:
        raise InvalidModel("by", f"groups with at most {PARAMETERS_MAX} parameters in all")
    if not public and asked.public is None:
        return model
    return _stratified(model, kind, public, read, asked)


@dataclass(frozen=True, slots=True)
class Asked:
    """A `where`, read: its public part chooses strata, its private part is one measured group."""

    public: RowExpression | None = None
    private: RowExpression | None = None
    text: str | None = None
    columns: tuple[str, ...] = ()


def read_where(text: str | None, columns: Mapping[str, Column]) -> Asked:
    """Public columns without levels are too fine to count people by, and are treated like private ones. Raises
    InvalidExpression."""
    if text is None:
        return Asked()
    found = parse_filter(text, columns)
    if found.public_part is not None and any(group_column(name, columns) is None for name in found.public_part.columns):
        return Asked(None, found.condition, found.text, found.columns)
    return Asked(found.public_part, found.private_part, found.text, found.columns)


def group_columns(names: list[str], columns: Mapping[str, Column]) -> tuple[GroupColumn, ...]:
    """Refuses too many groups before anyone lists them. Raises InvalidModel."""
    if len(set(names)) != len(names):
        raise InvalidModel("by", "every column once")
    found = []
    for name in names:
        column = group_column(name, columns)
        if column is None:
            expected = f"categorical or binary columns, or integer ones of at most {INTEGER_LEVELS_MAX} values"
            raise InvalidModel("by", f"{expected}; {name!r} is none")
        found.append(column)
    if group_count(tuple(found)) > GROUPS_MAX:
        raise InvalidModel("by", f"at most {GROUPS_MAX} groups")
    return tuple(found)


def split_columns(
    by: tuple[GroupColumn, ...], columns: Mapping[str, Column]
) -> tuple[tuple[GroupColumn, ...], tuple[GroupColumn, ...]]:
    """(public, private), each in the order given."""
    public = tuple(each for each in by if columns[each.name].public)
    return public, tuple(each for each in by if not columns[each.name].public)


def _private(inner: ReleaseModel, kind: Kind, groups: PrivateGroups) -> ReleaseModel:
    if kind.private is None:
        raise private_refused(groups, kind.name)
    return kind.private(inner, groups)


def _stratified(
    model: ReleaseModel, kind: Kind, public: tuple[GroupColumn, ...], read: GroupsSpec, asked: Asked
) -> StratifiedModel:
    people, field = tuple(read.strata or ()), "by" if read.by else "where"
    if len(people) != group_count(public):
        raise InvalidModel("groups.strata", "the number of people in every stratum")
    if not any(people):
        raise InvalidModel(field, "strata that hold anyone")
    if kind.nobody is None and not all(people):
        raise InvalidModel(field, f"strata that all hold someone: {kind.name} models say nothing of nobody")
    return StratifiedModel(model, public, people, tuple(read.by), asked.public, asked.text)


def _with_inputs(names: Iterable[str], columns: Mapping[str, Column]) -> set[str]:
    """With those that derived columns among them are made of: a cut of the one is a cut of the other."""
    found = set(names)
    for name in tuple(found):
        derived = columns[name].derived
        found |= set() if derived is None else set(derived.columns)
    return found


def _refuse_modelled(inner: ReleaseModel, named: set[str], field: str) -> None:
    """Inside a group of the modelled column every value is known, and a condition on it cuts its law."""
    modelled = {*inner.statistic.columns} & named
    if modelled:
        names = ", ".join(map(repr, sorted(modelled)))
        raise InvalidModel(field, f"columns that the model is not of itself; it is of {names}")


def _refuse_grouped(private: tuple[GroupColumn, ...], named: set[str]) -> None:
    met = [each.name for each in private if each.name in named]
    if met:
        raise InvalidModel("where", f"columns that the model is not by; it is by {met[0]!r}")
