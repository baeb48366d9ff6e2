"""What a release is charged to: its dataset's account, and its population's if it has one. Both filters have to admit it."""

from collections.abc import Mapping, Sequence

from app.core.privacy.release_cost import ReleaseCost
from app.errors import BudgetExhausted, IntegrityFailure
from app.ledger.account import Account, account_id
from app.ledger.amounts import prefix_charge
from app.ledger.canonical import release_event
from app.ledger.posting import Posting, reserve_posting
from app.services.budgets import explained
from app.services.releases.stored_release import stored_law
from app.storage.datasets import Dataset
from app.storage.releases import Release


def charged_accounts(dataset: Dataset) -> list[str]:
    """Their ids, in the order of their lines: the population's first (`app/ledger/shared_charges.py`)."""
    own = account_id(dataset.id)
    return [own] if dataset.population is None else [dataset.population, own]


def reserved_event(release: Release, cost: ReleaseCost, dataset: Dataset, account: str, *, schema: bool = True) -> str:
    """What the line of one of the two says."""
    own = account == account_id(dataset.id)
    return release_event(
        model=release.model,
        mechanism=release.mechanism,
        n=release.n,
        unit_rows=release.unit_rows,
        samples=cost.samples,
        columns=dataset.columns if schema else None,
        law=stored_law(release),
        check=release.fit_check,
        population=dataset.population if own else None,
        dataset=None if own else dataset.id,
    )


def reserve_postings(
    found: Mapping[str, Account], release: Release, cost: ReleaseCost, dataset: Dataset
) -> list[Posting]:
    """A line for each, none written. Raises BudgetExhausted for the first account that does not admit the charge, told with the
    samples that all of them would admit."""
    names = charged_accounts(dataset)
    if not found.keys() >= set(names):
        raise IntegrityFailure("a dataset without its account")
    charged = [found[name] for name in names]
    return [_posting(account, release, cost, dataset, charged) for account in charged]


def _posting(
    account: Account, release: Release, cost: ReleaseCost, dataset: Dataset, charged: Sequence[Account]
) -> Posting:
    amounts = prefix_charge(cost.per_sample, cost.samples, cost.once)
    try:
        return reserve_posting(
            account,
            release.id,
            amounts,
            event=reserved_event(release, cost, dataset, account.id),
            actor=release.created_by,
            reason="release",
            at_us=release.created_us,
            gaussian=cost.gaussian,
        )
    except BudgetExhausted as refusal:
        told = explained(
            refusal, account=account, charge=amounts, cost=cost, samples=cost.samples, among=charged, dataset=dataset.id
        )
    raise told
