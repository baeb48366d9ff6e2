"""Several statistics of the same rows, asked for at once: one reading, whatever their number."""

from dataclasses import dataclass
from typing import Any

from app.core.statistics.sums import RowRequest


@dataclass(frozen=True, slots=True)
class SeveralRequest(RowRequest["ExactSeveral"]):
    """Every one of `parts`, of the same rows."""

    parts: tuple[RowRequest[Any], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def operations(self) -> int:
        """Parts that do not fit one statement look at their columns once more each."""
        return sum(part.operations + len(part.columns) for part in self.parts)

    def of_no_rows(self) -> "ExactSeveral":
        return ExactSeveral(tuple(part.of_no_rows() for part in self.parts))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ExactSeveral:
    """Private: one exact answer a part. Does not print them."""

    parts: tuple[Any, ...]

    def __repr__(self) -> str:
        return "ExactSeveral(private)"
