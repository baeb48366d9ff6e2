"""Give an analyst a cap on a dataset, or a dashboard a number of samples to read."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import Conflict, Forbidden, InvalidInput, NotFound
from app.ledger.account import Account, account_id, open_account
from app.ledger.posting import cap_posting, open_posting
from app.services.budgets import budget_view
from app.services.datasets.read_datasets import owned
from app.services.datasets.wide_caps import refuse_wide_cap
from app.services.people.visibility import belongs_to
from app.services.principals import Rehearser, Steward
from app.services.runtime.cost_cache import refuse_vacuous
from app.services.runtime.runtime import Runtime
from app.services.runtime.watch_rights import announce_rights
from app.services.views import CapView
from app.storage import accounts, datasets, releases
from app.storage.grants import Grant, put_grant
from app.storage.installation import bump_epoch
from app.storage.ledger_book import post
from app.storage.principals import get_principal

REHEARSED_MAX = 50
"""Lines of an analyst's account on their own rehearsal after which its cap stays as it is."""


async def set_cap(
    runtime: Runtime, *, steward: Steward, dataset_id: str, principal_id: str, spec: Mapping[str, Any]
) -> CapView:
    """A cap below what is spent is allowed: nothing more is then admitted. The cap that is already there changes nothing and
    writes no line. Raises NotFound, InvalidInput, Forbidden, Conflict."""
    if isinstance(steward, Rehearser) and principal_id != steward.id:
        raise Forbidden("an analyst's rehearsal is for themselves: nobody else gets a cap on it", roles=["steward"])
    given = {name for name, value in spec.items() if value is not None}
    async with runtime.database.write() as connection:
        dataset = owned(await datasets.get_dataset(connection, dataset_id, lock=True), steward, dataset_id)
        person, changed = await get_principal(connection, principal_id), True
        if person is None or person.role not in ("analyst", "dashboard") or not belongs_to(person, steward):
            raise NotFound("analyst", principal_id)
        if person.role == "analyst":
            if given - {"force", "slack_delta"} != {"epsilon", "delta"}:
                raise InvalidInput("body", "`epsilon` and `delta` for an analyst")
            epsilon, delta = float(spec["epsilon"]), float(spec["delta"])
            refuse_vacuous("epsilon", epsilon, delta, runtime.settings.epsilon_max, bool(spec.get("force")))
            bought = await releases.list_bought(connection, analyst=principal_id, dataset=dataset_id)
            refuse_wide_cap("epsilon", epsilon, bought, dataset)
            account, changed = await _cap(
                runtime, connection, steward, (dataset_id, principal_id), epsilon, delta, spec.get("slack_delta")
            )
            view = CapView(dataset_id, principal_id, budget_view(account), None)
        else:
            if given != {"samples"}:
                raise InvalidInput("body", "`samples` for a dashboard")
            await put_grant(connection, Grant(principal_id, dataset_id, spec["samples"], runtime.clock()))
            view = CapView(dataset_id, principal_id, None, spec["samples"])
        if changed:
            await bump_epoch(connection)
    if changed:
        await announce_rights(runtime)
    return view


async def _cap(
    runtime: Runtime,
    connection: AsyncConnection,
    steward: Steward,
    whose: tuple[str, str],
    epsilon: float,
    delta: float,
    slack_delta: float | None,
) -> tuple[Account, bool]:
    """With whether anything changed. `slack_delta` belongs to the opening of an account: a later cap may repeat it, not change
    it."""
    number = account_id(*whose)
    found = (await accounts.lock_accounts(connection, [number])).get(number)
    if found is None:
        fresh = open_account(*whose, epsilon=epsilon, delta=delta, slack_delta=slack_delta or 0.0)
        posting = open_posting(fresh, actor=steward.id, reason="cap opened", at_us=runtime.clock())
    elif slack_delta is not None and slack_delta != found.slack_delta:
        raise InvalidInput("slack_delta", f"{found.slack_delta:g}, as this cap was opened with, or nothing")
    elif (found.epsilon, found.delta) == (epsilon, delta):
        return found, False
    elif isinstance(steward, Rehearser) and found.revision >= REHEARSED_MAX:
        raise Conflict("the ledger keeps every cap for ever: of your own rehearsal this one may not change any more")
    else:
        posting = cap_posting(
            found, epsilon=epsilon, delta=delta, actor=steward.id, reason="cap changed", at_us=runtime.clock()
        )
    await post(connection, posting)
    return posting.account, True
