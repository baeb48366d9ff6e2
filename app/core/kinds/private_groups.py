"""Groups between which a person may move: by any columns that are not declared public, or by a condition on them.

How many rows a group has is then private too, and measured with noise beside what is asked of it. Levels are declared: every
group is answered, and says no more than its noisy numbers imply.
"""

import math
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from app.core.kinds.protocols import ReleaseModel
from app.core.schema import RowExpression
from app.core.statistics.groups import GroupColumn, GroupedRequest
from app.core.statistics.sums import RowRequest
from app.errors import InvalidModel

Inner = TypeVar("Inner", bound=ReleaseModel)


@dataclass(frozen=True, slots=True)
class PrivateGroups:
    """All combinations of the levels of `by`, of the rows that meet `where` and have a value in every column `present`.

    `asked` is the whole condition as it was asked for; `inputs` are the columns of `by` and those they are derived from.
    """

    by: tuple[GroupColumn, ...]
    where: RowExpression | None = None
    present: tuple[str, ...] = ()
    asked: str | None = None
    inputs: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.by)

    @property
    def rows_share(self) -> float:
        """σ_s/(h·σ_m): how exact the number of rows may be at no cost. Between groups a row moves two of these numbers, and
        in or out of a single one only its own."""
        return 1.0 if self.by else math.sqrt(3)

    def request(self, of: RowRequest[Any]) -> GroupedRequest:
        return GroupedRequest(of, self.by, self.where, self.present)

    def as_json(self) -> dict[str, Any]:
        return {"by": [*self.columns]} | ({} if self.asked is None else {"where": self.asked})


@dataclass(frozen=True)
class MeasuredModel(Generic[Inner]):
    """`inner` in every group: what is asked of its rows, group by group, and their number."""

    inner: Inner
    groups: PrivateGroups

    @property
    def family(self) -> str:
        return self.inner.family

    @property
    def count(self) -> int:
        return self.statistic.size

    @property
    def statistic(self) -> GroupedRequest:
        return self.groups.request(self.inner.statistic)

    def as_json(self) -> dict[str, Any]:
        return self.inner.as_json() | {"groups": self.groups.as_json()}


def private_refused(groups: PrivateGroups, kind: str) -> InvalidModel:
    """For models that cannot be by groups between which people may move."""
    if groups.by:
        names = ", ".join(map(repr, groups.columns))
        return InvalidModel("by", f"public columns, for {kind} models; {names} is not declared public")
    if groups.where is not None:
        return InvalidModel("where", f"conditions on public columns, for {kind} models")
    names = ", ".join(map(repr, groups.present))
    wanted = f"columns whose missing cells count as a value or a level, for {kind} models"
    return InvalidModel("model", f"{wanted}; {names} is declared `missing: group`")
