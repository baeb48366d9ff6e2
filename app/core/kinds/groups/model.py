"""One model for every stratum: disjoint people, told apart by columns that everyone knows.

Neighbours have equal public columns, so the person who is replaced stays in their stratum and every other stratum has the very
same rows. What a release by strata costs is therefore the largest of what its strata cost, order by order and of pure ε: the
one that holds the person may be any of them. How many people a stratum has is public, as n is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from app.core.kinds.protocols import ReleaseModel
from app.core.parameters import Group, Parameter, in_group
from app.core.schema import RowExpression
from app.core.statistics.groups import GroupColumn, GroupedRequest, groups_of


@dataclass(frozen=True, slots=True)
class Stratum:
    """`people` is public; nobody at all is a possible number."""

    group: Group
    people: int
    parameters: slice
    """Its columns among those of the release."""


@dataclass(frozen=True)
class StratifiedModel:
    """`people`: in every stratum, in the order of `groups_of(by)`. `order` names all columns of the release's groups, those of
    private groups inside a stratum too, as they are shown."""

    inner: ReleaseModel
    by: tuple[GroupColumn, ...]
    people: tuple[int, ...]
    order: tuple[str, ...] = ()
    where: RowExpression | None = None
    """A condition on public columns: who does not meet it is in no stratum."""
    asked: str | None = None
    """The whole condition as it was asked for, a private part of it too."""

    @property
    def family(self) -> str:
        return self.inner.family

    @property
    def statistic(self) -> GroupedRequest:
        return GroupedRequest(self.inner.statistic, self.by, self.where)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.grouped([self.inner.parameters] * len(self.people))

    def grouped(self, own: list[tuple[Parameter, ...]]) -> tuple[Parameter, ...]:
        """Parameters of every stratum as those of the release."""
        return tuple(
            in_group(each, self.ordered((*group, *each.group)))
            for group, parameters in zip(groups_of(self.by), own, strict=True)
            for each in parameters
        )

    def strata(self) -> Iterator[Stratum]:
        width = len(self.inner.parameters)
        for place, (group, people) in enumerate(zip(groups_of(self.by), self.people, strict=True)):
            yield Stratum(group, people, slice(place * width, (place + 1) * width))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Different numbers of people, but none, ascending: what costs and plans depend on."""
        return tuple(sorted({people for people in self.people if people > 0}))

    def as_json(self) -> dict[str, Any]:
        described = self.inner.as_json()
        inside = described.get("groups", {})
        by = [*self.order] if self.order else [column.name for column in self.by]
        asked = {} if self.asked is None else {"where": self.asked}
        return described | {"groups": inside | {"by": by, "strata": list(self.people)} | asked}

    def ordered(self, group: Group) -> Group:
        """As `by` names the columns."""
        levels = dict(group)
        return tuple((name, levels[name]) for name in self.order if name in levels) if self.order else group
