"""What is kept of an upload: the rows that count and no others, sealed, giving the very same integers."""

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from app.core.kinds import parse_model
from app.core.schema import Column, PrivacyUnit
from app.core.statistics import CountsRequest, MomentsRequest
from app.core.statistics.sums import StatisticRequest
from app.errors import DataMissing, UnsupportedFormat
from app.sources.data_key import DataKey
from app.sources.files.formats import sniff
from app.sources.kept_rows import check_and_keep
from app.sources.row_statistics import compute
from app.sources.sealed_files import CHUNK_BYTES, HEADER_BYTES, is_sealed, opens_with, seal, unseal
from app.sources.source_spec import SourceSpec
from app.sources.sources import SourceContext, open_source
from app.sources.uploads import UploadStore
from tests.sources.rows_under_test import Reader

UNUSED = bytes(32)
KEY, SALT = DataKey("a secret of thirty-two characters"), bytes(range(16))
UNIT = PrivacyUnit("patient", 2)


def table(size: int = 500, people: int = 90, seed: int = 3) -> dict[str, list[Any]]:
    chance = random.Random(seed)
    return {
        "patient": [f"heron-{chance.randrange(people)}" for _ in range(size)],
        "cured": [chance.randrange(2) for _ in range(size)],
        "arm": [chance.choice(["drug", "placebo", 'a "b", c']) for _ in range(size)],
        "days": [chance.choice([-1.5, -0.0, 0.1, 1e-300, chance.uniform(-1.5, 365)]) for _ in range(size)],
        "visits": [chance.randrange(-3, 41) for _ in range(size)],
    }


def kept(reader: Reader, path: Path, unit: PrivacyUnit = UNIT, key: DataKey = KEY) -> str:
    with reader.store.begin("ds_a", limited=False) as upload:
        check_and_keep(path, sniff(path), reader.columns, unit, None, upload, key, SALT, uploads=reader.store)
        return upload.finish()


def source_of(reader: Reader, name: str, unit: PrivacyUnit = UNIT, key: DataKey | None = KEY) -> Any:
    context = SourceContext(reader.columns, unit, reader.store, name, data_key=None if key is None else lambda: key)
    return open_source(SourceSpec("upload"), context)


def requests(columns: dict[str, Column]) -> list[Any]:
    network = parse_model({"family": "network", "nodes": {"cured": {}, "arm": {"parents": ["cured"]}}}, columns)
    linear = {
        "family": "linear_regression",
        "target": "days",
        "features": ["visits", "arm"],
        "noise_sd": 2.0,
        "radius": 4.0,
    }
    squares = StatisticRequest("days", "square", anchor=100.0, lower=0.0, upper=4e4, steps=1000)
    return [StatisticRequest("cured"), squares, network.statistic, parse_model(linear, columns).statistic]


def integers(found: Any) -> list[Any]:
    values = [getattr(found, name) for name in type(found).__dataclass_fields__]
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


@pytest.mark.parametrize("unit", [UNIT, PrivacyUnit()], ids=["two rows a person", "every row"])
def test_kept_columns_give_the_integers_the_file_gave(reader: Reader, unit: PrivacyUnit):
    rows = table()
    if unit.column is None:
        del rows["patient"]
    for path in reader.variants(rows, group=64):
        name = kept(reader, path, unit)
        for request in requests(reader.columns):
            assert isinstance(request, StatisticRequest | CountsRequest | MomentsRequest)
            plain = compute(
                path, sniff(path), reader.columns, unit, request, KEY.choice_key(SALT), uploads=reader.store
            )
            assert integers(source_of(reader, name, unit).statistic(request, os.urandom(32))) == integers(plain)


def test_no_more_rows_of_a_person_are_kept_than_count_and_no_ids_at_all(reader: Reader, tmp_path: Path):
    rows = table(people=7)
    rows["patient"] = [*rows["patient"][:50], *["heron-flood"] * (len(rows["patient"]) - 50)]
    name = kept(reader, reader.variants(rows)[0])
    unseal(reader.store.path(name), tmp_path / "opened", KEY)
    opened = pq.read_table(tmp_path / "opened")
    assert opened.num_rows == sum(min(2, rows["patient"].count(who)) for who in set(rows["patient"]))
    assert opened.num_columns == len(reader.columns)
    assert b"heron" not in (tmp_path / "opened").read_bytes()


def test_another_upload_of_the_same_rows_chooses_again(reader: Reader):
    path = reader.variants(table(size=2000, people=100))[0]
    totals = set()
    for place in range(5):
        with reader.store.begin("ds_a", limited=False) as upload:
            salt = bytes([place]) * 16
            check_and_keep(path, "csv", reader.columns, UNIT, None, upload, KEY, salt, uploads=reader.store)
            name = upload.finish()
        totals.add(source_of(reader, name).statistic(StatisticRequest("cured"), UNUSED).total)
    assert len(totals) > 1


def test_nothing_of_the_rows_can_be_read_without_the_key(reader: Reader):
    rows = table() | {"arm": ["placebo"] * 500, "days": [217.4091] * 500}
    name = kept(reader, reader.variants(rows)[0])
    stored = reader.store.path(name).read_bytes()
    for needle in (b"placebo", b"heron", b"217.4091", b"PAR1", np.float64(217.4091).tobytes()):
        assert needle not in stored
    assert reader.store.path(name).stat().st_mode & 0o777 == 0o600
    assert not list(reader.store.root.glob("*.spill")), "the columns were left in the open"
    for key in (DataKey("another secret of enough characters"), None):
        with pytest.raises(DataMissing):
            source_of(reader, name, key=key).statistic(StatisticRequest("cured"), UNUSED)
    assert opens_with(reader.store.path(name), KEY)
    assert not opens_with(reader.store.path(name), DataKey("another secret of enough characters"))


def damaged(sealed: bytes) -> dict[str, bytes]:
    size = CHUNK_BYTES + 16
    chunks = [sealed[start : start + size] for start in range(HEADER_BYTES, len(sealed), size)]
    header = sealed[:HEADER_BYTES]
    return {
        "cut to the header": header,
        "cut inside": sealed[:-1],
        "last chunk missing": header + b"".join(chunks[:-1]),
        "chunks exchanged": header + b"".join([chunks[1], chunks[0], *chunks[2:]]),
        "chunk twice": header + b"".join([chunks[0], *chunks]),
        "longer": sealed + b"x",
        "a bit flipped": sealed[:5000] + bytes([sealed[5000] ^ 1]) + sealed[5001:],
        "another salt": sealed[:9] + bytes([sealed[9] ^ 1]) + sealed[10:],
    }


def test_a_sealed_file_opens_whole_or_not_at_all(tmp_path: Path):
    (tmp_path / "plain").write_bytes(plain := random.Random(1).randbytes(2 * CHUNK_BYTES + 77))
    parts: list[bytes] = []
    seal(tmp_path / "plain", parts.append, KEY, SALT)
    sealed = tmp_path / "sealed"
    sealed.write_bytes(b"".join(parts))
    assert is_sealed(sealed)
    unseal(sealed, tmp_path / "opened", KEY)
    assert (tmp_path / "opened").read_bytes() == plain
    for what, body in damaged(b"".join(parts)).items():
        sealed.write_bytes(body)
        with pytest.raises(DataMissing):
            unseal(sealed, tmp_path / what, KEY)


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1])
def test_files_of_every_size_come_back(tmp_path: Path, size: int):
    (tmp_path / "plain").write_bytes(plain := bytes(size))
    with (tmp_path / "sealed").open("wb") as file:
        seal(tmp_path / "plain", file.write, KEY, SALT)
    unseal(tmp_path / "sealed", tmp_path / "opened", KEY)
    assert (tmp_path / "opened").read_bytes() == plain


def test_uploads_made_before_are_still_read(reader: Reader):
    path = reader.variants(table())[0]
    with reader.store.begin("ds_a") as upload:
        upload.write(path.read_bytes())
        name = upload.finish()
    for request in requests(reader.columns):
        found = source_of(reader, name).statistic(request, bytes(32))
        assert integers(found) == integers(reader.read(path, request, UNIT, bytes(32)))


def test_a_sealed_file_cannot_be_uploaded(reader: Reader, tmp_path: Path):
    name = kept(reader, reader.variants(table())[0])
    with pytest.raises(UnsupportedFormat):
        sniff(reader.store.path(name))


def test_the_choice_does_not_depend_on_the_order_of_rows_or_the_format(reader: Reader, store: UploadStore):
    rows = table(size=900, people=40)
    found = set()
    for seed in range(2):
        order = random.Random(seed).sample(range(900), 900)
        for path in reader.variants({name: [cells[i] for i in order] for name, cells in rows.items()}):
            name = kept(reader, path)
            found.add(tuple(map(str, integers(source_of(reader, name).statistic(requests(reader.columns)[1], UNUSED)))))
    assert len(found) == 1
