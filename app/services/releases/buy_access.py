"""Pay for the first k samples of a release, or for the difference to a longer prefix; of several models, of one or of all."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from app.core.privacy import ZERO_COST, Cost
from app.core.privacy.release_cost import ReleaseCost
from app.errors import AccessRequired, BudgetExhausted, IntegrityFailure, InvalidInput
from app.ledger.account import Account, account_id
from app.ledger.amounts import upgrade_charge
from app.ledger.canonical import release_event
from app.ledger.posting import Posting, access_posting
from app.services.budgets import added_cost, budget_view, cost_view, explained, several_view
from app.services.datasets.wide_caps import refuse_wide_cap
from app.services.people.visibility import WITHDRAWN, WITHDRAWN_EPSILON, find_release, require_published
from app.services.principals import Analyst
from app.services.releases.parts import part_names, part_release, require_part
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


@dataclass(frozen=True, slots=True)
class _Step:
    """From `held` to `samples` of a release of one model, or of one part; `release` is as if it were of that alone."""

    part: str | None
    release: Release
    cost: ReleaseCost
    held: int
    samples: int

    @property
    def reached(self) -> int:
        return max(self.held, self.samples)


async def buy_access(
    runtime: Runtime,
    *,
    analyst: Analyst,
    release_id: str,
    samples: int,
    part: str | None = None,
    once: Once[AccessView] | None = None,
) -> AccessView:
    """One transaction: lock the cap, charge the difference, raise the prefix. A shorter prefix costs nothing.

    Of several models without a `part`: of every one, as many as it has and no more; a line each, all of them or none.
    Raises NotFound, ReleaseNotReady, ReleaseWithdrawn, AccessRequired (no cap), InvalidInput, IdempotencyConflict,
    BudgetExhausted with the longest prefix that would fit.
    """
    failpoint("access.before_charge")
    async with runtime.database.write() as connection:
        await idempotency.claim(runtime, connection, once)
        release = await find_release(connection, analyst, release_id)
        require_published(release, analyst, runtime.clock())
        require_part(part_names(release), part)
        number = account_id(release.dataset_id, analyst.id)
        account = (await accounts.lock_accounts(connection, [number])).get(number)
        steps = await _steps(connection, analyst, release, samples, part)
        if account is None:
            raise AccessRequired("ask the dataset's steward for a cap")
        if account.epsilon == WITHDRAWN_EPSILON:
            raise AccessRequired(WITHDRAWN)
        raised = [step for step in steps if step.samples > step.held]
        if raised:
            account = await _charge(runtime, connection, analyst, release, account, raised)
        view = _view(release, account, steps)
        await idempotency.answer(runtime, connection, once, view)
        failpoint("access.charging")
    failpoint("access.charged")
    if raised:
        await announce_rights(runtime)
    return view


async def _steps(
    connection: AsyncConnection, analyst: Analyst, release: Release, samples: int, part: str | None
) -> list[_Step]:
    """Asked for with the account locked: of two simultaneous upgrades the second sees the first."""
    names = part_names(release)
    if not names:
        cost = cost_from_json(release.cost)
        _require(samples, cost.samples, "this release")
        access = await accesses.get_access(connection, analyst.id, release.id)
        return [_Step(None, release, cost, 0 if access is None else access.samples, samples)]
    held = await accesses.get_part_samples(connection, analyst.id, release.id)
    found = []
    for name in names if part is None else (part,):
        own = part_release(release, name)
        cost = cost_from_json(own.cost)
        if part is not None:
            _require(samples, cost.samples, f"the part {name}")
        found.append(_Step(name, own, cost, held.get(name, 0), min(samples, cost.samples)))
    _require(samples, max(step.cost.samples for step in found), "this release")
    return found


def _require(samples: int, most: int, of: str) -> None:
    if not 1 <= samples <= most:
        raise InvalidInput("samples", f"a whole number from 1 to {most}, the samples of {of}")


async def _charge(
    runtime: Runtime,
    connection: AsyncConnection,
    analyst: Analyst,
    release: Release,
    account: Account,
    raised: list[_Step],
) -> Account:
    dataset = await datasets.get_dataset(connection, release.dataset_id)
    if dataset is None:
        raise IntegrityFailure("a release without its dataset")
    for step in raised:
        refuse_wide_cap("cap.epsilon", account.epsilon, [step.release], dataset)
        posting = _posting(account, step, analyst.id, runtime.clock())
        await post(connection, posting)
        await accesses.raise_access(
            connection, analyst.id, release.id, samples=step.samples, at_us=posting.at_us, part=step.part
        )
        account = posting.account
    await bump_epoch(connection)
    return account


def _view(release: Release, account: Account, steps: list[_Step]) -> AccessView:
    first = steps[0]
    if first.part is None:
        charged = cost_view(first.cost, first.reached, account.delta, first.held)
        return AccessView(release.id, first.reached, charged, budget_view(account))
    added: Cost = ZERO_COST
    for step in steps:
        added = added.plus(added_cost(step.cost, step.held, step.reached))
    parts = {str(step.part): step.reached for step in steps}
    return AccessView(release.id, max(parts.values()), several_view(added, account.delta), budget_view(account), parts)


def _posting(account: Account, step: _Step, actor: str, at_us: int) -> Posting:
    cost, held, samples, release = step.cost, step.held, step.samples, step.release
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
        part=step.part,
    )
    of = "" if step.part is None else f" of {step.part}"
    try:
        return access_posting(
            account,
            release.id,
            charge,
            event=event,
            actor=actor,
            reason=f"prefix {held} to {samples}{of}",
            at_us=at_us,
            gaussian=cost.gaussian,
        )
    except BudgetExhausted as refusal:
        told = explained(refusal, account=account, charge=charge, cost=cost, samples=samples, held=held)
    raise told
