"""Cancel a release that waits: until its first row is about to be read nothing can depend on one, so the charge goes back."""

from typing import Any

from app.errors import Conflict, NotFound, ReleaseWithdrawn
from app.services.datasets.wipe_sealed import wipe_sealed
from app.services.ledger.settle_release import settle_release
from app.services.principals import Steward
from app.services.releases.read_releases import read_release
from app.services.runtime.runtime import Runtime
from app.services.views import ReleaseView
from app.storage import datasets, releases
from app.storage.releases import CANCELLED


async def cancel_release(runtime: Runtime, *, steward: Steward, release_id: str) -> ReleaseView:
    """One transaction withdraws it and voids its reservation, as a line. The stage is compared where it is changed: a worker that
    got to `reading` first keeps the release and its charge, one that comes after finds it gone. Again: the same answer.

    Raises NotFound, Conflict once reading has begun or it is published, ReleaseWithdrawn if it ended otherwise.
    """
    async with runtime.database.write() as connection:
        release = await releases.get_release(connection, release_id)
        dataset = None if release is None else await datasets.get_dataset(connection, release.dataset_id)
        if release is None or dataset is None or dataset.owner != steward.id:
            raise NotFound("release", release_id)
        if release.status == "withdrawn" and release.reason != CANCELLED:
            raise ReleaseWithdrawn("this release was withdrawn; there is nothing to cancel")
        if release.status != "withdrawn":
            if not await releases.cancel(connection, release_id):
                raise Conflict("rows of this release have been read, or are being read: its charge stands")
            who: dict[str, Any] = {"actor": steward.id, "reason": CANCELLED}
            await settle_release(connection, release_id, "void", **who, at_us=runtime.clock())
    await wipe_sealed(runtime, release_id)
    return await read_release(runtime, principal=steward, release_id=release_id)
