"""Any estimand, asked of some neighbouring columns of a sample set: of one group, or of one of several models.

Inside, parameters have the names they have without groups or parts. Samples of all of them are joint, so that what is asked of
two can be compared or used in one expression.
"""

from dataclasses import dataclass
from typing import Any

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands import AnyEstimand
from app.core.decisions.estimands.estimand import Classified, Guess, NumberElsewhere, Observed, is_guessed, is_number
from app.core.decisions.mixture import Mixture
from app.core.decisions.sample_set import SampleSet
from app.core.parameters import Parameter


@dataclass(frozen=True, slots=True)
class Place:
    """Which columns of a sample set are meant, and what they are called inside."""

    start: int
    parameters: tuple[Parameter, ...]

    def of(self, samples: SampleSet) -> SampleSet:
        return samples.part(self.start, self.parameters)


@dataclass(frozen=True, slots=True)
class Inside(NumberElsewhere):
    """A number."""

    place: Place

    def distribution(self, samples: SampleSet) -> Empirical:
        return self.inner.distribution(self.place.of(samples))


@dataclass(frozen=True, slots=True)
class GuessedInside:
    inner: Any
    place: Place

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
        found: Guess = self.inner.guess(self.place.of(samples))
        return found


@dataclass(frozen=True, slots=True)
class FiniteInside(Inside):
    """A number with few values can be guessed too."""

    inner: Any

    @property
    def outcomes(self) -> int:
        return int(self.inner.outcomes)

    @property
    def tried(self) -> int:
        return int(self.inner.tried)

    def guess(self, samples: SampleSet) -> Guess:
        found: Guess = self.inner.guess(self.place.of(samples))
        return found


@dataclass(frozen=True, slots=True)
class ClassifiedInside(GuessedInside, Classified):
    def mean_law(self, samples: SampleSet) -> dict[str, float]:
        found: dict[str, float] = self.inner.mean_law(self.place.of(samples))
        return found


@dataclass(frozen=True, slots=True)
class ObservedInside(Observed):
    inner: Observed
    place: Place
    lower: float
    upper: float

    @property
    def work(self) -> int:
        return self.inner.work

    def check(self, samples: int) -> None:
        self.inner.check(samples)

    def law(self, samples: SampleSet) -> Mixture:
        return self.inner.law(self.place.of(samples))


def placed(inner: AnyEstimand, place: Place) -> AnyEstimand:
    if isinstance(inner, Observed):
        return ObservedInside(inner, place, inner.lower, inner.upper)
    if is_number(inner):
        return FiniteInside(inner, place) if is_guessed(inner) else Inside(inner, place)
    return ClassifiedInside(inner, place) if isinstance(inner, Classified) else GuessedInside(inner, place)
