"""A rehearsal of a dataset, made from what is public of it by anyone who may see it.

Whoever makes one owns it. An analyst is its steward (`Rehearser`), and has a cap on it like the one they have on the dataset, so
that the same code runs on both. What stewards are trusted with, analysts have a few of: rehearsals, rows, releases, samples.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import Conflict, IntegrityFailure, InvalidInput, NotFound
from app.ledger.account import Account, account_id, open_account
from app.ledger.posting import open_posting
from app.services.datasets.create_dataset import NAME_LENGTH_MAX, create_dataset
from app.services.datasets.dataset_sources import dataset_columns, dataset_unit
from app.services.datasets.rehearse import PEOPLE
from app.services.people.visibility import may_see_dataset
from app.services.principals import Analyst, Rehearser, Steward
from app.services.runtime import idempotency
from app.services.runtime.idempotency import Once
from app.services.runtime.runtime import Runtime
from app.services.views import DatasetView
from app.sources.rehearsal_rows import ROWS_MAX
from app.sources.typed_rows import stored_names
from app.storage import accounts, datasets
from app.storage.datasets import Dataset
from app.storage.ledger_book import post

PRESENT_MAX = 5
"""Rehearsals of one analyst with rows: neither archived nor deleted."""
EVER_MAX = 25
"""With those: each has accounts, which a ledger keeps for ever."""
CELLS_MAX = 5_000_000


async def rehearse_dataset(
    runtime: Runtime,
    *,
    principal: Steward | Analyst,
    dataset_id: str,
    spec: Mapping[str, Any],
    once: Once[DatasetView] | None = None,
) -> DatasetView:
    """Raises NotFound, InvalidInput, VacuousGuarantee, NameTaken, Conflict where an analyst has as many as they may."""
    async with runtime.database.read() as connection:
        dataset = await datasets.get_dataset(connection, dataset_id)
        if dataset is None or not await may_see_dataset(connection, principal, dataset_id):
            raise NotFound("dataset", dataset_id)
        whose = principal.id if isinstance(principal, Analyst) else None
        account = await accounts.get_account(connection, account_id(dataset_id, whose))
        if whose is not None:
            try:
                await _refuse_many(connection, whose, more=1)
            except Conflict:  # unless this very request made the last of them: then its answer is given again
                await idempotency.look_up(runtime, connection, once)
                raise
    if account is None:
        raise IntegrityFailure("a dataset without an account")
    declared = _declared(dataset, account, spec)
    if not isinstance(principal, Analyst):
        return await create_dataset(runtime, steward=principal, spec=declared, once=once)

    async def open_cap(connection: AsyncConnection, made: Dataset) -> None:
        await _refuse_many(connection, principal.id)
        own = open_account(made.id, principal.id, **_budget(account))
        opened = open_posting(own, actor=principal.id, reason="cap opened", at_us=made.created_us)
        await post(connection, opened)

    return await create_dataset(runtime, steward=Rehearser.of(principal), spec=declared, once=once, also=open_cap)


def _declared(dataset: Dataset, account: Account, spec: Mapping[str, Any]) -> dict[str, Any]:
    """As a steward would declare it: the public schema, and the budget of `account` unless one is given."""
    columns, unit = dataset_columns(dataset), dataset_unit(dataset)
    rows_max = ROWS_MAX
    if account.analyst is not None:
        rows_max = min(ROWS_MAX, CELLS_MAX // len(stored_names(columns, unit)))
    people_max = max(1, rows_max // unit.max_rows)
    people = spec.get("n") or min(dataset.n or PEOPLE, people_max)
    if people > people_max:
        raise InvalidInput("n", f"at most {people_max} people in a rehearsal of these columns")
    given = spec.get("budget")
    return {
        "name": spec.get("name") or f"rehearsal of {dataset.name}"[:NAME_LENGTH_MAX],
        "description": spec.get("description"),
        "columns": dataset.columns,
        "privacy_unit": dataset.unit,
        "budget": given or _budget(account),
        "force": given is None,  # what its steward accepted for the dataset, or as a cap
        "n": people,
        "rehearsal": True,
        "seed": spec.get("seed"),
    }


def _budget(account: Account) -> dict[str, Any]:
    return {"epsilon": account.epsilon, "delta": account.delta, "slack_delta": account.slack_delta}


async def _refuse_many(connection: AsyncConnection, analyst: str, more: int = 0) -> None:
    """Before any row is made up, with one `more`; and again once the account is open, when the head of the ledger is held and
    nobody else declares anything."""
    present, ever = await datasets.count_owned(connection, analyst)
    if present + more > PRESENT_MAX:
        raise Conflict(f"you have {PRESENT_MAX} rehearsals; archive or delete one first", rehearsals_max=PRESENT_MAX)
    if ever + more > EVER_MAX:
        raise Conflict(f"you have made {EVER_MAX} rehearsals, as many as one analyst may", rehearsals_max=EVER_MAX)
