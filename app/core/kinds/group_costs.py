"""What several people at once lose by a release: the least of what its mechanism knows and of a path of neighbours.

A mechanism that knows more than what one person costs has `together`. Everything else, groups by strata and several models too,
follows from one person's curve (`app/core/privacy/together/path.py`), and is never worse than that.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from app.core.kinds.fit_check import FitCheck
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.privacy.cost import ZERO_COST, Cost
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.together.path import GroupCost, group_of, join_groups, kl_of, people_apart

PATHLESS_MAX = 4
"""People up to whom what a mechanism knows stands alone; beyond, halves are joined where it is not sharp."""


@runtime_checkable
class TogetherCosted(Protocol):
    """A mechanism that knows what a change of several people's rows costs."""

    def together(self, model: Any, people: int, unit_rows: int, cost: ReleaseCost, count: int, /) -> GroupCost | None:
        """Of up to `count` people, without a check of fit; `cost` is one person's, with it. None: no more than that one tells."""
        ...


@dataclass(frozen=True)
class ReleaseLosses:
    """Of the first `samples` samples of one release. `group` is never larger for fewer people, `cost` one person's as charged."""

    model: ReleaseModel
    mechanism: ReleaseMechanism | None
    """None: nothing is used but what one person costs, which is quick."""
    cost: ReleaseCost
    people: int
    unit_rows: int
    samples: int
    check: FitCheck | None = None
    known: dict[int, GroupCost] = field(default_factory=dict, repr=False, compare=False)

    def with_samples(self, samples: int) -> "ReleaseLosses":
        """What is known of groups does not depend on how many samples are read."""
        return replace(self, samples=samples)

    def group(self, count: int) -> Cost:
        return self._group(min(count, self.people)).prefix(self.samples)

    def kl(self, count: int) -> float:
        """A bound of the Kullback–Leibler divergence."""
        return self._group(min(count, self.people)).kl(self.samples)

    def _group(self, count: int) -> GroupCost:
        if count not in self.known:
            self.known[count] = self._found(count)
        return self.known[count]

    def _found(self, count: int) -> GroupCost:
        found = group_of(self.cost, count)
        if count == 1 or self.cost.parts:
            return found
        own = self._own(count)
        if own is not None:
            found = found.least(own)
        if own is None or (not own.sharp and count > PATHLESS_MAX):
            found = found.least(join_groups(self._group(count // 2), self._group(count - count // 2)))
        return found

    def _own(self, count: int) -> GroupCost | None:
        mechanism: object = self.mechanism
        if not isinstance(mechanism, TogetherCosted):
            return None
        own = mechanism.together(self.model, self.people, self.unit_rows, self.cost, count)
        return own if own is None or self.check is None else replace(own.plus(self._checked(count)), sharp=own.sharp)

    def _checked(self, count: int) -> GroupCost:
        if self.check is None:
            return GroupCost(ZERO_COST, ZERO_COST, 0.0, 0.0)
        once = people_apart(self.check.cost(self.unit_rows), count)
        return GroupCost(ZERO_COST, once, 0.0, kl_of(once))
