"""Whether a release's row still says what its line in the ledger was charged for.

The row lives in an ordinary table; the line is chained and signed. Whoever can write to the database could raise the
number of samples, or add a release nobody paid for, and let the worker draw it. So before a row of private data is
read, everything that decides what is drawn is compared with the line.
"""

from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.privacy.release_cost import ReleaseCost
from app.errors import PosternError
from app.ledger.amounts import prefix_charge
from app.ledger.canonical import without_regime
from app.ledger.entry import Entry
from app.ledger.hash_chain import digest_of
from app.services.datasets.dataset_sources import dataset_unit
from app.services.releases.reserve_charge import charged_accounts, reserved_event
from app.services.releases.stored_release import cost_from_json
from app.storage import ledger_book
from app.storage.datasets import Dataset
from app.storage.releases import Release


async def is_charged(connection: AsyncConnection, release: Release, dataset: Dataset) -> bool:
    """True if unsettled reservations paid for exactly this, on all accounts that have to; what cannot be compared was not
    paid for."""
    try:
        cost = cost_from_json(release.cost)
        if dataset_unit(dataset).max_rows != release.unit_rows:
            return False
        for account in charged_accounts(dataset):
            line = await ledger_book.reservation(connection, account, release.id)
            if line is None or line.digest != digest_of(line) or not _pays_for(line, release, cost, dataset):
                return False
        return True
    except (PosternError, KeyError, TypeError, ValueError, AttributeError):
        return False


def _pays_for(line: Entry, release: Release, cost: ReleaseCost, dataset: Dataset) -> bool:
    """Lines of earlier versions do not name the schema. Which filter admitted it does not decide what is drawn."""
    if line.amounts != prefix_charge(cost.per_sample, cost.samples, cost.once):
        return False
    events = [reserved_event(release, cost, dataset, line.account, schema=schema) for schema in (True, False)]
    return without_regime(line.event) in events
