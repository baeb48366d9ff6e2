"""Cancel a release that waits: until its first row is about to be read nothing can depend on one, so the charge goes back."""

from app.errors import Conflict, NotFound, ReleaseWithdrawn
from app.ledger.account import account_id
from app.ledger.posting import void_posting
from app.services.principals import Steward
from app.services.releases.read_releases import read_release
from app.services.runtime.runtime import Runtime
from app.services.views import ReleaseView
from app.storage import accounts, datasets, ledger_book, releases
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
            number = account_id(release.dataset_id)
            account = (await accounts.lock_accounts(connection, [number]))[number]
            reserved = await ledger_book.outstanding(connection, number, release_id)
            if reserved is not None:  # of a row that nothing was reserved for there is nothing to take back
                at_us = runtime.clock()
                voided = void_posting(account, release_id, reserved, actor=steward.id, reason=CANCELLED, at_us=at_us)
                await ledger_book.post(connection, voided)
    return await read_release(runtime, principal=steward, release_id=release_id)
