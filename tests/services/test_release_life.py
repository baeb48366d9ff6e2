"""A release from request to publication or withdrawal, its charge and its rows, on both backends."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.statistics.sums import ExactStatistic, StatisticRequest
from app.errors import BudgetExhausted, Conflict, DataMissing, PayloadTooLarge
from app.ledger.amounts import ZERO, Amounts, prefix_charge
from app.services.datasets.create_dataset import create_dataset
from app.services.datasets.upload_data import check_data, upload_data
from app.services.datasets.wipe_uploads import wipe_used_upload
from app.services.ledger.recover import recover_on_start
from app.services.releases import run_release
from app.services.releases.read_releases import read_release
from app.services.releases.run_release import ATTEMPTS_MAX, run_next_release
from app.services.releases.stored_release import cost_from_json
from app.services.runtime.runtime import Runtime
from app.sources.data_key import DataKey
from app.sources.sources import RowSource
from app.storage import datasets, releases
from tests.conftest import Backend
from tests.services.world import COLUMNS, World, kinds_of, new_world, rows, services, settings_for, upload_files

WIPED = {"kind": "upload", "retain": False}


class RaisingSource:
    """A source whose reading ends in an error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def statistic(self, request: StatisticRequest, hash_key: bytes) -> ExactStatistic:
        raise self._error


def read_from(monkeypatch: pytest.MonkeyPatch, source: object) -> None:
    def opened(*_: object, **__: object) -> RowSource:
        return source

    monkeypatch.setattr(run_release, "dataset_source", opened)


async def charge_of(world: World, release_id: str) -> Amounts:
    cost = cost_from_json((await world.release(release_id)).cost)
    return prefix_charge(cost.per_sample, cost.samples)


async def test_a_published_release_was_charged_once_before_it_was_drawn(world: World):
    dataset = await world.dataset()
    requested = await world.request(dataset)
    charge = await charge_of(world, requested.id)
    assert await world.kinds(dataset) == ["open", "reserve"]
    assert (await world.account(dataset)).spent == charge
    await world.work()
    assert await world.kinds(dataset) == ["open", "reserve", "commit"]
    assert (await world.account(dataset)).spent == charge
    assert (await world.release(requested.id)).status == "published"
    assert await world.verified()


async def test_a_refused_charge_never_reaches_the_sampler(world: World):
    dataset = await world.dataset(budget={"epsilon": 0.5, "delta": 1e-6})
    with pytest.raises(BudgetExhausted):
        await world.request(dataset, samples=20)
    assert not await run_next_release(world.runtime)
    assert await world.kinds(dataset) == ["open"]


async def test_rows_are_wiped_after_the_last_release_that_waited_for_them(world: World):
    dataset = await world.dataset(source=WIPED)
    first, second = await world.request(dataset), await world.request(dataset)
    assert await run_next_release(world.runtime)
    assert len(upload_files(world.runtime)) == 1
    assert await run_next_release(world.runtime)
    assert upload_files(world.runtime) == []
    assert {(await world.release(release.id)).status for release in (first, second)} == {"published"}
    with pytest.raises(DataMissing):
        await world.request(dataset)


async def test_retained_rows_stay(world: World):
    await world.published(await world.dataset())
    assert len(upload_files(world.runtime)) == 1


async def test_new_rows_keep_what_was_spent(world: World):
    dataset = await world.dataset(source=WIPED)
    await world.published(dataset)
    spent = (await world.account(dataset)).spent
    await world.upload(dataset, rows(ones=7))
    assert (await world.account(dataset)).spent == spent
    await world.published(dataset)
    assert (await world.account(dataset)).spent == spent.plus(spent)


async def test_a_failure_after_rows_were_read_keeps_the_charge(world: World, monkeypatch: pytest.MonkeyPatch):
    dataset = await world.dataset(source=WIPED)
    requested = await world.request(dataset)
    read_from(monkeypatch, RaisingSource(RuntimeError("a cell was 12345")))
    await world.work()
    found = await world.release(requested.id)
    assert (found.status, found.reason) == ("withdrawn", "failed after rows were read")
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "commit"]
    assert (await world.account(dataset)).spent == await charge_of(world, requested.id)
    assert await world.samples(requested.id) is None
    assert upload_files(world.runtime) == []
    assert await world.verified()


async def test_rows_found_unfit_while_reading_keep_the_charge(world: World, monkeypatch: pytest.MonkeyPatch):
    """That they no longer have the declared columns was learnt by reading them."""
    dataset = await world.dataset()
    requested = await world.request(dataset)
    read_from(monkeypatch, RaisingSource(DataMissing("the rows no longer have the declared columns")))
    await world.work()
    assert (await world.release(requested.id)).status == "withdrawn"
    assert (await world.account(dataset)).spent == await charge_of(world, requested.id)


async def test_rows_gone_before_they_were_read_take_the_charge_back_once(world: World):
    dataset = await world.dataset()
    requested = await world.request(dataset)
    for path in upload_files(world.runtime):
        path.unlink()
    await world.work()
    assert (await world.release(requested.id)).status == "withdrawn"
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "void"]
    assert (await world.account(dataset)).spent == ZERO
    assert not await run_next_release(world.runtime)
    assert await world.verified()


@pytest.mark.parametrize(("stage", "ending"), [("reserved", "void"), ("reading", "commit")])
async def test_a_release_that_fails_again_and_again_is_given_up(world: World, stage: str, ending: str):
    """Nothing read in any attempt: the charge comes back. Otherwise it stands."""
    dataset = await world.dataset()
    requested = await world.request(dataset)
    for attempt in range(ATTEMPTS_MAX):
        token = f"attempt {attempt}"
        async with world.runtime.database.write() as connection:
            claimed = await releases.claim_next(connection, now_us=world.runtime.clock(), token=token, lease_us=1)
            assert claimed is not None
            assert await releases.enter_stage(connection, requested.id, token, stage)
    await world.work()
    assert (await world.release(requested.id)).status == "withdrawn"
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", ending]
    assert ((await world.account(dataset)).spent == ZERO) == (ending == "void")
    assert await world.verified()


async def test_nobody_but_the_operator_learns_why_a_release_was_withdrawn(world: World):
    dataset = await world.dataset()
    requested = await world.request(dataset)
    for path in upload_files(world.runtime):
        path.unlink()
    await world.work()
    analyst = await world.person("analyst")
    await world.cap(dataset, analyst)
    view = await read_release(world.runtime, principal=analyst.who, release_id=requested.id)
    assert view.status == "withdrawn"
    assert "gone" not in repr(view)


async def test_an_upload_that_will_be_refused_is_refused_before_its_first_byte(world: World):
    """While a release waits, and where the length that was announced is above the limit: gigabytes would come for nothing."""
    dataset = await world.dataset()

    async def never() -> AsyncIterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    async def send(length: int | None = None) -> None:
        await upload_data(world.runtime, steward=world.steward, dataset_id=dataset, chunks=never(), length=length)

    for take in (upload_data, check_data):
        with pytest.raises(PayloadTooLarge):
            await take(
                world.runtime,
                steward=world.steward,
                dataset_id=dataset,
                chunks=never(),
                length=world.runtime.uploads.bytes_max + 1,
            )
    await world.request(dataset)
    with pytest.raises(Conflict, match="being drawn"):
        await send()
    await world.work()
    with pytest.raises(AssertionError, match="was read"):
        await send()


async def test_an_upload_still_waiting_for_its_first_release_survives_a_restart(world: World):
    dataset = await world.dataset(source=WIPED)
    await recover_on_start(world.runtime)
    assert len(upload_files(world.runtime)) == 1
    await world.published(dataset)


async def test_rows_whose_release_ended_in_a_process_that_died_are_wiped_at_the_next_start(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    dataset = await world.dataset(source=WIPED)

    async def died(*_: object) -> None:
        """The process is gone between the publication and the wiping."""

    monkeypatch.setattr(run_release, "wipe_used_upload", died)
    await world.published(dataset)
    assert len(upload_files(world.runtime)) == 1
    await recover_on_start(world.runtime)
    assert upload_files(world.runtime) == []


async def test_rows_uploaded_after_a_release_ended_are_not_wiped_with_its_own(world: World):
    """The upload comes between the publication and the wiping."""
    dataset = await world.dataset(source=WIPED)
    release = await world.release((await world.request(dataset)).id)
    await world.work()
    await world.upload(dataset, rows(ones=7))
    await wipe_used_upload(world.runtime, dataset, release.data_version)
    assert len(upload_files(world.runtime)) == 1
    await world.published(dataset)


async def test_a_file_below_a_root_is_released_and_one_that_went_away_is_not_charged(backend: Backend, tmp_path: Path):
    root = tmp_path / "roots"
    root.mkdir()
    (root / "trial.csv").write_bytes(rows())
    async with services(settings_for(backend, tmp_path, source_roots=(root,))) as runtime:
        world = await new_world(runtime)
        source = {"kind": "file", "path": "trial.csv"}
        spec = {"name": "file", "columns": COLUMNS, "budget": {"epsilon": 20.0, "delta": 1e-6}, "source": source}
        dataset = (await create_dataset(runtime, steward=world.steward, spec=spec)).id
        await world.published(dataset)
        spent = (await world.account(dataset)).spent
        assert (root / "trial.csv").read_bytes() == rows()
        requested = await world.request(dataset)
        (root / "trial.csv").unlink()
        await world.work()
        assert (await world.release(requested.id)).status == "withdrawn"
        assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "void"]
        assert (await world.account(dataset)).spent == spent
        assert await world.verified()


async def test_rows_sent_to_an_earlier_version_are_released_as_they_lie(world: World):
    """They were kept as they came, unsealed."""
    dataset = await world.dataset()
    with world.runtime.uploads.begin(dataset) as upload:
        upload.write(rows(ones=7))
        name = upload.finish()
    async with world.runtime.database.write() as connection:
        await datasets.set_data(connection, dataset, n=400, upload_name=name)
    await world.published(dataset)
    assert await world.kinds(dataset) == ["open", "reserve", "commit"]


async def test_rows_sealed_under_a_lost_key_take_the_charge_back_and_stay_as_they_are(world: World):
    dataset = await world.dataset()
    requested = await world.request(dataset)
    (sealed,) = upload_files(world.runtime)
    before = sealed.read_bytes()
    other = replace(world.runtime, data_key=lambda: DataKey("another secret of enough characters"))
    assert await run_next_release(other)
    assert (await world.release(requested.id)).status == "withdrawn"
    assert kinds_of(await world.entries(dataset), requested.id) == ["reserve", "void"]
    assert sealed.read_bytes() == before


async def test_every_process_of_an_installation_opens_what_another_sealed(world: World, second_runtime: Runtime):
    """The key is made once, outside the folder of uploads, for its owner alone."""
    dataset = await world.dataset()
    await world.request(dataset)
    await world.on(second_runtime).work()
    assert await world.kinds(dataset) == ["open", "reserve", "commit"]
    key = world.runtime.settings.data_dir / "data.key"
    assert key.stat().st_mode & 0o777 == 0o600
