"""What a question is about: a number for every sample with a public range, or a guess at something with names."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as field_of
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeGuard

from pydantic import Field

from app.core.decisions.empirical import Empirical
from app.core.decisions.mixture import Mixture
from app.core.decisions.sample_set import OtherName, SampleSet
from app.core.decisions.strict_fields import Described, check_fields, find_kind
from app.core.parameters import Parameter
from app.core.specs import Expects, Maybe, ReadInItsPlace, Spec
from app.errors import InvalidQuery

if TYPE_CHECKING:
    EstimandSpec = object

DEPTH_MAX = 4
ESTIMANDS_MAX = 256
"""In one question, all that are named or compared at any depth: reading it takes milliseconds."""
WORK_MAX = 1_000_000_000
"""Operations times samples over all parts of an estimand: about a second."""

ReleaseName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$"), Expects("the id of a release")]
PartName = Annotated[str, Field(max_length=200), Expects("the name of a part")]


class NumberSpec(Spec):
    """What every estimand has that is a number, and so can stand inside another."""

    release: Maybe[ReleaseName] = Field(
        default=None,
        description="Inside a comparison or an expression: of this other release of the same dataset. Samples of both are paired "
        "in order, as if what they tell were independent.",
    )
    part: Maybe[PartName] = Field(
        default=None,
        description="Beside `release`, if that one is of several models: which of them, as if it were of that one alone; null: "
        "parameters are called `cured.theta`.",
    )


def named_by(value: Mapping[str, Any]) -> OtherName:
    """By an estimand with `release`, whatever that is; of the kind `part` the name inside is the estimand's own."""
    return value["release"], None if value.get("kind") == "part" else value.get("part")


Inner = Annotated["EstimandSpec", ReadInItsPlace()]
"""An estimand inside something. `Context` reads it, after depth and number; which kinds there are, `specification.py` knows."""


_NO_OTHER = "nothing here: another release of the dataset can be named on what a comparison or an expression is made of"
_NO_PART = "nothing without `release`: an estimand of the kind `part` is of one of this release's models"


class Estimand(Protocol):
    """Frozen and hashable. `lower < upper` come from public numbers and contain every value."""

    @property
    def lower(self) -> float: ...

    @property
    def upper(self) -> float: ...

    @property
    def work(self) -> int:
        """Operations a sample, about."""
        ...

    @property
    def nodes(self) -> int:
        """Of all expressions in it together; part of the work."""
        ...

    def check(self, samples: int) -> None:
        """Refuses what would take too long over so many samples; reads none of them."""
        ...

    def distribution(self, samples: SampleSet) -> Empirical:
        """Its value at each sample; fails for no sample."""
        ...


@dataclass(frozen=True, slots=True)
class NumberElsewhere:
    """A number of other samples than those that are asked: all but its `distribution` is that of `inner`."""

    inner: Estimand

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


Named = str | float | dict[str, str]
"""What can be guessed: a level, a number of a finite set, levels of several variables."""


@dataclass(frozen=True, slots=True)
class Guess:
    """Of all outcomes the likeliest, averaged over the samples, and the next.

    `gap` bounds how far the best of all outcomes may be above this one, where they are too many to try.
    """

    outcome: Named
    probability: float
    runner_up: Named | None
    runner_up_probability: float
    gap: float = 0.0


class Guessed(Protocol):
    """Something with `outcomes` different values, about one of which each sample has a law. Frozen and hashable."""

    @property
    def outcomes(self) -> int: ...

    @property
    def tried(self) -> int:
        """Outcomes compared, at most; all of them, unless they are too many."""
        ...

    @property
    def work(self) -> int: ...

    def check(self, samples: int) -> None: ...

    def guess(self, samples: SampleSet) -> Guess: ...


class Classified(ABC):
    """One of a few levels: each sample has a law over all of them. A class to inherit from, for utilities to ask for."""

    __slots__ = ()

    @property
    @abstractmethod
    def outcomes(self) -> int: ...

    @property
    @abstractmethod
    def tried(self) -> int: ...

    @property
    @abstractmethod
    def work(self) -> int: ...

    @abstractmethod
    def check(self, samples: int) -> None: ...

    @abstractmethod
    def guess(self, samples: SampleSet) -> Guess: ...

    @abstractmethod
    def mean_law(self, samples: SampleSet) -> dict[str, float]:
        """Level → mean over the samples of its probability. Each is between 0 and 1; they sum to one up to rounding."""


class Observed(ABC):
    """A number that is not known even where θ is: each sample has a law of it. Frozen and hashable.

    A class to inherit from, not a shape: every answer asks whether it has one.
    """

    __slots__ = ()

    lower: float
    upper: float

    @property
    @abstractmethod
    def work(self) -> int: ...

    @abstractmethod
    def check(self, samples: int) -> None: ...

    @abstractmethod
    def law(self, samples: SampleSet) -> Mixture:
        """Over all samples, inside its public range."""


Judged = Estimand | Observed
AnyEstimand = Estimand | Guessed | Observed


class OtherRelease(Protocol):
    """One that a question about another may use too."""

    def read(self, value: Mapping[str, Any], context: "Context") -> Estimand:
        """A number of it, that is read where the context is."""
        ...


@dataclass(slots=True, eq=False)
class Context:
    """What an estimand is read with: the release's parameters and model, and where in the question it stands.

    `model` is None where a release has nothing beyond parameters; estimands of a kind are registered with its models only.
    Never changed; not frozen, which would make reading a short question a tenth slower.
    """

    parameters: Sequence[Parameter]
    model: object | None
    askable: "Askable" = field_of(repr=False)
    where: str = "estimand"
    depth: int = 0
    read_before: Iterator[int] = field_of(default_factory=count, repr=False, compare=False)
    """Counts the estimands of the whole question: inner contexts share it."""
    beside: Mapping[OtherName, OtherRelease] = field_of(default_factory=dict, repr=False, compare=False)
    """Other releases, or parts of them, that the question may name."""

    def read(self, value: object) -> AnyEstimand:
        """The estimand at `where`."""
        kind = find_kind(self.askable.kinds, value, self.where, self.askable.elsewhere)
        if self.depth > DEPTH_MAX:
            raise InvalidQuery(self.where, f"at most {DEPTH_MAX} estimands one inside the other")
        if next(self.read_before) >= ESTIMANDS_MAX:
            raise InvalidQuery(self.where, f"at most {ESTIMANDS_MAX} estimands in one question")
        spec = check_fields(kind.spec, value, self.where)
        if getattr(spec, "release", None) is not None:
            raise InvalidQuery(f"{self.where}.release", _NO_OTHER)
        if isinstance(spec, NumberSpec) and spec.part is not None:
            raise InvalidQuery(f"{self.where}.part", _NO_PART)
        return kind.parse(spec, self)

    def inner(self, name: str, value: object) -> Estimand:
        """A number inside this estimand, or inside the utility."""
        inside = self._moved(f"{self.where}.{name}", self.depth + 1)
        if isinstance(value, dict) and "release" in value:
            named = named_by(value)
            other = self.beside.get(named) if all(isinstance(each, str | None) for each in named) else None
            if other is None:
                raise InvalidQuery(f"{inside.where}.release", _NO_OTHER)
            gone = ("release",) if named[1] is None else ("release", "part")
            return other.read({field: each for field, each in value.items() if field not in gone}, inside)
        return require_number(inside.read(value), inside.where)

    def at(self, where: str) -> "Context":
        return self._moved(where, self.depth)

    def _moved(self, where: str, depth: int) -> "Context":
        return Context(self.parameters, self.model, self.askable, where, depth, self.read_before, self.beside)


@dataclass(frozen=True, slots=True)
class EstimandKind(Generic[Described]):
    """What may be sent, and what reads it."""

    spec: type[Described]
    parse: Callable[[Described, Context], AnyEstimand]


@dataclass(frozen=True, slots=True)
class Askable:
    """What a release can be asked about, by `kind`; `elsewhere` has the others, with the kinds of models they are for."""

    kinds: Mapping[str, EstimandKind[Any]]
    elsewhere: Mapping[str, str] = field_of(default_factory=dict)


def is_number(estimand: AnyEstimand) -> TypeGuard[Estimand]:
    """One method tells them apart; comparing whole shapes takes longer than reading the question."""
    return hasattr(type(estimand), "distribution")


def is_guessed(estimand: AnyEstimand) -> TypeGuard[Guessed]:
    return hasattr(type(estimand), "guess")


def require_number(estimand: AnyEstimand, where: str) -> Estimand:
    if not is_number(estimand):
        raise InvalidQuery(f"{where}.kind", "an estimand that is one number for every sample")
    return estimand


def check_total_work(where: str, work: int, samples: int) -> None:
    """Refuses work × samples above the limit; both are public."""
    if work * samples > WORK_MAX:
        raise InvalidQuery(where, f"at most {WORK_MAX} operations: this takes {work} a sample, and there are {samples}")
