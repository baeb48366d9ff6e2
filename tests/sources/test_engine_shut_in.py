"""The engine can read one file and reach nothing else, even if a statement asks it to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.sources.engine import Connection, EngineError, Limits, OutOfRoom, OutOfTime, identifier, literal, open_engine
from app.sources.uploads import UploadStore


@pytest.fixture
def engine(tmp_path: Path, store: UploadStore) -> Iterator[Connection]:
    (tmp_path / "rows").write_text("a\n1\n")
    (tmp_path / "other").write_text("a\n1\n")
    with open_engine(tmp_path / "rows", store, Limits()) as connection:
        yield connection


def test_the_one_file_can_be_read(engine: Connection, tmp_path: Path) -> None:
    assert engine.execute(f"SELECT a FROM read_csv({literal(str(tmp_path / 'rows'))})").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{folder}/other')",
        "SELECT * FROM read_csv('{folder}/*')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/*')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/out.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_csv('https://localhost/x.csv')",
        "SET enable_external_access = true",
        "SET allowed_paths = ['/']",
        "SET threads = 64",
        "SELECT * FROM secret_rows",
    ],
)
def test_everything_else_is_out_of_reach(engine: Connection, tmp_path: Path, statement: str) -> None:
    secret_rows = [1, 2, 3]
    with pytest.raises(EngineError):
        engine.execute(statement.format(folder=tmp_path)).fetchall()
    assert secret_rows


def test_an_engine_that_may_write_one_file_can_write_no_other(tmp_path: Path, store: UploadStore) -> None:
    (tmp_path / "rows").write_text("a\n1\n")
    with open_engine(tmp_path / "rows", store, Limits(), writes=tmp_path / "kept") as connection:
        connection.execute(f"COPY (SELECT 1) TO {literal(str(tmp_path / 'kept'))} (FORMAT parquet, USE_TMP_FILE false)")
        for name in ("other", "kept.csv", "uploads/kept"):
            with pytest.raises(EngineError):
                connection.execute(f"COPY (SELECT 1) TO {literal(str(tmp_path / name))} (FORMAT parquet)")
    assert (tmp_path / "kept").is_file()


def test_spill_folder_is_private_and_gone_afterwards(tmp_path: Path, store: UploadStore) -> None:
    (tmp_path / "rows").write_text("a\n1\n")
    with open_engine(tmp_path / "rows", store, Limits()) as connection:
        (spill,) = store.root.glob("*.spill")
        where = connection.execute("SELECT current_setting('temp_directory')").fetchone()
        assert where == (str(spill),)
    assert not list(store.root.iterdir())


def test_statement_that_takes_too_long_is_interrupted(tmp_path: Path, store: UploadStore) -> None:
    (tmp_path / "rows").write_text("a\n1\n")
    slow = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE hash(a.range, b.range) = 1"
    with (
        pytest.raises(OutOfTime),
        open_engine(tmp_path / "rows", store, Limits(seconds=0.2)) as connection,
    ):
        connection.execute(slow).fetchall()


def test_work_beyond_memory_and_spill_is_given_up(tmp_path: Path, store: UploadStore) -> None:
    (tmp_path / "rows").write_text("a\n1\n")
    large = "SELECT len(list(sha256(range::VARCHAR))) FROM range(2000000)"
    limits = Limits(memory_mb=32, spill_mb=1)
    with pytest.raises(OutOfRoom), open_engine(tmp_path / "rows", store, limits) as connection:
        connection.execute(large).fetchall()


def test_names_survive_quoting() -> None:
    assert literal("it's") == "'it''s'"
    assert identifier('a"b') == '"a""b"'
