"""Statistics as a source: what was sealed elsewhere is opened, compared with what so many people could have, and handed on.

Opening and looking are reading: whatever is wrong from here on may depend on the data, so the charge stands and nobody is
told why.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from app.core.statistics import RowRequest
from app.core.statistics.whole_numbers import Rows, exact_of, is_possible, size_of
from app.errors import DataMissing, InvalidStatistics, UnsupportedFormat
from app.sources.duckdb_rows import UploadReport
from app.sources.vouched.envelope import open_sealed, read_envelope
from app.sources.vouched.plan import SealingPlan
from app.sources.vouched.sealing_key import SealingKey

Exact = TypeVar("Exact")


@dataclass(frozen=True, slots=True)
class SealedStatistics:
    """`find` is the private file; `plan` is what the release's own row says that was asked for."""

    find: Callable[[], Path]
    plan: SealingPlan
    key: Callable[[], SealingKey]

    def validate(self, n: int | None) -> UploadReport:
        raise UnsupportedFormat("body", "no rows: this dataset takes statistics that are sealed elsewhere")

    def statistic(self, request: RowRequest[Exact], hash_key: bytes) -> Exact:
        """Every number is looked at, whichever request it is of: a seal is taken whole or not at all."""
        plan = self.plan
        sealed = self._bytes()
        envelope = _envelope_of(sealed, plan)
        if envelope is None or (envelope.digest, envelope.nonce, envelope.expires_us) != (
            plan.digest,
            plan.nonce,
            plan.expires_us,
        ):
            raise DataMissing("the statistics were sealed for something else")
        numbers = open_sealed(sealed, plan.size, self.key())
        answers: dict[int, Any] = {}
        place, rows = 0, Rows(plan.n, plan.n * plan.unit.max_rows)
        for number, own in enumerate(plan.requests):
            exact = exact_of(own, numbers[place : place + size_of(own)])
            place += size_of(own)
            if not is_possible(own, exact, rows):
                raise DataMissing("no dataset of so many people has these statistics")
            answers[number] = exact
        found: Exact = answers[plan.requests.index(request)]
        return found

    def statistics(self, requests: Sequence[RowRequest[Any]], hash_key: bytes) -> tuple[Any, ...]:
        """All of one seal."""
        return tuple(self.statistic(request, hash_key) for request in requests)

    def present(self) -> bool:
        """Whether there is a file, whole and for our key; nothing is opened, so a failure here cannot depend on the data."""
        try:
            envelope = _envelope_of(self._bytes(), self.plan)
        except DataMissing:
            return False
        return envelope is not None and envelope.key_id == self.key().key_id

    def _bytes(self) -> bytes:
        try:
            return self.find().read_bytes()
        except OSError:
            raise DataMissing("the sealed statistics are gone") from None


def _envelope_of(sealed: bytes, plan: SealingPlan) -> Any:
    try:
        return read_envelope(sealed, plan.size)
    except InvalidStatistics:
        return None
