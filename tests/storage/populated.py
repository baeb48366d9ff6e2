"""Rows that other rows need: a steward, a dataset with its account, releases."""

import secrets
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.privacy import ORDERS, Cost
from app.ledger.account import Account, open_account
from app.ledger.amounts import Amounts, amounts_of
from app.ledger.posting import open_posting
from app.storage.datasets import Dataset, insert_dataset
from app.storage.engine import Database
from app.storage.ledger_book import post
from app.storage.principals import Principal, insert_principal
from app.storage.releases import Release, insert_release

NOW_US = 1_700_000_000_000_000
WHO: dict[str, Any] = {"actor": "an_steward", "reason": "test", "at_us": NOW_US}
ONE = amounts_of(Cost(0.25, (0.01,) * len(ORDERS)))


async def add_principal(connection: AsyncConnection, name: str, role: str = "steward") -> Principal:
    principal = Principal(f"an_{name}", role, name, None, NOW_US)
    await insert_principal(connection, principal)
    return principal


async def add_dataset(connection: AsyncConnection, dataset_id: str = "ds_a", **changes: Any) -> Dataset:
    values: dict[str, Any] = {
        "id": dataset_id,
        "owner": "an_steward",
        "name": dataset_id,
        "columns": {"cured": {"type": "binary"}},
        "unit": None,
        "source": {"kind": "upload", "retain": False},
        "n": 1000,
        "epsilon": 3.0,
        "delta": 1e-6,
        "created_us": NOW_US,
    }
    dataset = Dataset(**(values | changes))
    await insert_dataset(connection, dataset)
    return dataset


async def add_release(connection: AsyncConnection, release_id: str, **changes: Any) -> Release:
    values: dict[str, Any] = {
        "id": release_id,
        "dataset_id": "ds_a",
        "created_by": "an_steward",
        "model": {"family": "bernoulli", "column": "cured"},
        "mechanism": {"kind": "baps", "samples": 2},
        "cost": {"epsilon": 1.0},
        "n": 1000,
        "unit_rows": 1,
        "data_version": 1,
        "created_us": NOW_US,
        "due_us": NOW_US,
    }
    release = Release(**(values | changes))
    await insert_release(connection, release)
    return release


async def add_account(connection: AsyncConnection, **changes: Any) -> Account:
    values: dict[str, Any] = {"dataset": "ds_a", "epsilon": 3.0, "delta": 1e-6}
    posting = open_posting(open_account(**(values | changes)), **WHO)
    await post(connection, posting)
    return posting.account


async def populate(database: Database, **budget: Any) -> Account:
    """A steward, a dataset and the dataset's account."""
    async with database.write() as connection:
        await add_principal(connection, "steward")
        await add_dataset(connection)
        return await add_account(connection, **budget)


def fitting(times: int) -> tuple[float, Amounts]:
    """(ε, a charge) such that the pure filter admits exactly `times` of them and no Rényi filter any."""
    amounts = amounts_of(Cost(0.25, (0.25,) * len(ORDERS)))
    return 0.25 * times + 0.125, amounts


def token() -> str:
    return secrets.token_hex(8)
