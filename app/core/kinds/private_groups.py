"""Groups between which a person may move: any columns that are not declared public.

How many rows a group has is then private too, and measured with noise beside what is asked of it. Levels are declared: every
group is answered, and says no more than its noisy numbers imply.
"""

from dataclasses import dataclass
from typing import Any

from app.core.statistics.groups import GroupColumn


@dataclass(frozen=True, slots=True)
class PrivateGroups:
    """All combinations of the levels of `by`."""

    by: tuple[GroupColumn, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.by)

    @property
    def rows_share(self) -> float:
        """σ_s/(h·σ_m): how exact the number of rows may be at no cost. Between groups a row moves two of these numbers."""
        return 1.0

    def as_json(self) -> dict[str, Any]:
        return {"by": [*self.columns]}
