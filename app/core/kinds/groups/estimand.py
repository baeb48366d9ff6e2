"""`{"kind": "group", "group": {"arm": "drug"}, "estimand": {…}}`: any estimand of the model, in one group of a release by groups.

Inside, parameters have the names they have without groups. Samples of all groups are joint, so that estimands of two groups can
be compared or used in one expression.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands import AnyEstimand, Askable, Context, Estimand, EstimandKind
from app.core.decisions.estimands.estimand import Classified, Guess, Inner, NumberSpec, Observed, is_guessed, is_number
from app.core.decisions.mixture import Mixture
from app.core.decisions.sample_set import SampleSet
from app.core.kinds.protocols import ReleaseModel
from app.core.parameters import Parameter
from app.errors import InvalidQuery


class GroupSpec(NumberSpec):
    """An estimand of the model, in one group."""

    kind: Literal["group"] = Field(description="The name of the estimand.")
    group: dict[str, str] = Field(
        description="The level of every column the release is grouped by.", examples=[{"arm": "drug"}]
    )
    estimand: Inner = Field(description="As of a release without groups.")


@dataclass(frozen=True, slots=True)
class Part:
    """Which columns of a sample set are the group's, and what they are called inside it."""

    start: int
    parameters: tuple[Parameter, ...]

    def of(self, samples: SampleSet) -> SampleSet:
        return samples.part(self.start, self.parameters)


@dataclass(frozen=True, slots=True)
class InGroup:
    """A number of the group."""

    inner: Estimand
    part: Part

    @property
    def lower(self) -> float:
        return self.inner.lower

    @property
    def upper(self) -> float:
        return self.inner.upper

    @property
    def work(self) -> int:
        return self.inner.work

    @property
    def nodes(self) -> int:
        return self.inner.nodes

    def check(self, samples: int) -> None:
        self.inner.check(samples)

    def distribution(self, samples: SampleSet) -> Empirical:
        return self.inner.distribution(self.part.of(samples))


@dataclass(frozen=True, slots=True)
class GuessedInGroup:
    inner: Any
    part: Part

    @property
    def outcomes(self) -> int:
        return int(self.inner.outcomes)

    @property
    def tried(self) -> int:
        return int(self.inner.tried)

    @property
    def work(self) -> int:
        return int(self.inner.work)

    def check(self, samples: int) -> None:
        self.inner.check(samples)

    def guess(self, samples: SampleSet) -> Guess:
        found: Guess = self.inner.guess(self.part.of(samples))
        return found


@dataclass(frozen=True, slots=True)
class FiniteInGroup(InGroup):
    """A number with few values can be guessed too."""

    inner: Any

    @property
    def outcomes(self) -> int:
        return int(self.inner.outcomes)

    @property
    def tried(self) -> int:
        return int(self.inner.tried)

    def guess(self, samples: SampleSet) -> Guess:
        found: Guess = self.inner.guess(self.part.of(samples))
        return found


@dataclass(frozen=True, slots=True)
class ClassifiedInGroup(GuessedInGroup, Classified):
    def mean_law(self, samples: SampleSet) -> dict[str, float]:
        found: dict[str, float] = self.inner.mean_law(self.part.of(samples))
        return found


@dataclass(frozen=True, slots=True)
class ObservedInGroup(Observed):
    inner: Observed
    part: Part
    lower: float
    upper: float

    @property
    def work(self) -> int:
        return self.inner.work

    def check(self, samples: int) -> None:
        self.inner.check(samples)

    def law(self, samples: SampleSet) -> Mixture:
        return self.inner.law(self.part.of(samples))


def in_group_estimand(askable: Askable) -> EstimandKind[GroupSpec]:
    """`askable`: of the model without groups."""

    def parse(spec: GroupSpec, context: Context) -> AnyEstimand:
        part = part_of(context.parameters, spec.group, f"{context.where}.group")
        where, depth = f"{context.where}.estimand", context.depth + 1
        model: Any = context.model
        own = _without_groups(model)
        inside = Context(part.parameters, own, askable, where, depth, context.read_before, context.beside)
        return _placed(inside.read(spec.estimand), part)

    return EstimandKind(GroupSpec, parse)


def part_of(parameters: Sequence[Parameter], wanted: dict[str, str], where: str) -> Part:
    """Groups are contiguous. Raises InvalidQuery for what is no group of the release."""
    places = [place for place, each in enumerate(parameters) if dict(each.group) == wanted]
    if not places:
        columns = ", ".join(name for name, _ in parameters[0].group)
        raise InvalidQuery(where, f"a declared level for each of: {columns}")
    found = [parameters[place] for place in places]
    return Part(places[0], tuple(Parameter(each.of or each.name, each.lower, each.upper) for each in found))


def _without_groups(model: Any) -> ReleaseModel:
    found: ReleaseModel = model.inner
    return _without_groups(found) if hasattr(found, "inner") else found


def _placed(inner: AnyEstimand, part: Part) -> AnyEstimand:
    if isinstance(inner, Observed):
        return ObservedInGroup(inner, part, inner.lower, inner.upper)
    if is_number(inner):
        return FiniteInGroup(inner, part) if is_guessed(inner) else InGroup(inner, part)
    return ClassifiedInGroup(inner, part) if isinstance(inner, Classified) else GuessedInGroup(inner, part)
