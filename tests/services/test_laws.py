"""A release is drawn, and its cost computed again, by the law it was charged under."""

import json
from dataclasses import replace
from typing import Any

import pytest

from app.core.kinds import CURRENT_LAW, drawn_by, parse_mechanism, parse_model
from app.core.schema import parse_columns
from app.errors import BudgetExhausted, InvalidMechanism
from app.ledger.amounts import prefix_charge
from app.ledger.canonical import release_event
from app.ledger.posting import reserve_posting
from app.services.ledger.recost_ledger import recost_ledger
from app.services.releases.run_release import run_next_release
from app.services.releases.stored_release import cost_to_json, stored_law, stored_mechanism, stored_model
from app.storage import releases
from app.storage.accounts import lock_accounts
from app.storage.datasets import get_dataset
from app.storage.ledger_book import post
from app.storage.releases import Release
from tests.services.world import World

pytestmark = pytest.mark.engine_in_turn

COLUMNS = {"age": {"type": "real", "lower": 0, "upper": 100}, "score": {"type": "real", "lower": 0, "upper": 20}}
DATA = b"age,score\n" + b"".join(b"%d,%d\n" % (i % 90, i % 19) for i in range(300))
MEAN = {"family": "mvn_mean", "columns": ["age", "score"], "covariance": [[400.0, 0.0], [0.0, 4.0]]}
NOISE = {"kind": "perturbed_statistics", "samples": 8, "epsilon": 1.0, "delta": 1e-6}
EXACT = {"epsilon": 1.0, "delta": 1e-6}


async def waiting_since_law_one(world: World, dataset: str) -> Release:
    """As the version before left it: neither the row nor the line names a law, nor which filter it needs."""
    async with world.runtime.database.write() as connection:
        stored = await get_dataset(connection, dataset, lock=True)
        assert stored is not None
        model = parse_model(MEAN, parse_columns(stored.columns))
        mechanism = drawn_by(1, parse_mechanism(NOISE, model))
        cost = mechanism.cost(model, 300, 1)
        written = cost_to_json(cost)
        del written["law"], written["gaussian"]
        release = Release(
            id="rel_old",
            dataset_id=dataset,
            created_by=world.steward.id,
            model=model.as_json(),
            mechanism=mechanism.as_json(),
            cost=written,
            n=300,
            unit_rows=1,
            data_version=stored.data_version,
            created_us=world.runtime.clock(),
        )
        event = release_event(
            model=release.model, mechanism=release.mechanism, n=300, unit_rows=1, samples=8, columns=stored.columns
        )
        account = (await lock_accounts(connection, [dataset]))[dataset]
        charge = prefix_charge(cost.per_sample, 8, cost.once)
        await releases.insert_release(connection, release)
        await post(connection, reserve_posting(account, "rel_old", charge, event=event, actor="a", reason="r", at_us=1))
    return release


async def test_a_release_that_waited_through_an_update_is_drawn_by_its_own_law(world: World) -> None:
    dataset = await world.dataset(columns=COLUMNS, data=DATA, budget=EXACT)
    release = await waiting_since_law_one(world, dataset)
    async with world.runtime.database.read() as connection:
        stored = await get_dataset(connection, dataset)
    assert stored is not None
    mechanism: Any = stored_mechanism(release, stored_model(release, stored))
    assert (stored_law(release), mechanism.law) == (1, 1)
    assert await run_next_release(world.runtime)
    assert (await world.release("rel_old")).status == "published"
    _, (line,) = await recost_ledger(world.runtime)
    assert (line.law, line.outcome) == (1, "exact")
    assert await world.verified()


async def test_new_releases_name_the_current_law_in_row_and_line(world: World) -> None:
    dataset = await world.dataset(columns=COLUMNS, data=DATA, budget=EXACT)
    release = await world.release(await world.published(dataset, model=MEAN, mechanism=NOISE))
    assert stored_law(release) == CURRENT_LAW
    event = json.loads((await world.entries(dataset))[1].event)
    assert (event["law"], event["filter"]) == (CURRENT_LAW, "gaussian")
    account = await world.account(dataset)
    assert account.regime == "gaussian"
    with pytest.raises(BudgetExhausted):
        await world.request(dataset, model=MEAN, mechanism=NOISE | {"epsilon": 0.01})
    _, (line,) = await recost_ledger(world.runtime)
    assert (line.outcome, round(line.computed_epsilon or 0, 6)) == ("exact", 1.0)
    assert await world.verified()


def test_law_one_took_more_noise_and_the_cost_of_each_is_its_own() -> None:
    model = parse_model(MEAN, parse_columns(COLUMNS))
    now: Any = parse_mechanism(NOISE, model)
    then: Any = drawn_by(1, now)
    assert drawn_by(CURRENT_LAW, then) == now != then
    assert 1.05 < (now.cost(model, 300, 1).once.curve[3] / then.cost(model, 300, 1).once.curve[3]) ** 0.5 < 1.09
    with pytest.raises(InvalidMechanism):
        drawn_by(CURRENT_LAW + 1, now)
    drawn = parse_mechanism({"kind": "baps", "samples": 1, "temperature": 0.1}, model)
    assert replace(drawn) == drawn  # type: ignore[type-var]
