"""Groups between which a person may move: any columns that are not declared public.

How many rows a group has is then private too, and measured with noise beside what is asked of it. Levels are declared: every
group is answered, and says no more than its noisy numbers imply.
"""

from dataclasses import dataclass

from app.core.statistics.groups import GroupColumn


@dataclass(frozen=True, slots=True)
class PrivateGroups:
    """All combinations of the levels of `by`. `order` names them as they are shown."""

    by: tuple[GroupColumn, ...]
