"""What the guarantee card says about groups: who is told apart by public columns, and what a private group may show."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.kinds import ReleaseModel, kind_of
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


def public_line(columns: Mapping[str, Column]) -> list[dict[str, Any]]:
    """None for a dataset without public columns."""
    public = [name for name, column in columns.items() if column.public]
    if not public:
        return []
    text = _PUBLIC.format(columns=", ".join(map(repr, public)))
    return [_line("public_columns", public, "declared before the data were seen", text)]


def groups_line(model: ReleaseModel, by: Sequence[str], columns: Mapping[str, Column]) -> list[dict[str, Any]]:
    """None for a release without groups."""
    if not by:
        return []
    groups = kind_of(model).groups(model)
    private = [name for name in by if not columns[name].public]
    told = []
    if len(private) < len(by):
        empty = sum(people == 0 for _, people in groups)
        told.append(_STRATA.format(sizes=_EMPTY.format(empty=empty, count=len(groups)) if empty else "").strip())
    if private:
        told.append(_PRIVATE.format(columns=", ".join(map(repr, private))))
    value = {"by": [*by], "groups": len(groups) or None}
    return [_line("groups", value, "levels were declared before the data were seen", " ".join(told))]


def _line(name: str, value: Any, assumption: str, text: str) -> dict[str, Any]:
    return {"name": name, "value": value, "basis": "exact", "assumption": assumption, "text": text}
