"""The steward's side through the client, against a real service: declare, upload, cap, release, audit."""

import gzip
import io
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.feather
import pytest

from postern.client import (
    BudgetExhausted,
    Conflict,
    InvalidInput,
    Misconfigured,
    NotAllowed,
    NotAuthenticated,
    WaitedTooLong,
)
from tests.client.conftest import Opener
from tests.client.served_place import BAPS, COLUMNS, MODEL, PEOPLE, Trial, csv_bytes, rows


def fresh(steward: Any, **changes: Any) -> Any:
    return steward.create_dataset(f"ward {uuid.uuid4()}", COLUMNS, **{"epsilon": 3.0, "delta": 1e-6} | changes)


def frame() -> pandas.DataFrame:
    found = pandas.DataFrame(rows(), columns=list(COLUMNS))
    return found.assign(cured=found["cured"] == "1", visits=found["visits"].astype(int))


class Unseekable(io.RawIOBase):
    """Bytes that come by once, as from a pipe."""

    def __init__(self, data: bytes) -> None:
        self._rest = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._rest.read(size)

    def seekable(self) -> bool:
        return False


def test_rows_arrive_from_every_place_they_may_be_in(steward: Any, tmp_path: Path) -> None:
    dataset = fresh(steward)
    (tmp_path / "rows.csv").write_bytes(csv_bytes())
    frame().to_parquet(tmp_path / "rows.parquet", index=False)
    given: list[tuple[Any, str | None]] = [
        (tmp_path / "rows.csv", None),
        (str(tmp_path / "rows.parquet"), None),
        (csv_bytes(), None),
        (io.BytesIO(csv_bytes()), "text/csv"),
        (Unseekable(csv_bytes()), "text/csv"),
        (frame(), None),
        (polars.from_pandas(frame()), None),
        (pyarrow.Table.from_pandas(frame(), preserve_index=False), None),
        (tmp_path / "rows.csv.gz", None),
        (gzip.compress(csv_bytes()), None),
        (tmp_path / "rows.feather", None),
    ]
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(csv_bytes()))
    pyarrow.feather.write_feather(frame(), tmp_path / "rows.feather")
    assert steward.upload(dataset, csv_bytes().replace(b",", b";"), check=True, separator="semicolon").stored is False
    assert steward.dataset(dataset.id).data == "none"
    for data, kind in given:
        assert steward.upload(dataset, data, content_type=kind).people == PEOPLE
    assert steward.dataset(dataset.id).data == "ready"
    for data in (tmp_path / "rows.txt", io.BytesIO(b""), 3):
        with pytest.raises(Misconfigured):
            steward.upload(dataset, data)


def test_a_bad_cell_is_named_by_line_and_column(steward: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        steward.upload(fresh(steward), csv_bytes() + b"maybe,drug,1\n")
    (row,) = refused.value.rows
    assert (row.line, row.column) == (PEOPLE + 2, "cured")
    (fault,) = refused.value.columns
    assert (fault.column, fault.cells, fault.lines) == ("cured", 1, (PEOPLE + 2,))
    assert fault.text == refused.value.detail
    assert refused.value.code == "invalid_rows"


def test_a_plan_comes_back_ready_to_be_requested(steward: Any) -> None:
    mechanism = {"kind": "baps", "temperature": 0.5}
    plan = steward.plan(MODEL, mechanism, n=PEOPLE, target={"epsilon": 1.0, "delta": 1e-6})
    assert plan.target is not None
    assert plan.target.fits
    assert plan.cost.epsilon <= 1.0
    dataset = fresh(steward)
    steward.upload(dataset, csv_bytes())
    seen: list[str] = []
    release = steward.request_release(
        dataset, plan.model, plan.mechanism, timeout_s=60, on_progress=lambda facts, _: seen.append(facts.status)
    )
    assert seen[-1] == release.status == "published"
    assert release.cost.epsilon == pytest.approx(plan.cost.epsilon)
    assert f"ε = {release.cost.epsilon:.6g}" in str(release)
    assert release.refresh().facts == release.facts
    with pytest.raises(BudgetExhausted) as refused:
        steward.request_release(dataset, MODEL, {"kind": "baps", "samples": 500, "temperature": 1.0}, force=True)
    assert refused.value.facts


def test_a_plan_by_accuracy_and_one_for_several_models_name_what_to_request(steward: Any) -> None:
    plan = steward.plan(MODEL, n=PEOPLE, target={"half_width": 0.05})
    assert plan.target.half_width == 0.05
    assert plan.precision.half_width <= 0.0502
    assert plan.release == {"model": plan.model, "mechanism": plan.mechanism}
    dataset = fresh(steward)
    models = [{"model": MODEL, "target": {"half_width": 0.05}}, {"model": MODEL}]
    shared = steward.plan_together(models, n=PEOPLE, account=dataset)
    assert shared.reached
    assert shared.account == dataset.id
    assert shared.spent_epsilon <= 3.0
    assert [part.target is None for part in shared.models] == [False, True]


def test_waiting_ends_when_told(steward: Any) -> None:
    dataset = fresh(steward)
    steward.upload(dataset, csv_bytes())
    with pytest.raises(WaitedTooLong) as late:
        steward.request_release(dataset, MODEL, BAPS, timeout_s=0.0)
    release = steward.release(late.value.release).wait(timeout_s=60)
    assert release.status == "published"


def test_listings_run_over_all_their_pages(steward: Any, trial: Trial) -> None:
    made = {fresh(steward).id for _ in range(3)}
    everything = [dataset.id for dataset in steward.datasets(page_size=2)]
    assert made | {trial.dataset} <= set(everything)
    assert len(everything) == len(set(everything))
    assert [d.id for d in steward.datasets()] == everything
    releases = {release.id for release in steward.releases(trial.dataset, page_size=1)}
    assert {trial.release, trial.network} <= releases
    assert trial.analyst in {analyst.id for analyst in steward.analysts(page_size=1)}
    entries = list(steward.ledger(trial.dataset, page_size=2))
    assert [entry.sequence for entry in entries] == sorted(entry.sequence for entry in entries)
    assert {"reserve", "commit"} <= {entry.kind for entry in entries}


def test_people_keys_and_caps(opened: Opener, steward: Any, trial: Trial) -> None:
    analyst = steward.create_analyst(f"Ida {uuid.uuid4()}")
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    key = steward.create_key(analyst, "laptop", expires_at=tomorrow)
    assert key.expires_at == tomorrow
    with pytest.raises(Misconfigured, match="zone"):
        steward.create_key(analyst, "x", expires_at=datetime(2030, 1, 1))  # noqa: DTZ001
    cap = steward.set_cap(trial.dataset, analyst, epsilon=5.0, delta=1e-6)
    assert cap.budget is not None
    reader = opened(trial.place.url, key.token)
    me = reader.me()
    assert (me.id, me.caps[0].dataset) == (analyst.id, trial.dataset)
    access = reader.release(trial.release).buy_access(3)
    assert access.samples == 3
    assert access.budget.spent_epsilon > 0
    assert reader.release(trial.release).buy_access(3).charged.epsilon == 0
    assert [found.id for found in reader.public_datasets()] == [trial.dataset]
    with pytest.raises(NotAllowed):
        list(reader.analysts())
    assert [found.label for found in steward.keys(analyst)] == ["laptop"]
    steward.revoke_key(key)
    assert steward.keys(analyst)[0].revoked_at is not None
    with pytest.raises(NotAuthenticated) as refused:
        wait_for_refusal(reader)
    assert refused.value.code == "key_revoked"


def wait_for_refusal(reader: Any) -> None:
    """Within a second of the revocation, by promise; ten looks a second here."""
    from time import sleep

    for _ in range(30):
        reader.me()
        sleep(0.1)


def test_a_taken_name_is_a_conflict_and_the_same_request_again_is_not(steward: Any) -> None:
    name, key = f"twice {uuid.uuid4()}", str(uuid.uuid4())
    first = steward.create_dataset(name, COLUMNS, epsilon=1.0, delta=1e-6, idempotency_key=key)
    assert steward.create_dataset(name, COLUMNS, epsilon=1.0, delta=1e-6, idempotency_key=key) == first
    with pytest.raises(Conflict) as refused:
        steward.create_dataset(name, COLUMNS, epsilon=1.0, delta=1e-6)
    assert refused.value.code == "name_taken"


def test_the_ledger_verifies_and_its_head_is_the_newest_line(steward: Any) -> None:
    fresh(steward)
    verified, head = steward.verify_ledger(), steward.ledger_head()
    assert verified
    assert verified.head == head.digest
    assert head.signature


@pytest.mark.parametrize("name", ["", "..", "../ledger/head", "x/ledger", "x?limit=1", "x%2Fledger", "x y"])
def test_ids_cannot_become_other_addresses(steward: Any, name: str) -> None:
    with pytest.raises(Misconfigured, match="no id"):
        steward.dataset(name)
