"""A database that fails, changes or refuses: each ends in one of our own sentences, and nothing of its own comes out."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app.core.schema import PrivacyUnit, parse_columns
from app.core.statistics import StatisticRequest
from app.errors import DataMissing, InvalidInput, InvalidRows, PosternError, Unavailable
from app.sources.engine import Limits
from app.sources.tables.postgresql_session import AWAY, GONE, open_session
from app.sources.tables.table_rows import TableRows
from app.sources.uploads import UploadStore
from tests.servers.postgres import PostgresServer
from tests.servers.process import free_port
from tests.sources.contract.engines import KEY, plain

CANARY = "canary-4711"
COLUMNS = parse_columns({"age": {"type": "integer", "lower": 0, "upper": 120}, "who": {"type": "binary"}})
AGE = StatisticRequest("age", lower=0.0, upper=120.0, steps=120)
SLOW = "CREATE VIEW slow AS SELECT age, who FROM people, LATERAL (SELECT pg_sleep(20 + age * 0)) AS late"


class Place:
    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder

    def do(self, *statements: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def rows(self, table: str = "people", **changes: Any) -> TableRows:
        given: dict[str, Any] = {
            "url": lambda: self.url,
            "table": table,
            "rows_max": 100,
            "columns": COLUMNS,
            "unit": PrivacyUnit(),
            "uploads": UploadStore(self.folder / "store"),
            "limits": Limits(seconds=30),
            "people": 40,
        }
        return TableRows(**(given | changes))


@pytest.fixture
def place(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[Place]:
    name = postgres_server.create_database()
    made = Place(postgres_server.url(name), tmp_path)
    made.do(
        "CREATE TABLE people (age int, who boolean, note text)",
        f"INSERT INTO people SELECT g, g % 2 = 0, '{CANARY}' FROM generate_series(1, 40) AS g",
    )
    yield made
    postgres_server.drop_database(name)


def refused(call: Callable[[], Any], kind: type[PosternError]) -> str:
    """What is said. Nothing of the engine hangs on the error."""
    with pytest.raises(kind) as caught:
        call()
    seen: BaseException | None = caught.value
    while seen is not None:
        assert not isinstance(seen, psycopg.Error)
        assert CANARY not in str(seen)
        seen = seen.__cause__ or seen.__context__
    return str(caught.value)


def test_people_are_counted_in_the_snapshot_that_is_summed(place: Place) -> None:
    assert plain(place.rows().statistic(AGE, KEY)) == {"total": 820, "rows": 40}
    place.do("INSERT INTO people VALUES (1, true, '')")
    assert "another number of people" in refused(lambda: place.rows().statistic(AGE, KEY), DataMissing)
    assert "rows_max" in refused(lambda: place.rows(rows_max=40).statistic(AGE, KEY), DataMissing)
    with open_session(place.url, Limits()) as session:
        before = session.run("SELECT count(*) FROM public.people")
        place.do("INSERT INTO people VALUES (1, true, '')")
        assert session.run("SELECT count(*) FROM public.people") == before == [(41,)]


def test_public_strata_that_moved_withdraw(place: Place) -> None:
    columns = parse_columns({"age": COLUMNS["age"].as_json(), "who": {"type": "binary", "public": True}})
    report = place.rows(columns=columns).validate(40)
    assert report.strata is not None
    rows = place.rows(columns=columns, strata=report.strata.as_json())
    assert plain(rows.statistic(AGE, KEY))["rows"] == 40
    place.do("UPDATE people SET who = true")
    assert "public columns" in refused(lambda: rows.statistic(AGE, KEY), DataMissing)


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE people",
        "ALTER TABLE people RENAME COLUMN age TO years",
        "ALTER TABLE people ALTER COLUMN age TYPE bytea USING ''",
        "ALTER TABLE people RENAME TO persons",
        "ALTER SCHEMA public RENAME TO other",
    ],
)
def test_an_altered_table_is_missing_before_a_row_is_read(place: Place, change: str) -> None:
    assert place.rows().present()
    place.do(change)
    assert not place.rows().present()
    assert refused(lambda: place.rows().statistic(AGE, KEY), DataMissing) == GONE


def test_lost_permission_is_found_before_a_row_is_read(place: Place, postgres_server: PostgresServer) -> None:
    role = f"reader_{time.time_ns()}"
    place.do(f"CREATE ROLE {role} LOGIN", f"GRANT SELECT (age, who) ON people TO {role}")
    url = place.url.replace("//postern@", f"//{role}@")
    rows = place.rows(url=lambda: url)
    assert plain(rows.statistic(AGE, KEY))["rows"] == 40  # no right to `note` is needed
    place.do(f"REVOKE SELECT (who) ON people FROM {role}")
    assert not rows.present()
    assert refused(lambda: rows.statistic(AGE, KEY), DataMissing) == GONE
    place.do("DROP TABLE people", f"DROP ROLE {role}")


@pytest.mark.parametrize("wrong", ["role", "database", "port", "host"])
def test_wrong_credentials_say_nothing(place: Place, wrong: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    url = {
        "role": place.url.replace("//postern@", f"//{CANARY}:{CANARY}@"),
        "database": place.url.rpartition("/")[0] + f"/{CANARY}",
        "port": f"postgresql://{CANARY}@127.0.0.1:{free_port()}/x",
        "host": f"postgresql://{CANARY}@[::1]:1/x",
    }[wrong]
    rows = place.rows(url=lambda: url)
    for call in (rows.present, lambda: rows.validate(40), lambda: rows.statistic(AGE, KEY)):
        assert refused(call, Unavailable) == AWAY
    assert CANARY not in caplog.text
    assert CANARY not in repr(rows)


@pytest.mark.slow
def test_a_statement_that_takes_too_long_is_given_up_by_the_engine(place: Place) -> None:
    place.do(SLOW)
    began = time.monotonic()
    assert refused(lambda: place.rows("slow", limits=Limits(seconds=0.3)).statistic(AGE, KEY), Unavailable) == AWAY
    assert time.monotonic() - began < 15


@pytest.mark.slow
def test_an_engine_that_ends_in_the_middle_is_away(place: Place) -> None:
    place.do(SLOW)
    ended = threading.Thread(target=end_what_reads, args=(place,))
    ended.start()
    assert refused(lambda: place.rows("slow").statistic(AGE, KEY), Unavailable) == AWAY
    ended.join()


@pytest.mark.slow
def test_a_frozen_engine_is_hung_up_on(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """It neither answers nor sees its own time limit; and no line is closed, as one of a killed process would be."""
    place.do(SLOW)
    monkeypatch.setattr("app.sources.tables.postgresql_session.GRACE_S", 0.3)
    frozen: list[int] = []
    freezing = threading.Thread(target=freeze_what_reads, args=(place, frozen))
    freezing.start()
    began = time.monotonic()
    try:
        limits = Limits(seconds=3)
        assert refused(lambda: place.rows("slow", limits=limits).statistic(AGE, KEY), Unavailable) == AWAY
    finally:
        freezing.join()
        for process in frozen:
            os.kill(process, signal.SIGCONT)
    assert len(frozen) == 1
    assert time.monotonic() - began >= limits.seconds  # it was not the engine that gave up


def freeze_what_reads(place: Place, frozen: list[int]) -> None:
    find = (
        "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND datname = current_database() AND wait_event = 'PgSleep'"
    )
    with psycopg.connect(place.url, autocommit=True) as connection:
        for _ in range(600):
            for (process,) in connection.execute(find).fetchall():
                os.kill(process, signal.SIGSTOP)
                frozen.append(process)
                return
            time.sleep(0.02)


def end_what_reads(place: Place) -> None:
    """Once a session sleeps over its first row. Statements are long, and the server shows the beginning of them only."""
    end = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND datname = current_database() AND wait_event = 'PgSleep'"
    )
    with psycopg.connect(place.url, autocommit=True) as connection:
        for _ in range(600):
            if connection.execute(end).fetchone() != (0,):
                return
            time.sleep(0.05)


def test_errors_that_quote_rows_do_not_come_out(place: Place) -> None:
    """A view that fails on one row, with that row in its message."""
    place.do("CREATE VIEW broken AS SELECT CAST(note AS int) AS age, who FROM people")
    rows = place.rows("broken")
    assert refused(lambda: rows.statistic(AGE, KEY), Unavailable) == AWAY
    assert refused(lambda: rows.validate(40), Unavailable) == AWAY


def test_nothing_can_be_written_through_a_session(place: Place) -> None:
    for statement in (
        "INSERT INTO public.people VALUES (1)",
        "CREATE TEMP TABLE t (a int)",
        "DROP TABLE public.people",
    ):
        with open_session(place.url, Limits()) as session, pytest.raises(Unavailable):
            session.run(statement)


def test_what_is_wrong_with_rows_is_told_by_column_and_never_by_value(place: Place) -> None:
    place.do("ALTER TABLE people ALTER COLUMN age TYPE text", f"UPDATE people SET age = '{CANARY}' WHERE age < '3'")
    with pytest.raises(InvalidRows) as caught:
        place.rows().validate(40)
    assert [(fault.column, fault.cells) for fault in caught.value.columns] == [("age", 22)]
    assert CANARY not in str(caught.value)
    place.do("DELETE FROM people")
    assert "at least one row" in refused(lambda: place.rows().validate(None), InvalidRows)
    assert place.rows("people", rows_max=1).table == "people"


def test_a_table_beyond_its_limit_or_with_other_people_is_refused_when_it_is_declared(place: Place) -> None:
    assert place.rows().validate(None).people == 40
    assert "rows_max" in refused(lambda: place.rows(rows_max=39).validate(None), InvalidInput)
    assert "the number of people" in refused(lambda: place.rows().validate(41), InvalidInput)


def test_a_foreign_table_is_no_table(place: Place) -> None:
    """It could be a file or a host that the operator never named."""
    try:
        place.do("CREATE EXTENSION postgres_fdw")
    except psycopg.Error:
        place.do("CREATE FOREIGN DATA WRAPPER postgres_fdw")
    place.do(
        "CREATE SERVER elsewhere FOREIGN DATA WRAPPER postgres_fdw",
        "CREATE FOREIGN TABLE far (age int, who boolean) SERVER elsewhere",
    )
    assert not place.rows("far").present()
