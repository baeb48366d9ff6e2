"""Which datasets a key may know of, and how many samples of a release it may read."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection as Connection

from app.core.kinds import PARTS
from app.errors import AccessRequired, NotFound, ReleaseNotReady, ReleaseWithdrawn
from app.ledger.account import account_id
from app.services.principals import AnyPrincipal, Auditor, Overseer, Reader, Steward
from app.services.runtime.reading_rights import NOTHING_PAID, ReadingRight
from app.storage import accesses, accounts, datasets, grants, releases
from app.storage.populations import get_population
from app.storage.principals import Principal, get_principal
from app.storage.releases import Release

WITHDRAWN_EPSILON = 0.0
"""The cap of an analyst whose access was withdrawn; caps that are asked for are above it."""
WITHDRAWN = "access to this dataset was withdrawn by its steward"

PENDING_RETRY_S = 2
"""What everyone but the steward is told of every pending release."""


def belongs_to(person: Principal, steward: Steward) -> bool:
    """Whether this steward may give the person rights, or take them: who made them may, and for a person whom the operator made
    every steward. An analyst is at home in their own rehearsals."""
    return person.created_by in (None, steward.id) or person.id == steward.id


async def visible_datasets(connection: Connection, principal: AnyPrincipal) -> set[str] | None:
    """None means all: an auditor appointed by the operator. One appointed by a steward sees that steward's."""
    if isinstance(principal, Steward):
        return await datasets.owned_ids(connection, principal.id)
    if isinstance(principal, Auditor):
        person = await get_principal(connection, principal.id)
        if person is not None and person.created_by is None:
            return None
        return set() if person is None else await datasets.owned_ids(connection, str(person.created_by))
    own = await accounts.list_accounts(connection, analyst=principal.id)
    capped = {account.dataset for account in own if account.dataset is not None}
    granted = {grant.dataset_id for grant in await grants.list_grants(connection, principal.id)}
    return capped | granted


async def may_see_dataset(connection: Connection, principal: AnyPrincipal, dataset_id: str) -> bool:
    """The same rule for one dataset, without listing the others."""
    dataset = await datasets.get_dataset(connection, dataset_id)
    if dataset is None:
        return False
    if isinstance(principal, Steward):
        return dataset.owner == principal.id
    if isinstance(principal, Auditor):
        person = await get_principal(connection, principal.id)
        return person is not None and person.created_by in (None, dataset.owner)
    account = await accounts.get_account(connection, account_id(dataset_id, principal.id))
    return account is not None or await grants.get_grant(connection, principal.id, dataset_id) is not None


async def may_see_population(connection: Connection, overseer: Overseer, population_id: str) -> bool:
    """Its steward, and auditors as of that steward's datasets. Analysts see its name on cards."""
    population = await get_population(connection, population_id)
    if population is None:
        return False
    if isinstance(overseer, Steward):
        return population.owner == overseer.id
    person = await get_principal(connection, overseer.id)
    return person is not None and person.created_by in (None, population.owner)


async def find_release(connection: Connection, principal: AnyPrincipal, release_id: str) -> Release:
    """Raises NotFound, alike for unknown releases and for those of datasets this key knows nothing of."""
    release = await releases.get_release(connection, release_id)
    if release is None or not await may_see_dataset(connection, principal, release.dataset_id):
        raise NotFound("release", release_id)
    return release


def require_published(release: Release, reader: Reader, now_us: int) -> None:
    """Raises ReleaseWithdrawn, or ReleaseNotReady: to the steward with what its worker is doing, to all others alike.

    Leases and due times tell that an attempt ended and another is to come, and an attempt may end by what it read.
    """
    if release.status == "withdrawn":
        raise ReleaseWithdrawn("this release was withdrawn; it has no samples")
    if release.status == "published":
        return
    if not isinstance(reader, Steward):
        raise ReleaseNotReady("this release is still pending", retry_after_s=PENDING_RETRY_S)
    until_us = release.lease_until_us or 0
    leased = until_us > now_us and release.lease_token != releases.NOBODY
    due_us = now_us if leased else max(release.due_us, until_us, now_us)
    raise ReleaseNotReady(
        "this release is still pending: " + ("a worker is on it" if leased else "it waits for a worker"),
        retry_after_s=max(1, -(-(due_us - now_us) // 1_000_000)),
        lease_expires_us=until_us if leased else None,
        next_attempt_us=None if leased else due_us,
    )


async def readable_samples(connection: Connection, reader: Reader, release: Release, now_us: int) -> ReadingRight:
    """How many samples, from the first on; of several models, of each. Raises ReleaseNotReady, ReleaseWithdrawn,
    AccessRequired."""
    require_published(release, reader, now_us)
    parts = release.model.get(PARTS)
    published: dict[Any, int] = {None: int(release.cost["samples"])}
    if parts is not None:
        costs = zip(parts, release.cost[PARTS], strict=True)
        published = {part["name"]: int(cost["samples"]) for part, cost in costs}
    held = published if isinstance(reader, Steward) else await _held(connection, reader, release, published)
    samples = max(held.values())
    if samples < 1:
        raise AccessRequired(NOTHING_PAID)
    return ReadingRight(samples, () if parts is None else tuple(held.items()))


async def _held(connection: Connection, reader: Reader, release: Release, published: dict[Any, int]) -> dict[Any, int]:
    """By part, None for a release of one model: what was bought, or granted if that is more, of what there is."""
    account = await accounts.get_account(connection, account_id(release.dataset_id, reader.id))
    if account is not None and account.epsilon == WITHDRAWN_EPSILON:
        raise AccessRequired(WITHDRAWN)
    grant = await grants.get_grant(connection, reader.id, release.dataset_id)
    bought: dict[Any, int] = {}
    if None in published:
        access = await accesses.get_access(connection, reader.id, release.id)
        bought = {} if access is None else {None: access.samples}
    else:
        bought |= await accesses.get_part_samples(connection, reader.id, release.id)
    found = {}
    for part, most in published.items():
        granted = 0 if grant is None else most if grant.samples is None else grant.samples
        found[part] = min(max(bought.get(part, 0), granted), most)
    return found
