"""What a model asks of the rows, and the exact integers that come back."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatisticRequest:
    """The sum over rows of a binary column, and how many rows were counted."""

    column: str


@dataclass(frozen=True, slots=True, repr=False)
class ExactStatistic:
    """Private: sums over the rows as exact integers. Does not print its values."""

    total: int
    rows: int

    def __repr__(self) -> str:
        return "ExactStatistic(private)"
