"""Releases of statistics that came without rows: charged before they are opened, once a plan, gone after the draw."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from app.errors import Conflict, DataMissing, InvalidInput, InvalidSchema, InvalidStatistics, StatisticsUsed
from app.services.datasets.change_dataset import change_dataset
from app.services.reading.read_card import read_card
from app.services.releases.cancel_release import cancel_release
from app.services.releases.read_releases import read_release
from app.services.releases.run_release import run_next_release
from app.services.releases.sealed_statistics import LIFE_US, OPEN_MAX
from app.sources.vouched.sealing_key import SealingKey
from app.storage.vouched.sealing_plans import StoredPlan, insert_plan
from tests.attacks.dumps import stored_values
from tests.conftest import POSTGRES_DEEP, Backend
from tests.services.clockwork import Clockwork
from tests.services.sealing import CURED, PEOPLE, asked_for, planned, sealed, source_of, without_rows
from tests.services.world import (
    World,
    kinds_of,
    new_world,
    services,
    settings_for,
    upload_files,
)

CHARGED, UNCHARGED = ["open", "reserve", "commit"], ["open"]


async def test_what_was_sealed_is_charged_drawn_and_gone(world: World, backend: Backend) -> None:
    dataset = await without_rows(world)
    plan = await planned(world, dataset)
    body = sealed(plan)
    requested = await world.request(dataset, source=source_of(body), key="once")
    assert await world.kinds(dataset) == ["open", "reserve"]
    (kept,) = upload_files(world.runtime)
    assert kept.read_bytes() == body
    assert kept.stat().st_mode & 0o777 == 0o600
    await world.work()
    assert (await world.release(requested.id)).status == "published"
    assert await world.kinds(dataset) == CHARGED
    assert upload_files(world.runtime) == []
    assert await world.verified()
    needles = (body, body[104:-8], source_of(body)["sealed"].encode(), hashlib.sha256(body).digest())
    for place, value in stored_values(backend):
        whole = value if isinstance(value, bytes) else str(value).encode()
        assert not any(needle in whole for needle in needles), place


async def test_the_card_says_who_vouches_to_everyone(world: World) -> None:
    dataset = await without_rows(world)
    release = await asked_for(world, dataset)
    await world.work()
    analyst = await world.buyer(dataset, release, 5)
    for reader in (world.boss, analyst):
        card = await read_card(world.runtime, principal=reader.who, release_id=release)
        (line,) = [line for line in card["lines"] if line["name"] == "vouched"]
        assert line["value"] == "steward"
        assert f"{PEOPLE} people" in line["text"]
    rows = await world.published(await world.dataset())
    card = await read_card(world.runtime, principal=world.boss.who, release_id=rows)
    assert "vouched" not in {line["name"] for line in card["lines"]}


@POSTGRES_DEEP
async def test_the_same_numbers_are_drawn_from_whether_they_were_sealed_or_uploaded(world: World) -> None:
    """With the same random bytes: the very same samples."""
    bytes_of = lambda count: bytes(count)  # noqa: E731 - a generator that always says the same
    uploaded, elsewhere = await world.dataset(), await without_rows(world)
    first = await world.request(uploaded)
    second = await asked_for(world, elsewhere)
    still = world.on(replace(world.runtime, random_bytes=bytes_of))
    await still.work()
    assert await world.samples(first.id) == await world.samples(second) is not None


def garbled(body: bytes) -> bytes:
    changed = bytearray(body)
    changed[110] ^= 1
    return bytes(changed)


MALFORMED: dict[str, Callable[[bytes], Any]] = {
    "nothing": lambda body: None,
    "no base64": lambda body: {"kind": "statistics", "sealed": "%%%"},
    "not ascii": lambda body: {"kind": "statistics", "sealed": "é"},
    "empty": lambda body: source_of(b""),
    "cut": lambda body: source_of(body[:-1]),
    "longer": lambda body: source_of(body + b"\0"),
    "garbled": lambda body: source_of(garbled(body)),
    "another file": lambda body: source_of(bytes(len(body))),
}


@pytest.mark.parametrize("form", MALFORMED)
@POSTGRES_DEEP
async def test_what_has_not_the_form_is_refused_before_any_charge(world: World, form: str) -> None:
    dataset = await without_rows(world)
    source = MALFORMED[form](sealed(await planned(world, dataset)))
    with pytest.raises(InvalidStatistics):
        await world.request(dataset, **({} if source is None else {"source": source}))
    assert await world.kinds(dataset) == UNCHARGED
    assert upload_files(world.runtime) == []


@POSTGRES_DEEP
async def test_what_was_sealed_for_something_else_is_refused_before_any_charge(world: World) -> None:
    dataset, other = await without_rows(world), await without_rows(world, "other")
    plan, foreign = await planned(world, dataset), await planned(world, other)
    stranger = SealingKey("the secret of another service, for its statistics").public
    for body in (
        sealed(foreign),
        sealed(plan, public=stranger),
        sealed(plan, nonce=foreign.nonce),
        sealed(plan, nonce=bytes(16)),
        sealed(plan, digest=bytes(32)),
        sealed(plan, expires_us=plan.expires_us + 1),
        sealed(await planned(world, dataset, model={"family": "bernoulli", "column": "cured", "trim": 0.2})),
        sealed(await planned(world, dataset, samples=21)),
    ):
        with pytest.raises(InvalidStatistics):
            await world.request(dataset, source=source_of(body))
    assert await world.kinds(dataset) == UNCHARGED == await world.kinds(other)
    with pytest.raises(InvalidStatistics):
        await world.request(await world.dataset(), source=source_of(sealed(plan)))
    assert (await world.request(dataset, source=source_of(sealed(plan)))).status == "pending"


@POSTGRES_DEEP
async def test_a_plan_that_has_expired_is_refused_and_forgotten(backend: Backend, tmp_path: Path) -> None:
    time = Clockwork()
    async with services(settings_for(backend, tmp_path), **time.parts()) as runtime:
        world = await new_world(runtime)
        dataset = await without_rows(world)
        body = sealed(await planned(world, dataset))
        time.advance(LIFE_US / 1e6)
        for _ in range(2):
            with pytest.raises(InvalidStatistics, match="expired"):
                await world.request(dataset, source=source_of(body))
            await planned(world, dataset)
        assert await world.kinds(dataset) == UNCHARGED


async def test_a_plan_is_good_for_one_release_however_it_is_asked_for(world: World) -> None:
    dataset = await without_rows(world)
    plan = await planned(world, dataset)
    source = source_of(sealed(plan))
    first = await world.request(dataset, source=source, key="once")
    again = await world.request(dataset, source=source, key="once")
    assert again.id == first.id
    for body in (source, source_of(sealed(plan, (1, PEOPLE)))):
        with pytest.raises(StatisticsUsed):
            await world.request(dataset, source=body)
        with pytest.raises(StatisticsUsed):
            await world.request(dataset, source=body, key="another")
    await world.work()
    assert (await world.request(dataset, source=source, key="once")).id == first.id
    assert await world.kinds(dataset) == CHARGED


async def test_of_two_at_once_one_is_charged(world: World, second_runtime: Any) -> None:
    dataset = await without_rows(world)
    plan = await planned(world, dataset)
    bodies = [source_of(sealed(plan, (cured, PEOPLE))) for cured in range(6)]
    places = [world, world.on(second_runtime)]
    outcomes = await asyncio.gather(
        *(places[i % 2].request(dataset, source=body) for i, body in enumerate(bodies)), return_exceptions=True
    )
    assert sum(not isinstance(outcome, BaseException) for outcome in outcomes) == 1
    assert all(isinstance(outcome, StatisticsUsed) for outcome in outcomes if isinstance(outcome, BaseException))
    assert await world.kinds(dataset) == ["open", "reserve"]
    assert len(upload_files(world.runtime)) == 1


async def test_of_one_request_repeated_at_once_all_get_the_same_release(world: World, second_runtime: Any) -> None:
    dataset = await without_rows(world)
    source = source_of(sealed(await planned(world, dataset)))
    places = [world, world.on(second_runtime)] * 3
    found = await asyncio.gather(*(place.request(dataset, source=source, key="once") for place in places))
    assert len({view.id for view in found}) == 1
    assert await world.kinds(dataset) == ["open", "reserve"]
    assert len(upload_files(world.runtime)) == 1


IMPOSSIBLE: list[Sequence[int]] = [
    (-1, PEOPLE),
    (PEOPLE + 1, PEOPLE),
    (CURED, PEOPLE - 1),
    (CURED, PEOPLE + 1),
    (0, 2**62),
]


@pytest.mark.parametrize("numbers", IMPOSSIBLE)
@POSTGRES_DEEP
async def test_numbers_that_nobody_could_have_withdraw_and_the_charge_stands(
    world: World, numbers: Sequence[int]
) -> None:
    dataset = await without_rows(world)
    release = await asked_for(world, dataset, numbers)
    await world.work()
    assert (await world.release(release)).status == "withdrawn"
    assert await world.kinds(dataset) == CHARGED
    assert await world.samples(release) is None
    assert upload_files(world.runtime) == []


@POSTGRES_DEEP
async def test_analysts_see_the_same_of_every_end(backend: Backend, tmp_path: Path) -> None:
    """A seal that does not open, numbers that cannot be, and good ones: the same fields, and all at the public moment."""
    time = Clockwork()
    settings = settings_for(backend, tmp_path, publication_tick_s=0.5, publication_pace=1.0)
    async with services(settings, **time.parts()) as runtime:
        world = await new_world(runtime)
        ends, seen = [], []
        for name, change in (("good", {}), ("impossible", {"numbers": (PEOPLE + 1, PEOPLE)}), ("damaged", {})):
            dataset = await without_rows(world, name)
            plan = await planned(world, dataset)
            body = sealed(plan, **change)
            requested = await world.request(dataset, source=source_of(tag_broken(body) if name == "damaged" else body))
            analyst = await world.person("analyst", name)
            await world.cap(dataset, analyst)
            pending = await read_release(runtime, principal=analyst.who, release_id=requested.id)
            assert pending.status == "pending"
            began_us = time.now_us
            assert await run_next_release(runtime)
            shown = await read_release(runtime, principal=analyst.who, release_id=requested.id)
            lines = [entry for entry in await world.entries(dataset) if entry.release == requested.id]
            ends.append(lines[-1].at_us - began_us)
            seen.append(shown)
        assert len(set(ends)) == 1, ends
        assert [shown.status for shown in seen] == ["published", "withdrawn", "withdrawn"]
        same = {"id": "", "dataset": "", "created_us": 0}
        assert replace(seen[1], **same) == replace(seen[2], **same)
        assert replace(seen[0], **same, status="withdrawn", published_us=None) == replace(seen[1], **same)


def tag_broken(body: bytes) -> bytes:
    """With the form of a good one."""
    changed = bytearray(body)
    changed[-9] ^= 1
    return bytes(changed[:-8]) + hashlib.sha256(changed[:-8]).digest()[:8]


@POSTGRES_DEEP
async def test_a_key_that_was_changed_meanwhile_gives_the_charge_back(world: World) -> None:
    dataset = await without_rows(world)
    release = await asked_for(world, dataset)
    changed = replace(
        world.runtime, sealing_key=lambda: SealingKey("a secret that was made after the old one was lost")
    )
    await world.on(changed).work()
    assert (await world.release(release)).status == "withdrawn"
    assert await world.kinds(dataset) == ["open", "reserve", "void"]
    assert upload_files(world.runtime) == []


@POSTGRES_DEEP
async def test_a_cancelled_release_gives_its_charge_back_and_its_plan_stays_used(world: World) -> None:
    dataset = await without_rows(world)
    source = source_of(sealed(await planned(world, dataset)))
    requested = await world.request(dataset, source=source)
    await cancel_release(world.runtime, steward=world.steward, release_id=requested.id)
    assert await world.kinds(dataset) == ["open", "reserve", "void"]
    assert upload_files(world.runtime) == []
    with pytest.raises(StatisticsUsed):
        await world.request(dataset, source=source)


async def test_the_database_itself_keeps_a_plan_used(world: World) -> None:
    dataset = await without_rows(world)
    await asked_for(world, dataset)
    for statement in (
        "UPDATE sealing_plans SET release_id = NULL, sealed_name = NULL",
        "UPDATE sealing_plans SET sealed_name = 'another'",
        "UPDATE sealing_plans SET expires_us = expires_us + 1",
        "DELETE FROM sealing_plans",
    ):
        with pytest.raises((IntegrityError, Exception), match="plan"):
            async with world.runtime.database.write() as connection:
                await connection.execute(text(statement))


@POSTGRES_DEEP
async def test_a_dataset_without_rows_says_what_an_upload_would_have_said(world: World) -> None:
    with pytest.raises(InvalidInput, match="n:"):
        await without_rows(world, n=None)
    with pytest.raises(InvalidSchema, match="public"):
        await without_rows(world, columns={"arm": {"type": "categorical", "levels": ["a", "b"], "public": True}})
    dataset = await without_rows(world)
    with pytest.raises(InvalidInput):
        await world.upload(dataset, b"cured\n1\n")
    plan = await planned(world, dataset)
    wider = {"columns": {"cured": {"type": "binary"}, "days": {"type": "real", "lower": 0, "upper": 9}}}
    changed = await change_dataset(world.runtime, steward=world.steward, dataset_id=dataset, spec=wider)
    assert (changed.n, changed.data) == (PEOPLE, "ready")
    with pytest.raises(InvalidStatistics):
        await world.request(dataset, source=source_of(sealed(plan)))
    assert [list(change["fields"][0]) for change in changed.changes]


@POSTGRES_DEEP
async def test_plans_are_for_datasets_without_rows_and_not_without_end(world: World) -> None:
    with pytest.raises(Conflict):
        await planned(world, await world.dataset())
    dataset = await without_rows(world)
    async with world.runtime.database.write() as connection:
        for number in range(OPEN_MAX):
            await insert_plan(connection, StoredPlan(number.to_bytes(16, "big"), dataset, 0, 2**62))
    with pytest.raises(Conflict, match="plans"):
        await planned(world, dataset)
    assert await world.kinds(dataset) == UNCHARGED


@pytest.mark.deep
async def test_several_rows_a_person_are_taken_up_to_their_limit(world: World) -> None:
    people = 40
    dataset = await without_rows(world, n=people, privacy_unit={"column": "person", "max_rows": 3})
    changes = {"mechanism": {"kind": "baps", "samples": 1, "temperature": 0.1}}
    for rows, status in ((2 * people, "published"), (3 * people + 1, "withdrawn"), (people - 1, "withdrawn")):
        plan = await planned(world, dataset, **changes)
        requested = await world.request(dataset, source=source_of(sealed(plan, (7, rows))), **changes)
        await world.work()
        assert (await world.release(requested.id)).status == status


@pytest.mark.deep
async def test_the_counts_of_a_check_of_fit_come_sealed_too(world: World) -> None:
    asked: dict[str, Any] = {
        "model": {"family": "poisson", "column": "visits"},
        "check": {"epsilon": 0.5},
        "mechanism": {"kind": "laplace", "samples": 20, "epsilon": 2.0},
    }
    people = 40
    visits = {"visits": {"type": "integer", "lower": 0, "upper": 4}}
    dataset = await without_rows(world, n=people, columns=visits)
    for counted, status in ((people, "published"), (people - 1, "withdrawn")):
        plan = await planned(world, dataset, **asked)
        numbers = [0, people, counted, *([0] * (plan.size - 3))]
        requested = await world.request(dataset, source=source_of(sealed(plan, numbers)), **asked)
        await world.work()
        assert (await world.release(requested.id)).status == status


async def test_a_file_that_is_lost_before_anything_was_read_gives_the_charge_back(world: World) -> None:
    dataset = await without_rows(world)
    release = await asked_for(world, dataset)
    (kept,) = upload_files(world.runtime)
    kept.unlink()
    await world.work()
    assert kinds_of(await world.entries(dataset), release) == ["reserve", "void"]


@POSTGRES_DEEP
async def test_an_archived_dataset_takes_no_statistics(world: World) -> None:
    dataset = await without_rows(world)
    source = source_of(sealed(await planned(world, dataset)))
    await change_dataset(world.runtime, steward=world.steward, dataset_id=dataset, spec={"archived": True})
    with pytest.raises(DataMissing):
        await world.request(dataset, source=source)
