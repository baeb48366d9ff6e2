"""Reading and locking accounts. They change only through `ledger_book.post`, together with their line."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Row, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.ledger.account import Account
from app.ledger.amounts import Amounts
from app.ledger.filters import GAUSSIAN, Regime
from app.storage.tables import accounts


async def get_account(connection: AsyncConnection, account_id: str) -> Account | None:
    row = (await connection.execute(select(accounts).where(accounts.c.id == account_id))).one_or_none()
    return None if row is None else account_of(row)


async def lock_accounts(connection: AsyncConnection, account_ids: Iterable[str]) -> dict[str, Account]:
    """The accounts that exist, held until the transaction ends.

    Always in the order of ids, so that two transactions cannot wait for each other.
    """
    statement = (
        select(accounts)
        .where(accounts.c.id.in_(sorted(set(account_ids))))
        .order_by(accounts.c.id)
        .with_for_update(key_share=True)
    )
    return {row.id: account_of(row) for row in await connection.execute(statement)}


async def list_accounts(
    connection: AsyncConnection,
    *,
    dataset: str | None = None,
    analyst: str | None = None,
    ids: Iterable[str] | None = None,
) -> tuple[Account, ...]:
    """Accounts of one dataset (its own included), of one analyst, or both; those of the given ids; all if nothing is given."""
    statement = select(accounts).order_by(accounts.c.id)
    if ids is not None:
        statement = statement.where(accounts.c.id.in_(sorted(set(ids))))
    if dataset is not None:
        statement = statement.where(accounts.c.dataset_id == dataset)
    if analyst is not None:
        statement = statement.where(accounts.c.analyst_id == analyst)
    return tuple(account_of(row) for row in await connection.execute(statement))


def account_of(row: Row[Any]) -> Account:
    return Account(
        id=row.id,
        dataset=row.dataset_id,
        analyst=row.analyst_id,
        epsilon=row.epsilon,
        delta=row.delta,
        slack_delta=row.slack_delta,
        order=row.renyi_order,
        capacity_nano=row.capacity_nano,
        pure_capacity_nano=row.pure_capacity_nano,
        spent=Amounts(row.spent_pure_nano, curve_of(row.spent_curve_nano), row.spent_slack_atto),
        revision=row.revision,
        regime=_regime(row.regime),
        population=row.population_id,
    )


def _regime(text: str | None) -> Regime | None:
    if text is None:
        return None
    return GAUSSIAN if text == GAUSSIAN else float(text)


def account_values(account: Account) -> dict[str, Any]:
    return {
        "id": account.id,
        "dataset_id": account.dataset,
        "analyst_id": account.analyst,
        "epsilon": account.epsilon,
        "delta": account.delta,
        "slack_delta": account.slack_delta,
        "renyi_order": account.order,
        "capacity_nano": account.capacity_nano,
        "pure_capacity_nano": account.pure_capacity_nano,
        "spent_pure_nano": account.spent.pure_nano,
        "spent_slack_atto": account.spent.slack_atto,
        "spent_curve_nano": curve_text(account.spent.curve_nano),
        "revision": account.revision,
        "regime": None if account.regime is None else str(account.regime),
        "population_id": account.population,
    }


def curve_text(curve: tuple[int, ...]) -> str:
    return ",".join(map(str, curve))


def curve_of(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))
