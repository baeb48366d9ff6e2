"""The sum of one transformed column on its lattice; and what every request for a statistic is."""

import math
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Exact = TypeVar("Exact", covariant=True)
Transform = Literal["identity", "absolute", "square", "power", "log_ratio"]


class RowRequest(Generic[Exact]):
    """Asks the rows for exact integers of the type `Exact`; every source answers every request there is.

    `columns` are those it looks at. `operations` is public: about how many numbers the engine forms or adds for one row.
    `of_no_rows` is the answer of an empty file, which is public too: a draw can be rehearsed with it before any row is read.
    """

    __slots__ = ()

    @property
    def columns(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def operations(self) -> int:
        raise NotImplementedError

    def of_no_rows(self) -> Exact:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StatisticRequest(RowRequest["ExactStatistic"]):
    """The sum over rows of T(x), each T clipped to [lower, upper] and rounded to one of `steps` equal steps.

    identity x · absolute |x−a| · square (x−a)²/2 · power x^a · log_ratio log(x/a), with a the `anchor`. A record counts
    as the whole number ⌊(T − lower)/step + ½⌋ ∈ {0 … steps}: sums are exact, whatever the order of the rows.
    """

    column: str
    transform: Transform = "identity"
    anchor: float = 0.0
    lower: float = 0.0
    upper: float = 1.0
    steps: int = 1

    def __post_init__(self) -> None:
        if not self.lower < self.upper or not math.isfinite(self.upper - self.lower) or not self.steps >= 1:
            raise ValueError("a statistic needs finite lower < upper and at least one step")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def step(self) -> float:
        return (self.upper - self.lower) / self.steps

    @property
    def operations(self) -> int:
        return 2

    def of_no_rows(self) -> "ExactStatistic":
        return ExactStatistic(0, 0)


@dataclass(frozen=True, slots=True, repr=False)
class ExactStatistic:
    """Private: the sum over the rows in lattice steps, and how many rows there were. Does not print its values."""

    total: int
    rows: int

    def __repr__(self) -> str:
        return "ExactStatistic(private)"
