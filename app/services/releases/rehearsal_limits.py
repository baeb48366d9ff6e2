"""How much analysts may ask of their rehearsals, whose releases cost nobody any privacy, but take disk and workers."""

from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.kinds import ReleaseMechanism, ReleaseModel
from app.errors import Conflict, InvalidMechanism
from app.services.principals import Rehearser, Steward
from app.storage import releases
from app.storage.releases import Release

RELEASES_MAX = 20
"""Of one rehearsal."""
WAITING_MAX = 3
"""Of one analyst, at a time: workers serve real data too."""
VALUES_MAX = 250_000
"""Samples times parameters of one release."""
SECONDS_MAX = 10.0
"""Of reading and drawing on the machine of reference; a worker is held for several times as long."""


def refuse_large_release(steward: Steward, model: ReleaseModel, mechanism: ReleaseMechanism) -> None:
    """Raises InvalidMechanism."""
    if isinstance(steward, Rehearser) and mechanism.samples * len(model.parameters) > VALUES_MAX:
        most = max(1, VALUES_MAX // len(model.parameters))
        raise InvalidMechanism("mechanism.samples", f"at most {most}, in a rehearsal of an analyst")


def refuse_long_release(steward: Steward, seconds: float) -> None:
    """Raises Conflict."""
    if isinstance(steward, Rehearser) and not seconds <= SECONDS_MAX:
        raise Conflict(
            f"this release works for {seconds:.0f} s; in a rehearsal of an analyst {SECONDS_MAX:g} s are the most"
        )


async def refuse_many_releases(connection: AsyncConnection, steward: Steward, release: Release) -> None:
    """With the dataset's row locked. Raises Conflict."""
    if not isinstance(steward, Rehearser):
        return
    if await releases.count_releases(connection, release.dataset_id) >= RELEASES_MAX:
        raise Conflict(f"this rehearsal has {RELEASES_MAX} releases, as many as an analyst's may; make another")
    waiting = [each for each in await releases.list_unfinished(connection) if each.created_by == steward.id]
    if len(waiting) >= WAITING_MAX:
        raise Conflict(f"{WAITING_MAX} of your releases wait for a worker; ask again when one is done")
