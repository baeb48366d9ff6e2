"""Charges lowered to what the same samples cost under tighter bounds: by a signed line, never below, never in place."""

import json
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from app.core.kinds import parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.errors import BudgetExhausted, InvalidInput, NotFound
from app.ledger.account import account_id
from app.ledger.amounts import ZERO, Amounts, prefix_charge
from app.ledger.canonical import canonical_json, release_event
from app.ledger.entry import Entry
from app.ledger.offline import verify_export
from app.ledger.paid_releases import BOUNDS
from app.ledger.posting import access_posting, commit_posting, reserve_posting, void_posting
from app.services.ledger.export_ledger import export_ledger
from app.services.ledger.recost_ledger import apply_recost, recost_ledger
from app.services.ledger.verify_ledger import verify_ledger
from app.services.ledger.watch_ledger import check_ledger_on_start
from app.services.runtime.runtime import Runtime
from app.storage.accounts import account_values, lock_accounts
from app.storage.ledger_book import post
from app.storage.ledger_heads import read_stored, sign_stored
from app.storage.tables import accounts, ledger_entries
from tests.attacks.tampering import disarm, rewrite
from tests.conftest import POSTGRES_DEEP
from tests.deep import deep
from tests.services.world import COLUMNS, MODEL, World

BAPS = {"kind": "baps", "samples": 20, "temperature": 1.0}
REASON = "bounds of one-parameter families got tighter; board decision 21"
WHO: dict[str, Any] = {"actor": "st_grace", "reason": "release", "at_us": 5}


def owed(samples: int = 20) -> Amounts:
    model = parse_model(MODEL, parse_columns(COLUMNS))
    cost = parse_mechanism(BAPS, model).cost(model, 400, 1)
    return prefix_charge(cost.per_sample, samples, cost.once)


def event(samples: int, *, schema: bool, part: str | None = None) -> str:
    model = parse_model(MODEL, parse_columns(COLUMNS)).as_json()
    columns = COLUMNS if schema else None
    return release_event(model=model, mechanism=BAPS, n=400, unit_rows=1, samples=samples, columns=columns, part=part)


def doubled(amounts: Amounts) -> Amounts:
    return amounts.plus(amounts)


async def charged(runtime: Runtime, dataset: str, release: str, *, settled: bool = True) -> None:
    """As a version with bounds twice as wide would have charged it, by law 1."""
    async with runtime.database.write() as connection:
        account = (await lock_accounts(connection, [dataset]))[dataset]
        reserved = reserve_posting(account, release, doubled(owed()), event=event(20, schema=True), **WHO)
        await post(connection, reserved)
        if settled:
            await post(connection, commit_posting(reserved.account, release, **WHO))


async def bought(runtime: Runtime, number: str, release: str, samples: int, part: str | None = None) -> None:
    async with runtime.database.write() as connection:
        account = (await lock_accounts(connection, [number]))[number]
        what = event(samples, schema=False, part=part)
        paid = access_posting(account, release, doubled(owed(samples)), event=what, **WHO)
        await post(connection, paid)


async def apply(runtime: Runtime, account: str, reason: str = REASON) -> Any:
    return await apply_recost(runtime, account=account, actor="grace", reason=reason)


async def digests(runtime: Runtime) -> list[bytes]:
    async with runtime.database.read() as connection:
        return list((await connection.execute(select(ledger_entries.c.digest).order_by("sequence"))).scalars())


async def exported(runtime: Runtime) -> list[bytes]:
    text = b"".join([chunk async for chunk in export_ledger(runtime)])
    return text.splitlines(keepends=True)


async def test_books_fall_to_what_is_owed_by_a_line_and_a_signed_act(runtime: Runtime, world: World) -> None:
    await check_ledger_on_start(runtime)
    dataset = await world.dataset()
    await charged(runtime, dataset, "rel_old")
    before = await digests(runtime)
    act, lowered = await apply(runtime, dataset)
    assert [(each.paid.release, each.by) for each in lowered] == [("rel_old", owed())]
    assert (await world.account(dataset)).spent == owed()
    assert await world.kinds(dataset) == ["open", "reserve", "commit", "recost"]
    assert (await digests(runtime))[: len(before)] == before
    assert (act.kind, act.actor, act.reason, act.head.sequence) == ("recosted", "grace", REASON, 4)
    assert await world.verified()
    verdict = verify_export(await exported(runtime), [runtime.notary.keys.signing.public])
    assert (verdict.ok, verdict.entries, verdict.reason) == (True, 4, None)
    assert [(each["kind"], each["verified"]) for each in verdict.acts] == [("recosted", True)]
    assert await apply(runtime, dataset) == (None, [])
    _, (line,) = await recost_ledger(runtime)
    assert (line.outcome, line.lowered) == ("over_charged", True)
    await check_ledger_on_start(runtime)
    assert runtime.notary.fault is None


@POSTGRES_DEEP
async def test_the_report_says_what_each_charge_was_and_would_be(runtime: Runtime, world: World) -> None:
    dataset = await world.dataset()
    await charged(runtime, dataset, "rel_old")
    recoster, (line,) = await recost_ledger(runtime)
    assert recoster.counts["over_charged"] == 1
    assert (line.law, line.outcome, line.account, line.delta) == (1, "over_charged", dataset, 1e-6)
    assert not line.lowered
    assert line.charged_pure_nano == 2 * (line.computed_pure_nano or 0)
    assert line.epsilon_less is not None
    assert line.epsilon_less == (line.charged_epsilon or 0) - (line.computed_epsilon or 0) > 0


@POSTGRES_DEEP
async def test_an_analysts_prefix_is_lowered_on_the_analysts_own_books(runtime: Runtime, world: World) -> None:
    dataset = await world.dataset()
    await charged(runtime, dataset, "rel_old")
    ada = await world.person("analyst", "ada")
    await world.cap(dataset, ada)
    number = account_id(dataset, ada.id)
    await bought(runtime, number, "rel_old", 7)
    await apply(runtime, number)
    assert (await world.account(number)).spent == owed(7)
    assert (await world.account(dataset)).spent == doubled(owed())
    assert await world.verified()


@POSTGRES_DEEP
async def test_parts_of_several_models_are_lowered_each_by_itself(runtime: Runtime, world: World) -> None:
    dataset = await world.dataset()
    await charged(runtime, dataset, "rel_old")
    ada = await world.person("analyst", "ada")
    await world.cap(dataset, ada)
    number = account_id(dataset, ada.id)
    for part, samples in (("a", 3), ("b", 2)):
        await bought(runtime, number, "rel_old", samples, part)
    _, lowered = await apply(runtime, number)
    assert [(each.paid.part, each.by) for each in lowered] == [("a", owed(3)), ("b", owed(2))]
    assert (await world.account(number)).spent == owed(3).plus(owed(2))
    assert await world.verified()


@POSTGRES_DEEP
async def test_a_pending_reservation_is_left_alone_and_voids_whole(runtime: Runtime, world: World) -> None:
    dataset = await world.dataset()
    await charged(runtime, dataset, "rel_waits", settled=False)
    assert await apply(runtime, dataset) == (None, [])
    async with runtime.database.write() as connection:
        account = (await lock_accounts(connection, [dataset]))[dataset]
        await post(connection, void_posting(account, "rel_waits", doubled(owed()), **WHO))
    assert (await world.account(dataset)).spent == ZERO
    assert await world.verified()


@POSTGRES_DEEP
async def test_what_a_tighter_bound_frees_can_be_spent(runtime: Runtime, world: World) -> None:
    dataset = await world.dataset(budget={"epsilon": 7.0, "delta": 1e-6})
    await charged(runtime, dataset, "rel_old")
    with pytest.raises(BudgetExhausted):
        await world.request(dataset, samples=20)
    await apply(runtime, dataset)
    await world.published(dataset, samples=20)
    assert await world.verified()


async def forged(runtime: Runtime, dataset: str, forge: Any) -> str | None:
    """Someone with the real key rewrites the chain and the balance; what verification says to it."""
    totals: dict[str, Amounts] = {}

    def change(entry: Entry) -> Entry:
        entry = forge(entry)
        totals[entry.account] = totals.get(entry.account, ZERO).plus(entry.amounts)
        return replace(entry, totals=totals[entry.account])

    async with runtime.database.write() as connection:
        await disarm(connection)
        head = await rewrite(connection, change)
        stored = await read_stored(connection)
        assert stored.signed is not None
        await sign_stored(connection, runtime.notary.keys.signing.sign_head(stored.signed.ledger, head, 1))
        account = (await lock_accounts(connection, [dataset]))[dataset]
        values = account_values(replace(account, spent=totals[dataset]))
        await connection.execute(accounts.update().where(accounts.c.id == dataset).values(values))
    return (await verify_ledger(runtime)).reason


FORGERIES: dict[str, Any] = {
    "below the cost": lambda entry: replace(
        entry, amounts=replace(entry.amounts, pure_nano=entry.amounts.pure_nano * 3 // 2)
    ),
    "one order below the cost": lambda entry: replace(
        entry,
        amounts=replace(
            entry.amounts, curve_nano=(*entry.amounts.curve_nano[:-1], entry.amounts.curve_nano[-1] * 3 // 2)
        ),
    ),
    "another release": lambda entry: replace(entry, release="rel_other"),
}


async def refused(runtime: Runtime, world: World, name: str) -> None:
    await check_ledger_on_start(runtime)
    dataset = await world.dataset()
    await charged(runtime, dataset, "rel_old")
    await apply(runtime, dataset)

    def forge(entry: Entry) -> Entry:
        found: Entry = FORGERIES[name](entry) if entry.kind == "recost" else entry
        return found

    assert await forged(runtime, dataset, forge) == "wrong_recost"
    verdict = verify_export(await exported(runtime))
    assert (verdict.ok, verdict.reason, verdict.first_bad_sequence) == (False, "wrong_recost", 4)


async def test_a_line_that_lowers_below_the_cost_is_refused_here_and_offline(runtime: Runtime, world: World) -> None:
    await refused(runtime, world, "below the cost")


@POSTGRES_DEEP
@pytest.mark.parametrize("name", [name for name in FORGERIES if name != "below the cost"])
async def test_a_tampered_recost_line_is_refused_here_and_offline(runtime: Runtime, world: World, name: str) -> None:
    await refused(runtime, world, name)


@POSTGRES_DEEP
@pytest.mark.parametrize("bounds", [BOUNDS + 1, deep(0), deep("1"), None])
async def test_a_recost_under_bounds_nobody_knows_is_refused(runtime: Runtime, world: World, bounds: Any) -> None:
    dataset = await world.dataset()
    await charged(runtime, dataset, "rel_old")
    await apply(runtime, dataset)

    def forge(entry: Entry) -> Entry:
        if entry.kind != "recost":
            return entry
        return replace(entry, event=canonical_json(json.loads(entry.event) | {"bounds": bounds}))

    assert await forged(runtime, dataset, forge) == "malformed_event"


@POSTGRES_DEEP
async def test_a_reason_and_an_account_that_exists_are_asked_for(runtime: Runtime, world: World) -> None:
    dataset = await world.dataset()
    with pytest.raises(InvalidInput, match="reason"):
        await apply(runtime, dataset, "because")
    with pytest.raises(NotFound):
        await apply(runtime, "ds_nobody")
