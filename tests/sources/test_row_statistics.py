"""Sums are exact and total, and depend on nothing but the set of rows."""

import hashlib
import random
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from app.core.schema import PrivacyUnit
from app.core.statistics.sums import StatisticRequest
from app.errors import DataMissing, InvalidModel, Unavailable
from app.sources.engine import Limits
from app.sources.row_statistics import compute
from tests.sources.rows_under_test import KEY, Reader

Record = tuple[str, int, str, float, int]
HEADER = "patient,cured,arm,days,visits\n"


def records(seed: int, size: int = 400, people: int = 60) -> list[Record]:
    source = random.Random(seed)
    return [
        (
            f"p{source.randrange(people)}",
            source.randrange(2),
            source.choice(["drug", "placebo"]),
            source.randrange(3650) / 10,
            source.randrange(-3, 41),
        )
        for _ in range(size)
    ]


def as_csv(rows: list[Record], end: str = "\n") -> bytes:
    body = (f"{who},{('false', 'true')[cured]},{arm},{days!r},{visits}" for who, cured, arm, days, visits in rows)
    return end.join([HEADER.strip(), *body, ""]).encode()


def as_parquet(rows: list[Record], path: Path, group: int = 64) -> Path:
    names = HEADER.strip().split(",")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    pq.write_table(table.select(names[::-1]), path, row_group_size=group)
    return path


def reference(rows: list[Record], max_rows: int) -> tuple[int, int]:
    """The rule of PRIVACY §1 by sorting in Python: the smallest keyed hashes of each person's rows."""

    def digest(row: Record) -> str:
        who, cured, arm, days, visits = row
        cells = sorted({"patient": who, "cured": cured, "arm": arm, "days": days, "visits": visits}.items())
        content = "".join(f"{len(str(cell))}:{cell}" for _, cell in cells)
        return hashlib.sha256((KEY.hex() + content).encode()).hexdigest()

    owned: dict[str, list[Record]] = {}
    for row in rows:
        owned.setdefault(row[0], []).append(row)
    kept = [row for mine in owned.values() for row in sorted(mine, key=digest)[:max_rows]]
    return sum(row[1] for row in kept), len(kept)


@pytest.mark.parametrize("max_rows", [1, 2, 5, 1000])
@pytest.mark.parametrize("seed", [1, 2])
def test_counted_rows_are_those_of_the_smallest_keyed_hash(reader: Reader, seed: int, max_rows: int) -> None:
    rows = records(seed)
    found = reader.sum(as_csv(rows), PrivacyUnit("patient", max_rows))
    assert (found.total, found.rows) == reference(rows, max_rows)


@pytest.mark.parametrize("max_rows", [1, 3])
def test_order_chunks_threads_and_format_change_nothing(reader: Reader, tmp_path: Path, max_rows: int) -> None:
    rows = records(3, size=3000, people=500)
    rows += rows[:40]
    unit = PrivacyUnit("patient", max_rows)
    wanted = reader.sum(as_csv(rows), unit)
    variants: list[bytes | Path] = []
    for seed in range(2):
        shuffled = rows.copy()
        random.Random(seed).shuffle(shuffled)
        variants.append(as_csv(shuffled, ("\n", "\r\n")[seed]))
        variants.append(as_parquet(shuffled, tmp_path / f"{seed}.parquet", group=(100, 10_000)[seed]))
    for variant in variants:
        for threads in (1, 4):
            assert reader.sum(variant, unit, limits=Limits(threads=threads)) == wanted


def test_sum_without_a_unit_is_the_plain_one_in_both_formats(reader: Reader, tmp_path: Path) -> None:
    rows = records(4, people=10**9)
    wanted = sum(row[1] for row in rows)
    csv = b"\n".join(line.partition(b",")[2] for line in as_csv(rows).splitlines())
    table = pq.read_table(as_parquet(rows, tmp_path / "p")).drop_columns("patient")
    pq.write_table(table, tmp_path / "q")
    for variant in (csv, tmp_path / "q"):
        found = reader.sum(variant)
        assert (found.total, found.rows) == (wanted, len(rows))


def test_another_key_chooses_other_rows(reader: Reader) -> None:
    rows = as_csv(records(5, size=2000, people=200))
    unit = PrivacyUnit("patient", 1)
    assert len({reader.sum(rows, unit, key=bytes([i]) * 32).total for i in range(5)}) > 1


def test_replacing_one_person_moves_the_sum_by_at_most_the_unit(reader: Reader) -> None:
    """Others' rows are chosen by their own content: nothing a person does changes who else counts."""
    rows = records(6, size=300, people=40)
    unit = PrivacyUnit("patient", 3)
    before = reader.sum(as_csv(rows), unit)
    for person in ("p1", "p2", "p3"):
        others = [row for row in rows if row[0] != person]
        alone = reader.sum(as_csv(others), unit)
        flooded = others + [(person, 1, "drug", float(day), 40) for day in range(100)]
        after = reader.sum(as_csv(flooded), unit)
        assert after.total == alone.total + 3
        assert after.rows == alone.rows + 3
        assert abs(after.total - before.total) <= 3


def test_reading_is_total_for_cells_that_were_never_allowed(reader: Reader) -> None:
    """Upload refuses these; should a file change afterwards, no value may stop a release."""
    cells = ["1", "true", "nan", "inf", "1e999", "", "2", "9" * 400, '"', '"1"', "TRUE", "-1"]
    rows = HEADER + "".join(f"p{i},{cell},x,nan,{'9' * 300}\n" for i, cell in enumerate(cells))
    rows += "short\n\n,,,,,,,\np1,1\n"
    for max_rows, total in ((1, 4), (1000, 5)):  # p1 has a second row at the end
        assert reader.sum(rows, PrivacyUnit("patient", max_rows)).total == total
    assert reader.sum(rows, PrivacyUnit("patient", 1000)).rows == len(cells) + 4


def test_large_sums_are_exact(reader: Reader, tmp_path: Path) -> None:
    size = 2**20 + 1
    table = {"cured": [1] * size, "arm": ["drug"] * size, "days": [1.0] * size, "visits": [1] * size}
    pq.write_table(pa.table(table), tmp_path / "p")
    assert reader.sum(tmp_path / "p") == reader.sum(tmp_path / "p", limits=Limits(threads=1))
    assert reader.sum(tmp_path / "p").total == size


@pytest.mark.slow
def test_work_larger_than_memory_spills_privately_and_is_exact(reader: Reader, tmp_path: Path) -> None:
    rows = records(8, size=200_000, people=90_000)
    path = as_parquet(rows, tmp_path / "p", group=20_000)
    spilled: set[str] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            spilled.update(file.name for file in reader.store.root.glob("*.spill/*storage*"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        found = reader.sum(path, PrivacyUnit("patient", 2), limits=Limits(memory_mb=20, threads=1))
    finally:
        done.set()
        watcher.join()
    assert (found.total, found.rows) == reference(rows, 2)
    assert spilled
    assert not list(reader.store.root.iterdir())


def test_only_declared_columns_with_numbers_are_summed(reader: Reader) -> None:
    path = reader.file(as_csv(records(1)))
    for column in ("arm", "patient", "nothing"):
        with pytest.raises(InvalidModel):
            compute(path, "csv", reader.columns, PrivacyUnit(), StatisticRequest(column), KEY, uploads=reader.store)


def test_short_hash_key_is_refused(reader: Reader) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        reader.sum(as_csv(records(1)), PrivacyUnit("patient", 1), key=b"short")


def test_file_that_is_gone_or_changed_says_so_without_quoting_it(reader: Reader, tmp_path: Path) -> None:
    with pytest.raises(DataMissing):
        compute(
            tmp_path / "gone",
            "csv",
            reader.columns,
            PrivacyUnit(),
            StatisticRequest("cured"),
            KEY,
            uploads=reader.store,
        )
    with pytest.raises(DataMissing) as caught:
        reader.sum(b"canary,4711\n1,2\n")
    assert "canary" not in caught.value.detail
    with pytest.raises(Unavailable) as away:
        reader.sum(b"PAR1 canary PAR1")
    assert "canary" not in away.value.detail
    assert away.value.__context__ is None


def test_statistic_does_not_print_its_values(reader: Reader) -> None:
    assert not any(digit in repr(reader.sum(as_csv(records(1)), PrivacyUnit("patient", 1))) for digit in "0123456789")
