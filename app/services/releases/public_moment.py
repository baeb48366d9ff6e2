"""When a release ends, as a function of public numbers only.

Reading and drawing may take as long as one person's rows make them, so their end must not show. Before the first row is read
the worker knows everything public: kind and mechanism, n, the rows a person may own, the columns, the samples, the grid or the
dimension. From these come the seconds the work takes at most on the machine of reference (`mechanism.work`,
`app/sources/reading_work.py`), from the installation its pace, measured on synthetic rows (`measure_pace.py`), and

    D = tick·⌈SAFETY · pace · seconds / tick⌉.

A release that began to be read at `started` ends, published or withdrawn, at `started + D`: that is the time recorded with it and
in the ledger, and the worker is held until then, so that the next release in line begins no earlier either. `started` and D
are stored before the first row is read and never change.

Where the work was not over by then (overrun, a lost lease, a killed worker, a server that was away), it ends at the next slot:
2D, 4D, 8D … 64D after `started`, from there every 64D, so that after a week's outage nobody waits for another week. Which slot it
was can depend on the rows; the card says so.
"""

import math
from dataclasses import dataclass
from typing import Any

from app.core.kinds import ReleaseMechanism, ReleaseModel, check_request, check_seconds
from app.core.kinds.fit_check import AnyCheck
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics import RowRequest
from app.core.statistics.whole_numbers import size_of
from app.errors import NumericalFailure
from app.services.datasets.dataset_sources import dataset_unit, source_spec
from app.services.runtime.runtime import Runtime
from app.sources.reading_work import opening_seconds, parsing_seconds, reading_seconds, table_seconds, wiping_seconds
from app.storage.datasets import Dataset

SAFETY = 4.0
DOUBLED_MAX = 64


def release_seconds(
    dataset: Dataset,
    model: ReleaseModel,
    mechanism: ReleaseMechanism,
    cost: ReleaseCost,
    people: int,
    unit_rows: int,
    check: AnyCheck | None = None,
) -> float:
    """Reading and drawing on the machine of reference, once more for a check. Raises NumericalFailure for what has no public
    size."""
    drawing = mechanism.work(model, people, unit_rows, cost)
    reading = _reading(dataset, model.statistic, people * unit_rows)
    if check is not None:
        reading += _reading(dataset, check_request(model, check), people * unit_rows)
        drawing += check_seconds(model, check)
    if not 0 < drawing < math.inf or not 0 < reading < math.inf:
        raise NumericalFailure("the work of this release has no public size")
    return reading + drawing


def _reading(dataset: Dataset, request: RowRequest[Any], rows: int) -> float:
    unit, source, columns = dataset_unit(dataset), source_spec(dataset), len(dataset.columns)
    if source.kind == "statistics":
        return opening_seconds(numbers=size_of(request))
    if source.kind == "upload":
        return reading_seconds(request, rows=rows, columns=columns)
    hashed = unit.column is not None
    seconds = table_seconds if source.kind == "postgresql" else parsing_seconds
    return seconds(request, rows=source.rows_max or rows, columns=columns + hashed, hashed=hashed)


def duration_us(seconds: float, pace: float, tick_s: float) -> int:
    """D, in microseconds."""
    tick_us = round(tick_s * 1e6)
    return tick_us * max(1, math.ceil(SAFETY * pace * seconds * 1e6 / tick_us))


def wipe_duration_us(dataset: Dataset, people: int, unit_rows: int, pace: float, tick_s: float) -> int:
    """How long a worker that wiped the rows of its last release waits before it takes another."""
    seconds = wiping_seconds(rows=people * unit_rows, columns=len(dataset.columns))
    return duration_us(seconds, pace, tick_s)


@dataclass(frozen=True, slots=True)
class Slots:
    started_us: int
    duration_us: int

    def after(self, elapsed_us: int) -> int:
        """The first slot that is not before `elapsed_us`, counted from the start."""
        slot, last = self.duration_us, DOUBLED_MAX * self.duration_us
        while slot < elapsed_us and slot < last:
            slot *= 2
        return max(slot, last * -(-elapsed_us // last)) if slot < elapsed_us else slot


class Moment:
    """Holds a worker to the slots of its release.

    Time is counted by a clock that cannot be set; the wall clock is asked once, for what passed in earlier attempts, and not
    believed if it says that this was less than nothing.
    """

    def __init__(self, runtime: Runtime, slots: Slots) -> None:
        self._runtime, self._slots = runtime, slots
        self._since = runtime.monotonic()
        self._before_us = max(0, runtime.clock() - slots.started_us)

    async def hold(self) -> int:
        """Waits for the next slot, and says which it was, in microseconds since the epoch."""
        elapsed_us = self._before_us + int((self._runtime.monotonic() - self._since) * 1e6)
        slot_us = self._slots.after(elapsed_us)
        await self._runtime.sleep((slot_us - elapsed_us) / 1e6)
        return self._slots.started_us + slot_us
