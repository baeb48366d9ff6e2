"""Datasets as their steward sees them: schema, budget, spent, left."""

from app.errors import IntegrityFailure, NotFound
from app.ledger.account import Account, account_id
from app.services.budgets import budget_view
from app.services.principals import Steward
from app.services.runtime.runtime import Runtime
from app.services.views import DatasetView
from app.storage import accounts, datasets
from app.storage.datasets import Dataset
from app.storage.paging import Page


async def list_datasets(runtime: Runtime, *, steward: Steward, cursor: str | None, limit: int) -> Page[DatasetView]:
    async with runtime.database.read() as connection:
        page = await datasets.page_datasets(connection, owner=steward.id, cursor=cursor, limit=limit)
        found = [(item, await accounts.get_account(connection, account_id(item.id))) for item in page.items]
    return Page([dataset_view(item, account) for item, account in found], page.next_cursor)


async def read_dataset(runtime: Runtime, *, steward: Steward, dataset_id: str) -> DatasetView:
    """Raises NotFound for ids that are unknown or another steward's."""
    async with runtime.database.read() as connection:
        dataset = await datasets.get_dataset(connection, dataset_id)
        account = await accounts.get_account(connection, account_id(dataset_id))
    return dataset_view(owned(dataset, steward, dataset_id), account)


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
        budget=budget_view(account),
        privacy_unit=None if dataset.unit is None else dict(dataset.unit),
        source=dict(dataset.source),
        other_columns=dataset.other_columns,
        data=dataset.data_state,
        created_us=dataset.created_us,
    )
