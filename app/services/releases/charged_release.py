"""Whether a release's row still says what its line in the ledger was charged for.

The row lives in an ordinary table; the line is chained and signed. Whoever can write to the database could raise the
number of samples, or add a release nobody paid for, and let the worker draw it. So before a row of private data is
read, everything that decides what is drawn is compared with the line.
"""

from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import PosternError
from app.ledger.account import account_id
from app.ledger.amounts import prefix_charge
from app.ledger.canonical import release_event, without_regime
from app.ledger.entry import Entry
from app.ledger.hash_chain import digest_of
from app.services.datasets.dataset_sources import dataset_unit
from app.services.releases.stored_release import cost_from_json, stored_law
from app.storage import ledger_book
from app.storage.datasets import Dataset
from app.storage.releases import Release


async def is_charged(connection: AsyncConnection, release: Release, dataset: Dataset) -> bool:
    """True if an unsettled reservation paid for exactly this; what cannot be compared was not paid for."""
    try:
        line = await ledger_book.reservation(connection, account_id(release.dataset_id), release.id)
        return line is not None and line.digest == digest_of(line) and _pays_for(line, release, dataset)
    except (PosternError, KeyError, TypeError, ValueError, AttributeError):
        return False


def _pays_for(line: Entry, release: Release, dataset: Dataset) -> bool:
    cost = cost_from_json(release.cost)
    if line.amounts != prefix_charge(cost.per_sample, cost.samples, cost.once):
        return False
    if dataset_unit(dataset).max_rows != release.unit_rows:
        return False

    def event(*, with_schema: bool) -> str:
        return release_event(
            model=release.model,
            mechanism=release.mechanism,
            n=release.n,
            unit_rows=release.unit_rows,
            samples=cost.samples,
            columns=dataset.columns if with_schema else None,
            law=stored_law(release),
            check=release.fit_check,
        )

    # Lines of earlier versions do not name the schema. Which filter admitted it does not decide what is drawn.
    return without_regime(line.event) in (event(with_schema=True), event(with_schema=False))
