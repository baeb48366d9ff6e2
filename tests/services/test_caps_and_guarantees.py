"""Analysts' caps: what is shown when one is lowered below what is spent, and which are too wide for an inexact sampler."""

import pytest
from sqlalchemy import update

from app.errors import InvalidInput, LedgerUntrusted
from app.ledger.account import account_id
from app.services.budgets import budget_view
from app.services.people.directory import read_me
from app.services.releases.buy_access import buy_access
from app.storage.tables import accounts
from tests.attacks.tampering import tampered
from tests.conftest import POSTGRES_DEEP
from tests.services.test_laws import COLUMNS, DATA, MEAN, NOISE
from tests.services.world import World

DRAWN = {"kind": "baps", "samples": 3, "temperature": 0.01}
SLACK = {"epsilon": 20.0, "delta": 1e-5, "slack_delta": 1e-6}


@POSTGRES_DEEP
async def test_a_cap_lowered_below_what_is_spent_is_shown_beside_what_still_holds(world: World) -> None:
    dataset = await world.dataset()
    release = await world.published(dataset, samples=20)
    ada = await world.buyer(dataset, release, 20)
    before = budget_view(await world.account(account_id(dataset, ada.id)))
    assert (before.guarantee_epsilon, before.guarantee) == (before.epsilon, "the cap")
    await world.cap(dataset, ada, epsilon=0.5)
    (cap,) = (await read_me(world.runtime, principal=ada.who)).caps
    assert cap.budget is not None
    assert cap.budget.epsilon == 0.5 < cap.budget.spent_epsilon <= (cap.budget.guarantee_epsilon or 0) < 15
    assert cap.budget.guarantee == "what was spent before the cap was lowered"
    await world.cap(dataset, ada, epsilon=14.0)
    raised = budget_view(await world.account(account_id(dataset, ada.id)))
    assert (raised.guarantee_epsilon, raised.guarantee) == (14.0, "the cap")


@POSTGRES_DEEP
async def test_a_cap_too_wide_for_an_inexact_sampler_buys_none_of_its_samples(world: World) -> None:
    dataset = await world.dataset(columns=COLUMNS, data=DATA, budget=SLACK)
    release = await world.published(dataset, model=MEAN, mechanism=DRAWN)
    ada = await world.person("analyst", "ada")
    await world.cap(dataset, ada, epsilon=41.0, delta=1e-5, slack_delta=1e-6, force=True)
    with pytest.raises(InvalidInput, match="at most 40"):
        await buy_access(world.runtime, analyst=ada.analyst, release_id=release, samples=1)
    await world.cap(dataset, ada, epsilon=20.0, delta=1e-5)
    await buy_access(world.runtime, analyst=ada.analyst, release_id=release, samples=1)
    with pytest.raises(InvalidInput, match="at most 40"):
        await world.cap(dataset, ada, epsilon=41.0, delta=1e-5, force=True)


async def test_an_account_edited_to_hold_gaussian_noise_only_is_not_charged(world: World) -> None:
    """It has room for 7 % more then, after something else was released from it."""
    dataset = await world.dataset(columns=COLUMNS, data=DATA, budget={"epsilon": 1.0, "delta": 1e-6})
    await world.published(dataset, model=MEAN, mechanism=NOISE | {"epsilon": 0.3})
    assert (await world.account(dataset)).regime is None

    async def edit(connection: object) -> None:
        await connection.execute(update(accounts).values(regime="gaussian"))  # type: ignore[attr-defined]

    await tampered(world.runtime.database, edit)
    with pytest.raises(LedgerUntrusted):
        await world.request(dataset, model=MEAN, mechanism=NOISE | {"epsilon": 0.2})
