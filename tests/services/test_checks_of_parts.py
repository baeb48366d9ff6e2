"""Checks of fit of some of several models: charged with their parts, and read by who has a right to them."""

import json
from typing import Any

import pytest

from app.errors import AccessRequired, CheckNotBought, CheckNotOffered, InvalidInput
from app.services.ledger.recost_ledger import recost_ledger
from app.services.reading.read_card import read_card
from app.services.reading.read_check import read_check
from app.services.releases.buy_access import buy_access
from app.services.releases.read_releases import read_release
from tests.conftest import POSTGRES_DEEP
from tests.services.test_several_models import (
    BOTH,
    BUDGET,
    COLUMNS,
    DRAWS,
    NETWORK,
    RATE,
    TABLES,
    asked,
    capped,
    codes,
    parameter,
    several,
    trial,
)
from tests.services.world import World


@POSTGRES_DEEP
async def test_a_part_has_a_check_of_its_own_that_its_readers_pay_for(world: World):
    parts = [BOTH[0], BOTH[1] | {"check": {"epsilon": 0.5}}]
    dataset, release = await several(world, parts)
    plain = await world.published(dataset, model=None, mechanism=None, models=BOTH)
    view = await read_release(world.runtime, principal=world.steward, release_id=release)
    assert (view.check, [part["check"] for part in view.models or []]) == (
        None,
        [None, {"epsilon": 0.5, "delta": None}],
    )
    checked, unchecked = [line.amounts for line in await world.entries(dataset) if line.kind == "reserve"]
    assert 0 < checked.pure_nano - unchecked.pure_nano <= 500_000_001

    call: dict[str, Any] = {"runtime": world.runtime, "release_id": release}
    found = json.loads((await read_check(**call, reader=world.steward, part="calls")).body)
    assert (found["part"], found["verdict"], found["quantity"]) == ("calls", "doubtful", "visits")  # they hardly vary
    with pytest.raises(CheckNotBought):
        await read_check(**call, reader=world.steward, part="cured")
    with pytest.raises(InvalidInput, match="one of cured, calls"):
        await read_check(**call, reader=world.steward)
    assert "model_doubtful" in codes(await asked(world, release, {"estimand": parameter("calls.rate")}))
    ratio = {"kind": "expression", "expression": "`calls.rate` / `cured.theta`"}
    doubt = next(
        each for each in (await asked(world, release, {"estimand": ratio}))["warnings"] if "doubt" in each["code"]
    )
    assert "calls: " in doubt["detail"]

    ann = await capped(world, dataset)
    await buy_access(**call, analyst=ann.analyst, samples=5, part="cured")
    with pytest.raises(AccessRequired, match="calls"):
        await read_check(**call, reader=ann.reader, part="calls")
    spent = (await buy_access(**call, analyst=ann.analyst, samples=5, part="calls")).charged.pure_epsilon or 0
    assert spent == pytest.approx(1.5, abs=1e-6)
    assert json.loads((await read_check(**call, reader=ann.reader, part="calls")).body) == found
    card = await read_card(world.runtime, principal=world.steward, release_id=release)
    assert [line.get("part") for line in card["lines"] if line["name"] == "check"] == ["calls"]
    recoster, lines = await recost_ledger(world.runtime)
    assert recoster.counts["exact"] == len(lines) == 2 + 2
    assert await world.verified()
    assert plain != release


async def test_a_release_of_many_numbers_or_a_check_of_a_part_that_has_none_is_refused_before_it_is_charged(
    world: World,
):
    dataset = await world.dataset(columns=COLUMNS, data=trial(), budget=BUDGET)
    large = [{"name": f"p{place}", "model": NETWORK, "mechanism": TABLES | {"samples": 65_536}} for place in range(16)]
    wide = NETWORK | {"nodes": {"visits": {}, "old": {"parents": ["visits"]}, "cured": {"parents": ["visits", "old"]}}}
    for parts, refusal, field in (
        ([each | {"model": wide} for each in large], InvalidInput, "models"),
        ([BOTH[1], {"model": RATE, "mechanism": DRAWS, "check": {"epsilon": 1.0}}], CheckNotOffered, "models.1.check"),
    ):
        with pytest.raises(refusal) as refused:
            await world.request(dataset, model=None, mechanism=None, models=parts)
        assert refused.value.problems[0].field == field
    assert await world.kinds(dataset) == ["open"]
