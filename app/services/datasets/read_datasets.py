"""Datasets as their steward sees them: schema, budget, spent, left; and what others with a right on them see: what is public."""

from app.errors import IntegrityFailure, NotFound
from app.ledger.account import Account, account_id
from app.services.budgets import budget_view
from app.services.datasets.dataset_strata import public_strata
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
            return Page([public_view(item) for item in shown.items], shown.next_cursor)
        page = await datasets.page_datasets(connection, owner=principal.id, cursor=cursor, limit=limit)
        found = [(item, await accounts.get_account(connection, account_id(item.id))) for item in page.items]
    return Page([dataset_view(item, account) for item, account in found], page.next_cursor)


async def read_dataset(
    runtime: Runtime, *, principal: AnyPrincipal, dataset_id: str
) -> DatasetView | PublicDatasetView:
    """Raises NotFound for ids that are unknown, or of datasets this key has no right on."""
    async with runtime.database.read() as connection:
        dataset = await datasets.get_dataset(connection, dataset_id)
        if dataset is None or not await may_see_dataset(connection, principal, dataset_id):
            raise NotFound("dataset", dataset_id)
        if not isinstance(principal, Steward):
            return public_view(dataset)
        account = await accounts.get_account(connection, account_id(dataset_id))
    return dataset_view(dataset, account)


def public_view(dataset: Dataset) -> PublicDatasetView:
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
    )


def owned(dataset: Dataset | None, steward: Steward, dataset_id: str) -> Dataset:
    if dataset is None or dataset.owner != steward.id:
        raise NotFound("dataset", dataset_id)
    return dataset


def dataset_view(dataset: Dataset, account: Account | None) -> DatasetView:
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
    )
