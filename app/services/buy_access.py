"""Pay for the first k samples of a release, or for the difference to a longer prefix."""

from app.errors import AccessRequired, BudgetExhausted, IntegrityFailure, InvalidInput
from app.ledger.account import account_id, largest_prefix
from app.ledger.amounts import upgrade_charge
from app.ledger.canonical import release_event
from app.ledger.posting import access_posting
from app.services.budgets import budget_view, cost_view
from app.services.change_rights import announce_rights
from app.services.failpoints import failpoint
from app.services.principals import Analyst
from app.services.runtime import Runtime
from app.services.stored_costs import cost_from_json
from app.services.views import AccessView
from app.services.visibility import find_release, require_published
from app.storage import accesses, accounts, datasets
from app.storage.epochs import bump_epoch
from app.storage.ledger_book import post


async def buy_access(runtime: Runtime, *, analyst: Analyst, release_id: str, samples: int) -> AccessView:
    """One transaction: lock the cap, charge the difference, raise the prefix. A shorter prefix costs nothing.

    Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired (no cap), InvalidInput, BudgetExhausted with
    the longest prefix that would fit.
    """
    failpoint("access.before_charge")
    async with runtime.database.write() as connection:
        release = await find_release(connection, analyst, release_id)
        require_published(release)
        cost = cost_from_json(release.cost)
        if not 1 <= samples <= cost.samples:
            raise InvalidInput("samples", f"a whole number from 1 to {cost.samples}, the samples of this release")
        number = account_id(release.dataset_id, analyst.id)
        account = (await accounts.lock_accounts(connection, [number])).get(number)
        if account is None:
            raise AccessRequired("ask the dataset's steward for a cap")
        if await datasets.get_dataset(connection, release.dataset_id) is None:
            raise IntegrityFailure("a release without its dataset")
        access = await accesses.get_access(connection, analyst.id, release_id)
        held = 0 if access is None else access.samples
        if samples <= held:
            return AccessView(release_id, held, cost_view(cost, held, account.delta, held), budget_view(account))
        event = release_event(
            model=release.model,
            mechanism=release.mechanism,
            n=release.n,
            unit_rows=release.unit_rows,
            samples=samples,
            held=held,
        )
        try:
            posting = access_posting(
                account,
                release_id,
                upgrade_charge(cost.per_sample, held, samples, cost.once),
                event=event,
                actor=analyst.id,
                reason=f"prefix {held} to {samples}",
                at_us=runtime.clock(),
            )
        except BudgetExhausted as refusal:
            fits = largest_prefix(account, cost.per_sample, held, cost.samples, cost.once)
            raise BudgetExhausted(refusal.detail, **refusal.facts, samples_held=held, samples_affordable=fits) from None
        await post(connection, posting)
        await accesses.raise_access(connection, analyst.id, release_id, samples=samples, at_us=posting.at_us)
        await bump_epoch(connection)
        failpoint("access.charging")
    failpoint("access.charged")
    await announce_rights(runtime)
    return AccessView(release_id, samples, cost_view(cost, samples, account.delta, held), budget_view(posting.account))
