"""What the guarantee card says about groups: who is told apart by public columns, and what a private group may show."""

from collections.abc import Mapping
from typing import Any

from app.core.kinds import ReleaseModel, kind_of, read_where
from app.core.schema import Column

_PUBLIC = (
    "Who has which value of {columns} is not protected, here and in every release of this dataset: the steward declared it "
    "public, and how many people have each value is shown. What is protected is everything else about a person, against anyone "
    "who knows that."
)
_STRATA = (
    "Strata hold different people, so the figures above are those of the dearest: nobody is in two of them. {sizes}"
)
_EMPTY = "{empty} of {count} have nobody in them: what is said of these is the prior."
_PRIVATE = (
    "Groups by {columns} are private: how many rows each has is known only as far as its noisy numbers tell, and a person who "
    "belonged to another group is covered by the figures above."
)
_FILTER = (
    "Who meets the condition {condition} is private: how many rows do is known only as far as its noisy number tells, and a "
    "person who would meet it otherwise is covered by the figures above."
)
_GAPS = (
    "Rows without a value in {columns} are left out, and how many they are is private. That the others stand for them is "
    "assumed: nothing here can tell."
)


def public_line(columns: Mapping[str, Column]) -> list[dict[str, Any]]:
    """None for a dataset without public columns."""
    public = [name for name, column in columns.items() if column.public]
    if not public:
        return []
    text = _PUBLIC.format(columns=", ".join(map(repr, public)))
    return [_line("public_columns", public, "declared before the data were seen", text)]


def groups_line(model: ReleaseModel, asked: Mapping[str, Any], columns: Mapping[str, Column]) -> list[dict[str, Any]]:
    """None for a release of all rows together."""
    by, where = asked.get("by", []), asked.get("where")
    groups = kind_of(model).groups(model)
    if not by and not groups:
        return []
    condition = read_where(where, columns)
    private = [name for name in by if not columns[name].public]
    gaps = [name for name in model.statistic.columns if columns[name].missing == "group"]
    told = []
    if len(private) < len(by) or condition.public is not None:
        empty = sum(people == 0 for _, people in groups)
        told.append(_STRATA.format(sizes=_EMPTY.format(empty=empty, count=len(groups)) if empty else "").strip())
    if private:
        told.append(_PRIVATE.format(columns=", ".join(map(repr, private))))
    if condition.private is not None:
        told.append(_FILTER.format(condition=condition.private.text))
    if gaps:
        told.append(_GAPS.format(columns=", ".join(map(repr, gaps))))
    value = {"by": [*by], "where": where, "groups": len(groups) or None}
    return [_line("groups", value, "levels and conditions were declared before the data were seen", " ".join(told))]


def _line(name: str, value: Any, assumption: str, text: str) -> dict[str, Any]:
    return {"name": name, "value": value, "basis": "exact", "assumption": assumption, "text": text}
