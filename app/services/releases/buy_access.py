"""Pay for the first k samples of a release, or for the difference to a longer prefix."""

from app.core.privacy.release_cost import ReleaseCost
from app.errors import AccessRequired, BudgetExhausted, IntegrityFailure, InvalidInput
from app.ledger.account import Account, account_id
from app.ledger.amounts import upgrade_charge
from app.ledger.canonical import release_event
from app.ledger.posting import Posting, access_posting
from app.services.budgets import budget_view, cost_view, explained
from app.services.datasets.wide_caps import refuse_wide_cap
from app.services.people.visibility import find_release, require_published
from app.services.principals import Analyst
from app.services.releases.stored_release import cost_from_json, stored_law
from app.services.runtime import idempotency
from app.services.runtime.failpoints import failpoint
from app.services.runtime.idempotency import Once
from app.services.runtime.runtime import Runtime
from app.services.runtime.watch_rights import announce_rights
from app.services.views import AccessView
from app.storage import accesses, accounts, datasets
from app.storage.installation import bump_epoch
from app.storage.ledger_book import post
from app.storage.releases import Release


async def buy_access(
    runtime: Runtime, *, analyst: Analyst, release_id: str, samples: int, once: Once[AccessView] | None = None
) -> AccessView:
    """One transaction: lock the cap, charge the difference, raise the prefix. A shorter prefix costs nothing.

    Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired (no cap), InvalidInput, IdempotencyConflict,
    BudgetExhausted with the longest prefix that would fit.
    """
    failpoint("access.before_charge")
    async with runtime.database.write() as connection:
        await idempotency.claim(runtime, connection, once)
        release = await find_release(connection, analyst, release_id)
        require_published(release, analyst, runtime.clock())
        cost = cost_from_json(release.cost)
        if not 1 <= samples <= cost.samples:
            raise InvalidInput("samples", f"a whole number from 1 to {cost.samples}, the samples of this release")
        number = account_id(release.dataset_id, analyst.id)
        account = (await accounts.lock_accounts(connection, [number])).get(number)
        if account is None:
            raise AccessRequired("ask the dataset's steward for a cap")
        access = await accesses.get_access(connection, analyst.id, release_id)
        held = 0 if access is None else access.samples
        if samples > held:
            dataset = await datasets.get_dataset(connection, release.dataset_id)
            if dataset is None:
                raise IntegrityFailure("a release without its dataset")
            refuse_wide_cap("cap.epsilon", account.epsilon, [release], dataset)
            posting = _posting(account, release, cost, held, samples, analyst.id, runtime.clock())
            await post(connection, posting)
            await accesses.raise_access(connection, analyst.id, release_id, samples=samples, at_us=posting.at_us)
            await bump_epoch(connection)
            account = posting.account
        reached = max(samples, held)
        view = AccessView(release_id, reached, cost_view(cost, reached, account.delta, held), budget_view(account))
        await idempotency.answer(runtime, connection, once, view)
        failpoint("access.charging")
    failpoint("access.charged")
    if samples > held:
        await announce_rights(runtime)
    return view


def _posting(
    account: Account, release: Release, cost: ReleaseCost, held: int, samples: int, actor: str, at_us: int
) -> Posting:
    charge = upgrade_charge(cost.per_sample, held, samples, cost.once)
    event = release_event(
        model=release.model,
        mechanism=release.mechanism,
        n=release.n,
        unit_rows=release.unit_rows,
        samples=samples,
        held=held,
        law=stored_law(release),
        check=release.fit_check,
    )
    reason = f"prefix {held} to {samples}"
    try:
        return access_posting(
            account,
            release.id,
            charge,
            event=event,
            actor=actor,
            reason=reason,
            at_us=at_us,
            gaussian=cost.gaussian,
        )
    except BudgetExhausted as refusal:
        told = explained(refusal, account=account, charge=charge, cost=cost, samples=samples, held=held)
    raise told
