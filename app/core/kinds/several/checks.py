"""Checks of fit of several models: one for each part that asked for one, each on the rows by itself.

Every check is paid for with its part, so that a part's cost is that of a release of its model alone with that check, and what
all of them cost together is their sum like everything else of several models (`cost.py`). What is stored is what each part with
a check measured, one after the other, in the order of the parts.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.core.kinds.belief import Whole
from app.core.kinds.fit_check import FitCheck
from app.core.kinds.several.cost import composed
from app.core.kinds.several.model import PARTS
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics import ExactSeveral, SeveralRequest
from app.core.statistics.histograms import HistogramRequest
from app.errors import IntegrityFailure


@dataclass(frozen=True, slots=True)
class SeveralChecks:
    """`parts[i]` is that of the i-th model, None where it has none; `requests` are the histograms of those that are."""

    parts: tuple[FitCheck | None, ...]
    requests: tuple[HistogramRequest, ...]

    @property
    def asked(self) -> list[FitCheck]:
        return [part for part in self.parts if part is not None]

    @property
    def request(self) -> SeveralRequest:
        return SeveralRequest(self.requests)

    def as_json(self) -> dict[str, Any]:
        return {PARTS: [None if part is None else part.as_json() for part in self.parts]}

    def added_to(self, cost: ReleaseCost, unit_rows: int) -> ReleaseCost:
        """Each to what its part is charged once; the sum is of the parts as they are then."""
        each = zip(cost.parts, self.parts, strict=True)
        return composed([own if check is None else check.added_to(own, unit_rows) for own, check in each])

    def measure(self, people: int, unit_rows: int, found: ExactSeveral) -> Whole:
        each = zip(self.asked, found.parts, strict=True)
        return np.concatenate([check.measure(people, unit_rows, exact) for check, exact in each])

    @property
    def seconds(self) -> float:
        return sum(check.work(own.bins) for check, own in zip(self.asked, self.requests, strict=True))

    def measured(self, stored: Whole | None, place: int) -> Whole | None:
        """What the check of the part at `place` measured; None where it has none."""
        if stored is None or self.parts[place] is None:
            return None
        if len(stored) != sum(own.bins for own in self.requests):
            raise IntegrityFailure("what checks of fit measured is not what was stored")
        before = sum(check is not None for check in self.parts[:place])
        start = sum(own.bins for own in self.requests[:before])
        return stored[start : start + self.requests[before].bins]
