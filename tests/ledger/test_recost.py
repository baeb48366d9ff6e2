"""A charge that is smaller than its own event costs is found, even if it was sealed and signed like any other."""

import json
from dataclasses import replace
from typing import Any

import pytest

from app.core.kinds import parse_model
from app.core.kinds.one_parameter import ONE_PARAMETER
from app.core.schema import parse_columns
from app.ledger.amounts import Amounts, prefix_charge
from app.ledger.canonical import columns_named, release_event
from app.ledger.entry import Entry
from app.ledger.hash_chain import GENESIS
from app.ledger.law_costs import cost_by_law
from app.ledger.recost import Recoster
from app.services.ledger.recost_ledger import recost_ledger
from app.services.ledger.verify_ledger import verify_ledger
from app.services.runtime.runtime import Runtime
from app.storage.ledger_book import _values
from app.storage.ledger_heads import read_stored, sign_stored
from app.storage.tables import accounts
from tests.attacks.tampering import disarm, rewrite
from tests.services.world import World

COLUMNS = {"cured": {"type": "binary"}, "days": {"type": "real", "lower": 0, "upper": 365}}
MODEL = {"family": "bernoulli", "column": "cured", "prior": {"alpha": 1.0, "beta": 1.0}, "trim": 0.05}
BAPS = {"kind": "baps", "samples": 20, "temperature": 1.0}
FACTS: dict[str, Any] = {"model": MODEL, "mechanism": BAPS, "n": 400, "unit_rows": 1}


def line(kind: Any, amounts: Amounts, event: str) -> Entry:
    return Entry(1, "ds_a", kind, "rel_1", amounts, amounts, event, "a", "r", 0, GENESIS.digest, b"")


@pytest.fixture(scope="module")
def whole() -> Amounts:
    """From the mechanism itself, as a request computes it."""
    cost = ONE_PARAMETER.parse_mechanism(BAPS).cost(parse_model(MODEL, parse_columns(COLUMNS)), 400, 1)
    return prefix_charge(cost.per_sample, 20, cost.once)


def outcome(amounts: Amounts, **changes: Any) -> str:
    event = release_event(**(FACTS | {"samples": 20, "columns": COLUMNS} | changes))
    found = Recoster().feed(line("reserve", amounts, event))
    assert found is not None
    return found.outcome


def test_an_honest_charge_is_exact(whole: Amounts) -> None:
    assert outcome(whole) == "exact"


@pytest.mark.parametrize("component", ["pure", "first order", "last order"])
def test_one_component_charged_too_little_is_a_fault(whole: Amounts, component: str) -> None:
    less = 10_000
    curve = list(whole.curve_nano)
    curve[0 if component == "first order" else -1] -= less if component != "pure" else 0
    pure = whole.pure_nano - (less if component == "pure" else 0)
    assert outcome(Amounts(pure, tuple(curve))) == "under_charged"


def test_a_charge_for_fewer_samples_people_or_rows_than_the_event_says_is_a_fault(whole: Amounts) -> None:
    assert outcome(whole, samples=21) == "under_charged"
    assert outcome(whole, n=20) == "under_charged"
    assert outcome(whole, unit_rows=2) == "under_charged"


def test_a_charge_above_is_reported_and_no_fault(whole: Amounts) -> None:
    assert outcome(whole.plus(whole)) == "over_charged"


def test_a_bound_that_was_searched_for_may_have_been_closer_then_by_what_searches_leave() -> None:
    """One order below by 2 % is no fault where the bound is certified and not exact; 4 % is."""
    nodes = {"cured": {"parents": [], "prior": {"concentration": [1.0, 1.0]}}, "ill": {"parents": ["cured"]}}
    model = {"family": "network", "nodes": nodes, "trim": 0.05, "splits": "tree"}
    columns = COLUMNS | {"ill": {"type": "binary"}}
    facts: dict[str, Any] = {"model": model, "columns": columns, "mechanism": BAPS | {"samples": 1}, "samples": 1}
    event = release_event(**(FACTS | facts))
    cost = cost_by_law(columns, json.loads(event))
    assert not isinstance(cost, str)
    assert cost.method.startswith("certified")
    due = prefix_charge(cost.per_sample, 1, cost.once)
    for less, expected in ((0.98, "closer_then"), (0.96, "under_charged")):
        charged = Amounts(due.pure_nano, (int(due.curve_nano[0] * less), *due.curve_nano[1:]), due.slack_atto)
        assert outcome(charged, **facts) == expected


def test_a_unit_of_rounding_is_no_fault(whole: Amounts) -> None:
    assert outcome(Amounts(whole.pure_nano - 1, whole.curve_nano)) == "exact"


@pytest.mark.parametrize(
    "event",
    [
        release_event(**FACTS, samples=20),
        "{}",
        "[]",
        "{",
        release_event(**(FACTS | {"mechanism": {"kind": "telepathy"}}), samples=20, columns=COLUMNS),
        json.dumps({"columns": 3, "model": MODEL, "mechanism": BAPS, "n": 4, "unit_rows": 1, "samples": 1, "held": 0}),
    ],
)
def test_an_event_that_cannot_be_computed_again_is_no_fault(whole: Amounts, event: str) -> None:
    found = Recoster().feed(line("reserve", whole, event))
    assert found is not None
    assert (found.outcome, bool(found.why)) == ("not_recomputable", True)


def test_only_the_columns_a_model_names_are_kept() -> None:
    assert columns_named(MODEL, COLUMNS) == {"cured": {"type": "binary"}}
    assert columns_named({"nodes": {"days": {"parents": ["cured"]}}}, COLUMNS) == COLUMNS
    assert columns_named({}, COLUMNS) == COLUMNS


async def test_an_under_charge_sealed_and_signed_with_the_real_key_is_found(runtime: Runtime, world: World) -> None:
    """What only an insider can do: chain, sums, rules and signature are perfect, the charge is not."""
    dataset = await world.dataset()
    release = await world.published(dataset, samples=6)
    await world.buyer(dataset, release, 4)
    recoster, found = await recost_ledger(runtime)
    assert [each.outcome for each in found] == ["exact", "exact"]
    assert all(each.charged_epsilon == each.computed_epsilon and each.law == 2 for each in found)
    cheap: dict[str, Amounts] = {}

    def forge(entry: Entry) -> Entry:
        if entry.kind == "reserve":
            cheap["spent"] = halved(entry.amounts)
            entry = replace(entry, amounts=cheap["spent"])
        return replace(entry, totals=cheap["spent"]) if entry.account == dataset and "spent" in cheap else entry

    async with runtime.database.write() as connection:
        await disarm(connection)
        head = await rewrite(connection, forge)
        stored = await read_stored(connection)
        assert stored.signed is not None
        await sign_stored(connection, runtime.notary.keys.signing.sign_head(stored.signed.ledger, head, 1))
        spent = _values(line("reserve", cheap["spent"], "{}"))
        changed = {"spent_pure_nano": spent["pure_nano"], "spent_curve_nano": spent["curve_nano"]}
        await connection.execute(accounts.update().where(accounts.c.id == dataset).values(changed))
    assert (await verify_ledger(runtime)).ok
    recoster, found = await recost_ledger(runtime)
    assert (recoster.counts["under_charged"], [each.outcome for each in found]) == (1, ["under_charged", "exact"])
    assert found[0].release == release


def halved(amounts: Amounts) -> Amounts:
    return Amounts(amounts.pure_nano // 2, tuple(value // 2 for value in amounts.curve_nano))
