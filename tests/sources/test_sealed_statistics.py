"""Statistics sealed beside the data: the numbers a worker would compute, bound to one plan, saying nothing by their form."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from app.core.statistics.whole_numbers import numbers_of
from app.errors import DataMissing, InvalidInput, InvalidRows, InvalidStatistics
from app.sources.files import UNDECLARED
from app.sources.uploads import UploadStore
from app.sources.vouched.beside_the_data import sealed_statistics
from app.sources.vouched.envelope import open_sealed, read_envelope, seal, sealed_bytes
from app.sources.vouched.plan import SealingPlan, plan_of, read_plan
from app.sources.vouched.sealed_source import SealedStatistics
from app.sources.vouched.sealing_key import SealingKey
from tests.sources.rows_under_test import KEY, MakeReader
from tests.sources.test_several_statistics import MODELS, SPECS, rows

SERVICE = SealingKey("a secret of the service, for statistics alone")
OTHER = SealingKey("the secret of another service, for its statistics")
PEOPLE = 100
SEVERAL = {"family": "several", "parts": [{"name": f"m{i}", "model": model} for i, model in enumerate(MODELS)]}
PLAN: dict[str, Any] = {
    "dataset": "ds_a",
    "columns": SPECS,
    "unit": None,
    "n": PEOPLE,
    "model": MODELS[0],
    "mechanism": {"kind": "laplace", "samples": 10, "epsilon": 1.0},
    "check": None,
    "nonce": bytes(range(16)),
    "expires_us": 1_800_000_000_000_000,
    "key": SERVICE.public,
}
HEADER_BYTES = sealed_bytes(0) - 24


def plan(**changes: Any) -> SealingPlan:
    return plan_of(**PLAN | changes)


@pytest.fixture
def made(tmp_path: Path) -> Any:
    """The seal of rows in a file, and nothing left of them."""

    def make(asked: SealingPlan, text: str | Path) -> bytes:
        file = text if isinstance(text, Path) else tmp_path / "rows.csv"
        if isinstance(text, str):
            file.write_text(text)
        store = UploadStore(tmp_path / "private")
        sealed, _ = sealed_statistics(asked, file, UNDECLARED, store, os.urandom)
        assert not list(store.root.iterdir())
        return sealed

    return make


def source(asked: SealingPlan, sealed: bytes, folder: Path, key: SealingKey = SERVICE) -> SealedStatistics:
    path = folder / "sealed"
    path.write_bytes(sealed)
    return SealedStatistics(lambda: path, asked, lambda: key)


def test_what_is_sealed_is_what_a_reading_of_the_same_rows_finds(
    made: Any, make_reader: MakeReader, tmp_path: Path
) -> None:
    asked = plan(model=SEVERAL)
    (request,) = asked.requests
    sealed = made(asked, rows())
    assert len(sealed) == sealed_bytes(asked.size)
    found = source(asked, sealed, tmp_path).statistic(request, KEY)
    expected = numbers_of(request, make_reader(dict(asked.columns)).read(rows(), request))
    assert numbers_of(request, found) == expected


def test_every_file_of_the_same_rows_seals_the_same_numbers(made: Any, tmp_path: Path) -> None:
    asked = plan(model=MODELS[1], check={"epsilon": 0.5})
    assert len(asked.requests) == 2
    whole = made(asked, rows())
    pq.write_table(pyarrow.csv.read_csv(tmp_path / "rows.csv"), tmp_path / "rows.parquet")
    lines = rows().splitlines()
    backwards = made(asked, "\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    for other in (made(asked, tmp_path / "rows.parquet"), backwards):
        assert open_sealed(other, asked.size, SERVICE) == open_sealed(whole, asked.size, SERVICE)
        assert other != whole, "two seals are never alike"


def test_the_form_of_a_seal_does_not_depend_on_the_rows(made: Any) -> None:
    asked = plan(columns={"cured": {"type": "binary"}})
    some, none = (made(asked, "cured\n" + f"{cured}\n" * PEOPLE) for cured in (1, 0))
    assert len(some) == len(none)
    shown = [replace(read_envelope(sealed, asked.size), sealer=b"") for sealed in (some, none)]
    assert shown[0] == shown[1]


def test_no_byte_can_be_changed(tmp_path: Path) -> None:
    """Most are told by the form; whoever repairs that is told by the tag, once it is opened."""
    asked = plan()
    sealed = sealed_for(asked, [0, PEOPLE])
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1
        with pytest.raises(InvalidStatistics):
            read_envelope(bytes(changed), asked.size)
        if place >= HEADER_BYTES - 32 and place < len(sealed) - 8:
            with pytest.raises(DataMissing):
                source(asked, repaired(bytes(changed)), tmp_path).statistic(asked.requests[0], KEY)
    for cut in (sealed[:-1], sealed + b"\0", b"", sealed[8:]):
        with pytest.raises(InvalidStatistics):
            read_envelope(cut, asked.size)


def repaired(sealed: bytes) -> bytes:
    import hashlib

    return sealed[:-8] + hashlib.sha256(sealed[:-8]).digest()[:8]


def test_another_key_opens_nothing(tmp_path: Path) -> None:
    asked = plan()
    found = source(asked, sealed_for(asked, [0, PEOPLE]), tmp_path, OTHER)
    assert not found.present()
    with pytest.raises(DataMissing):
        found.statistic(asked.requests[0], KEY)
    assert "private" in repr(SERVICE)


def test_a_key_of_low_order_agrees_with_nobody(tmp_path: Path) -> None:
    asked = plan()
    with pytest.raises(InvalidInput):
        seal(
            [0] * asked.size,
            public=bytes(32),
            nonce=asked.nonce,
            expires_us=1,
            digest=asked.digest,
            random_bytes=os.urandom,
        )
    sealed = bytearray(sealed_for(asked, [0] * asked.size))
    sealed[HEADER_BYTES - 32 : HEADER_BYTES] = bytes(32)
    with pytest.raises(DataMissing):
        source(asked, repaired(bytes(sealed)), tmp_path).statistic(asked.requests[0], KEY)


def sealed_for(asked: SealingPlan, numbers: list[int]) -> bytes:
    return seal(
        numbers,
        public=asked.key,
        nonce=asked.nonce,
        expires_us=asked.expires_us,
        digest=asked.digest,
        random_bytes=os.urandom,
    )


CHANGES: list[dict[str, Any]] = [
    {"dataset": "ds_b"},
    {"columns": SPECS | {"days": {"type": "real", "lower": 0, "upper": 51}}},
    {"unit": {"column": "id", "max_rows": 1}},
    {"n": PEOPLE + 1},
    {"model": MODELS[0] | {"trim": 0.25}},
    {"mechanism": {"kind": "laplace", "samples": 10, "epsilon": 2.0}},
    {"model": MODELS[1], "check": {"epsilon": 0.5}},
    {"nonce": bytes(16)},
    {"expires_us": 1_800_000_000_000_001},
    {"key": OTHER.public},
]


@pytest.mark.parametrize("change", CHANGES, ids=[[*change][-1] for change in CHANGES])
def test_a_seal_is_of_one_plan(tmp_path: Path, change: dict[str, Any]) -> None:
    asked, other = plan(), plan(**change)
    assert other.digest != asked.digest
    sealed = sealed_for(asked, [0, PEOPLE])
    assert source(asked, sealed, tmp_path).statistic(asked.requests[0], KEY).rows == PEOPLE
    with pytest.raises(DataMissing):
        source(other, sealed, tmp_path).statistic(other.requests[0], KEY)


@pytest.mark.parametrize("numbers", [[-1, PEOPLE], [PEOPLE + 1, PEOPLE], [0, PEOPLE - 1], [0, 2**62]])
def test_numbers_that_nobody_could_have_are_not_handed_on(tmp_path: Path, numbers: list[int]) -> None:
    asked = plan(columns={"cured": {"type": "binary"}})
    good, bad = (source(asked, sealed_for(asked, each), tmp_path) for each in ([0, PEOPLE], numbers))
    with pytest.raises(DataMissing):
        bad.statistic(asked.requests[0], KEY)
    assert bad.present(), "nothing is opened to find out whether something is there"
    assert good.key is not None


@pytest.mark.parametrize(("rows_a_person", "taken"), [(0.99, False), (1, True), (2, True), (3, True), (3.01, False)])
def test_several_rows_a_person_are_taken_up_to_their_limit(tmp_path: Path, rows_a_person: float, taken: bool) -> None:
    asked = plan(unit={"column": "id", "max_rows": 3})
    count = int(rows_a_person * PEOPLE)
    read = source(asked, sealed_for(asked, [7, count]), tmp_path).statistic
    if taken:
        assert read(asked.requests[0], KEY).rows == count
        return
    with pytest.raises(DataMissing):
        read(asked.requests[0], KEY)


def test_no_number_of_a_check_is_taken_without_the_others(tmp_path: Path) -> None:
    """A seal is taken whole: impossible counts of the check refuse the sum that stands before them."""
    asked = plan(model=MODELS[1], check={"epsilon": 0.5})
    for counted, taken in ((PEOPLE, True), (PEOPLE - 1, False)):
        found = source(asked, sealed_for(asked, [0, PEOPLE, counted, *([0] * (asked.size - 3))]), tmp_path)
        for request in asked.requests:
            if taken:
                assert found.statistic(request, KEY) is not None
            else:
                with pytest.raises(DataMissing):
                    found.statistic(request, KEY)


def test_rows_of_another_number_of_people_are_refused_where_they_are(made: Any) -> None:
    with pytest.raises(InvalidInput):
        made(plan(), rows(PEOPLE - 1))
    with pytest.raises(InvalidRows):
        made(plan(), rows() + "maybe,1,1,drug,a,1\n")


def test_a_plan_is_read_as_it_was_written() -> None:
    written = {
        "version": 1,
        "dataset": "ds_a",
        "columns": SPECS,
        "privacy_unit": None,
        "n": PEOPLE,
        "model": MODELS[0],
        "mechanism": PLAN["mechanism"],
        "check": None,
        "nonce": PLAN["nonce"].hex(),
        "expires_at": "2027-01-15T08:00:00.000000Z",
        "key": SERVICE.public.hex(),
        "numbers": 2,
    }
    assert read_plan(written).digest == plan().digest
    for change in (
        {"numbers": 3},
        {"version": 2},
        {"nonce": "0"},
        {"expires_at": "soon"},
        {"expires_at": "2027-01-15"},
        {"x": 1},
    ):
        with pytest.raises(InvalidStatistics):
            read_plan(written | change)
