"""Drawn samples, written once: float64, little-endian, one sample after another.

Beside them, where samples are free, the noisy statistic they come from: int64, little-endian. It was paid for with them.
So was the noisy histogram of a check of fit, kept in the same way.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Select, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.storage.tables import sample_sets

_FLOAT = np.dtype("<f8")
_WHOLE = np.dtype("<i8")


@dataclass(frozen=True, slots=True)
class SampleSetRecord:
    """`body` is what caches carry too; it does not print."""

    release_id: str
    samples: int
    parameters: int
    body: bytes = field(repr=False)

    @property
    def values(self) -> NDArray[np.float64]:
        """The samples as a read-only array of shape (samples, parameters), without a copy."""
        return np.frombuffer(self.body, dtype=_FLOAT).reshape(self.samples, self.parameters)


def record_of(release_id: str, values: NDArray[np.float64]) -> SampleSetRecord:
    samples, parameters = values.shape
    return SampleSetRecord(release_id, samples, parameters, np.ascontiguousarray(values, _FLOAT).tobytes())


async def insert_samples(
    connection: AsyncConnection,
    record: SampleSetRecord,
    measured: NDArray[np.int64] | None = None,
    checked: NDArray[np.int64] | None = None,
) -> None:
    """A second set for the same release is an integrity error, whoever tries."""
    values: dict[str, Any] = {
        "release_id": record.release_id,
        "samples": record.samples,
        "parameters": record.parameters,
        "body": record.body,
        "measured": _bytes(measured),
        "checked": _bytes(checked),
    }
    await connection.execute(insert(sample_sets).values(values))


async def get_samples(connection: AsyncConnection, release_id: str) -> SampleSetRecord | None:
    columns = [sample_sets.c[name] for name in ("release_id", "samples", "parameters", "body")]
    statement = select(*columns).where(sample_sets.c.release_id == release_id)
    row = (await connection.execute(statement)).one_or_none()
    if row is None:
        return None
    return SampleSetRecord(row.release_id, row.samples, row.parameters, bytes(row.body))


async def get_measured(connection: AsyncConnection, release_id: str) -> NDArray[np.int64] | None:
    """The noisy statistic of a release whose samples are free; None of drawn ones, and where it was not yet kept."""
    return await _whole(connection, select(sample_sets.c.measured).where(sample_sets.c.release_id == release_id))


async def get_checked(connection: AsyncConnection, release_id: str) -> NDArray[np.int64] | None:
    """The noisy histogram of a check of fit; None where none was paid for."""
    return await _whole(connection, select(sample_sets.c.checked).where(sample_sets.c.release_id == release_id))


async def _whole(connection: AsyncConnection, statement: Select[tuple[Any]]) -> NDArray[np.int64] | None:
    found = (await connection.execute(statement)).scalar_one_or_none()
    return None if found is None else np.frombuffer(bytes(found), dtype=_WHOLE)


def _bytes(values: NDArray[np.int64] | None) -> bytes | None:
    return None if values is None else np.ascontiguousarray(values, _WHOLE).tobytes()


async def has_measured(connection: AsyncConnection, release_id: str) -> bool:
    statement = select(sample_sets.c.measured.is_not(None)).where(sample_sets.c.release_id == release_id)
    return bool((await connection.execute(statement)).scalar_one_or_none())


async def has_samples(connection: AsyncConnection, release_id: str) -> bool:
    """Whether anything was stored: a reservation may be voided only if not."""
    statement = select(sample_sets.c.release_id).where(sample_sets.c.release_id == release_id)
    return (await connection.execute(statement)).one_or_none() is not None
