"""Releases and the leases under which workers make them.

Stages of a pending release: `reserved` (nothing read yet), `reading` (rows may have been read), `stored` (samples
on disk and charged for good, waiting for their public tick). A finished one is `done` and immutable.
Whoever holds the lease's token may change it, nobody else: a worker that lost its lease finds out by False.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.canonical import canonical_json
from app.storage.paging import Page, newest_first, page_of
from app.storage.tables import accesses, datasets, part_accesses, releases

NOBODY = "given back"
CANCELLED = "cancelled"
_JSON = ("model", "mechanism", "cost", "fit_check")
_DONE: dict[str, Any] = {"stage": "done", "lease_token": None, "lease_until_us": None}


@dataclass(frozen=True, slots=True)
class Release:
    """`model`, `mechanism`, `cost` and `fit_check` are JSON from public numbers; `reason` says why one was withdrawn.

    `started_us` and `duration_us`, from which its public moments follow, are there once its rows were about to be read.
    """

    id: str
    dataset_id: str
    created_by: str
    model: Mapping[str, Any]
    mechanism: Mapping[str, Any]
    cost: Mapping[str, Any]
    n: int
    unit_rows: int
    data_version: int
    created_us: int
    due_us: int = 0
    status: str = "pending"
    stage: str = "reserved"
    reason: str | None = None
    attempts: int = 0
    lease_token: str | None = None
    lease_until_us: int | None = None
    published_us: int | None = None
    started_us: int | None = None
    duration_us: int | None = None
    fit_check: Mapping[str, Any] | None = None
    title: str | None = None
    description: str | None = None


async def insert_release(connection: AsyncConnection, release: Release) -> None:
    values = {name: getattr(release, name) for name in Release.__dataclass_fields__}
    for name in _JSON:
        values[name] = None if values[name] is None else canonical_json(values[name])
    await connection.execute(insert(releases).values(values))


async def get_release(connection: AsyncConnection, release_id: str) -> Release | None:
    row = (await connection.execute(select(releases).where(releases.c.id == release_id))).one_or_none()
    return None if row is None else _record(row)


async def page_releases(
    connection: AsyncConnection,
    *,
    datasets: Collection[str] | None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[Release]:
    """Newest first, of the given datasets; of all if None."""
    statement = select(releases)
    if datasets is not None:
        statement = statement.where(releases.c.dataset_id.in_(sorted(datasets)))
    statement = newest_first(statement, releases.c.created_us, releases.c.id, cursor, limit)
    found = [_record(row) for row in await connection.execute(statement)]
    return page_of(found, limit, lambda item: (item.created_us, item.id))


async def list_bought(connection: AsyncConnection, *, analyst: str, dataset: str) -> tuple[Release, ...]:
    """Of a dataset, those that an analyst has paid for."""
    whole = select(accesses.c.release_id).where(accesses.c.analyst_id == analyst)
    parts = select(part_accesses.c.release_id).where(part_accesses.c.analyst_id == analyst)
    statement = select(releases).where(releases.c.dataset_id == dataset, releases.c.id.in_(whole.union(parts)))
    return tuple(_record(row) for row in await connection.execute(statement))


async def list_unfinished(connection: AsyncConnection) -> tuple[Release, ...]:
    """Everything pending, oldest first, leased or not."""
    statement = select(releases).where(releases.c.status == "pending").order_by(releases.c.due_us, releases.c.id)
    return tuple(_record(row) for row in await connection.execute(statement))


async def claim_next(connection: AsyncConnection, *, now_us: int, token: str, lease_us: int) -> Release | None:
    """Take the pending release that was asked for first and that nobody works on; None if there is none. Of real rows before
    rehearsals, which any analyst may ask for.

    A lease ends at its time. One that ends later than any lease given out now could is also void: the clock
    was moved back. Working twice is wasteful but harmless, since only the latest token can store or publish.
    """
    free = or_(
        releases.c.lease_until_us.is_(None),
        releases.c.lease_until_us <= now_us,
        releases.c.lease_until_us > now_us + 2 * lease_us,
    )
    of_dataset = datasets.c.id == releases.c.dataset_id
    rehearsed = select(datasets.c.rehearsal.is_not(None)).where(of_dataset).scalar_subquery()
    chosen = (
        select(releases.c.id)
        .where(releases.c.status == "pending", releases.c.due_us <= now_us, free)
        .order_by(rehearsed, releases.c.due_us, releases.c.created_us, releases.c.id)
        .limit(1)
        .with_for_update(skip_locked=True, key_share=True)
    )
    release_id = (await connection.execute(chosen)).scalar_one_or_none()
    if release_id is None:
        return None
    statement = (
        update(releases)
        .where(releases.c.id == release_id)
        .values(lease_token=token, lease_until_us=now_us + lease_us, attempts=releases.c.attempts + 1)
        .returning(*releases.c)
    )
    return _record((await connection.execute(statement)).one())


async def renew_lease(connection: AsyncConnection, release_id: str, token: str, until_us: int) -> bool:
    return await _change(connection, release_id, token, lease_until_us=until_us)


async def enter_stage(connection: AsyncConnection, release_id: str, token: str, stage: str) -> bool:
    return await _change(connection, release_id, token, stage=stage)


async def begin_reading(
    connection: AsyncConnection, release_id: str, token: str, *, now_us: int, duration_us: int
) -> tuple[int, int] | None:
    """Enter the stage `reading`; (started, duration) of the attempt that did so first. None if the lease was lost."""
    statement = (
        update(releases)
        .where(releases.c.id == release_id, releases.c.lease_token == token, releases.c.status == "pending")
        .values(
            stage="reading",
            started_us=func.coalesce(releases.c.started_us, now_us),
            duration_us=func.coalesce(releases.c.duration_us, duration_us),
        )
        .returning(releases.c.started_us, releases.c.duration_us)
    )
    found = (await connection.execute(statement)).one_or_none()
    return None if found is None else (int(found[0]), int(found[1]))


async def publish(connection: AsyncConnection, release_id: str, token: str, at_us: int) -> bool:
    return await _change(connection, release_id, token, status="published", published_us=at_us, **_DONE)


async def withdraw(connection: AsyncConnection, release_id: str, token: str, reason: str) -> bool:
    """`reason` is a code for the steward and must not depend on the data."""
    return await _change(connection, release_id, token, status="withdrawn", reason=reason, **_DONE)


async def cancel(connection: AsyncConnection, release_id: str) -> bool:
    """Withdrawn, whoever has claimed it, if no row of it was about to be read; their token no longer changes anything."""
    statement = (
        update(releases)
        .where(releases.c.id == release_id, releases.c.status == "pending", releases.c.stage == "reserved")
        .values(status="withdrawn", reason=CANCELLED, **_DONE)
    )
    return (await connection.execute(statement)).rowcount == 1


async def has_releases(connection: AsyncConnection, dataset_id: str) -> bool:
    """Whether one was ever asked for."""
    statement = select(releases.c.id).where(releases.c.dataset_id == dataset_id).limit(1)
    return (await connection.execute(statement)).one_or_none() is not None


async def count_releases(connection: AsyncConnection, dataset_id: str) -> int:
    """Ever asked for."""
    statement = select(func.count()).select_from(releases).where(releases.c.dataset_id == dataset_id)
    return int((await connection.execute(statement)).scalar_one())


async def withdraw_unfinished(connection: AsyncConnection, reason: str) -> tuple[Release, ...]:
    """Everything pending, whoever works on it: their tokens no longer change anything. For an accepted head only."""
    statement = (
        update(releases)
        .where(releases.c.status == "pending")
        .values(status="withdrawn", reason=reason, **_DONE)
        .returning(*releases.c)
    )
    return tuple(_record(row) for row in await connection.execute(statement))


async def give_back(connection: AsyncConnection, release_id: str, token: str, until_us: int) -> bool:
    """Nobody's from now on, to be claimed again after `until_us`.

    Written as the end of a lease and not as a due time: a clock moved back voids the one and would wait for the other.
    """
    return await _change(connection, release_id, token, lease_token=NOBODY, lease_until_us=until_us)


async def _change(connection: AsyncConnection, release_id: str, token: str, **values: Any) -> bool:
    statement = (
        update(releases)
        .where(
            releases.c.id == release_id,
            releases.c.lease_token == token,
            releases.c.status == "pending",
        )
        .values(values)
    )
    return (await connection.execute(statement)).rowcount == 1


def _record(row: Row[Any]) -> Release:
    values = dict(row._mapping)
    for name in _JSON:
        values[name] = None if values[name] is None else json.loads(values[name])
    return Release(**values)
