"""Datasets as their steward sees them: schema, budget, spent, left; and what others with a right on them see: what is public."""

from sqlalchemy.ext.asyncio import AsyncConnection as Connection

from app.errors import IntegrityFailure, NotFound
from app.ledger.account import account_id
from app.services.budgets import budget_view
from app.services.datasets.dataset_strata import public_strata
from app.services.datasets.populations import named
from app.services.people.visibility import may_see_dataset, visible_datasets
from app.services.principals import AnyPrincipal, Steward
from app.services.runtime.runtime import Runtime
from app.services.views import DatasetView, PublicDatasetView
from app.storage import accounts, datasets
from app.storage.datasets import Dataset
from app.storage.paging import Page


async def list_datasets(
    runtime: Runtime, *, principal: AnyPrincipal, cursor: str | None, limit: int
) -> Page[DatasetView] | Page[PublicDatasetView]:
    """A steward's own; of those that others have a right on, what is public."""
    async with runtime.database.read() as connection:
        if not isinstance(principal, Steward):
            ids = await visible_datasets(connection, principal)
            shown = await datasets.page_datasets(connection, ids=ids, cursor=cursor, limit=limit)
            public = [public_view(item, await named(connection, item)) for item in shown.items]
            return Page(public, shown.next_cursor)
        page = await datasets.page_datasets(connection, owner=principal.id, cursor=cursor, limit=limit)
        return Page([await steward_view(connection, item) for item in page.items], page.next_cursor)


async def read_dataset(
    runtime: Runtime, *, principal: AnyPrincipal, dataset_id: str
) -> DatasetView | PublicDatasetView:
    """To its owner all of it, to others what is public. Raises NotFound for ids that are unknown, or of datasets this key has no
    right on."""
    async with runtime.database.read() as connection:
        dataset = await datasets.get_dataset(connection, dataset_id)
        if dataset is None or not await may_see_dataset(connection, principal, dataset_id):
            raise NotFound("dataset", dataset_id)
        if not isinstance(principal, Steward) and dataset.owner != principal.id:
            return public_view(dataset, await named(connection, dataset))
        return await steward_view(connection, dataset)


def public_view(dataset: Dataset, population: dict[str, str] | None) -> PublicDatasetView:
    return PublicDatasetView(
        id=dataset.id,
        name=dataset.name,
        description=dataset.description,
        columns=dict(dataset.columns),
        n=dataset.n,
        strata=public_strata(dataset.strata),
        privacy_unit=None if dataset.unit is None else dict(dataset.unit),
        archived_us=dataset.archived_us,
        created_us=dataset.created_us,
        rehearsal=dataset.rehearsal is not None,
        population=population,
    )


def owned(dataset: Dataset | None, steward: Steward, dataset_id: str) -> Dataset:
    if dataset is None or dataset.owner != steward.id:
        raise NotFound("dataset", dataset_id)
    return dataset


async def steward_view(connection: Connection, dataset: Dataset) -> DatasetView:
    account = await accounts.get_account(connection, account_id(dataset.id))
    if account is None:
        raise IntegrityFailure("a dataset without an account")
    return DatasetView(
        id=dataset.id,
        name=dataset.name,
        columns=dict(dataset.columns),
        n=dataset.n,
        strata=public_strata(dataset.strata),
        budget=budget_view(account),
        privacy_unit=None if dataset.unit is None else dict(dataset.unit),
        source=dict(dataset.source),
        other_columns=dataset.other_columns,
        data=dataset.data_state,
        created_us=dataset.created_us,
        description=dataset.description,
        archived_us=dataset.archived_us,
        changes=[dict(change) for change in dataset.changes or ()],
        rehearsal=dataset.rehearsal is not None,
        population=await named(connection, dataset),
    )
