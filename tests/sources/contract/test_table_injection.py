"""Names and levels are data to an engine: its own log says what was executed."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from app.core.schema import PrivacyUnit, parse_columns, parse_filter
from app.core.statistics import CountsRequest, GroupColumn, GroupedRequest, NodeCounts, StatisticRequest
from app.errors import DataMissing, InvalidRows, InvalidSchema
from app.sources.engine import Limits
from app.sources.source_spec import parse_source
from app.sources.tables.table_rows import TableRows
from app.sources.uploads import UploadStore
from tests.deep import deep
from tests.servers.postgres import PostgresServer
from tests.sources.contract.engines import KEY, PostgresTable, plain

PIECES = [
    "'",
    '"',
    "''",
    '""',
    "--",
    "/*",
    "*/",
    ";",
    "\\",
    "$$",
    "$1",
    "%s",
    "%(a)s",
    "{0}",
    "::",
    "E'",
    "U&'",
    "\u2019",
    "ＤＲＯＰ",
]
PIECES += ["DROP TABLE canary", "SELECT", "pg_sleep(9)", "ü", "✓", "\u202e", "x", " ", "`", "?", ":a", "COPY", "\\x27"]
CELL = "cell-0815"
_QUOTED = re.compile(r'"(?:[^"]|"")*"|\'(?:[^\']|\'\')*\'')
_WORD = re.compile(r"[A-Za-z_]+[A-Za-z_0-9]*|\S")
_BEGIN = re.compile(r"^(?:BEGIN|ROLLBACK|SELECT|COPY|DEALLOCATE|DISCARD)\b")


def hostile(source: random.Random) -> str:
    while True:
        text = "".join(source.choice(PIECES) for _ in range(source.randrange(1, 6))).strip()
        if (
            text
            and text.isprintable()
            and len(text.encode()) <= 60
            and "." not in text
            and text.lower() not in ("who", "age")
        ):
            return text


@pytest.fixture
def logged(postgres_server: PostgresServer) -> Iterator[tuple[str, Any]]:
    """(address, a function that reads what the engine says it executed there)."""
    name = postgres_server.create_database()
    url = postgres_server.url(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("ALTER DATABASE {} SET log_statement = 'all'").format(sql.Identifier(name)))
        connection.execute("CREATE TABLE canary (a int)")
    log = postgres_server.folder / "server.log"
    start = log.stat().st_size
    yield url, lambda: log.read_bytes()[start:].decode(errors="replace")
    postgres_server.drop_database(name)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, *map(deep, range(2, 40))])
def test_hostile_names_and_levels_stay_inside_their_quotes(seed: int, logged: tuple[str, Any], tmp_path: Path) -> None:
    url, said = logged
    source = random.Random(seed)
    table, column = hostile(source), hostile(source)
    levels = [*dict.fromkeys(hostile(source) for _ in range(12))]
    columns = parse_columns(
        {
            column: {
                "type": "categorical",
                "levels": levels,
                "missing": "group",
                "missing_spellings": ["gone" + hostile(source)],
            },
            "age": {"type": "integer", "lower": 0, "upper": 9},
        }
    )
    stored = {
        column: levels,
        "age": [place % 10 for place in range(len(levels))],
        "who": [*map(str, range(len(levels)))],
    }
    PostgresTable(tmp_path, url).make({**stored, "secret": [CELL] * len(levels)}, table)
    already = len(said())
    unit = PrivacyUnit("who", 2)
    spec = parse_source({"kind": "postgresql", "connection": "here", "table": table, "rows_max": 50}, (), ["here"])
    rows = TableRows(lambda: url, spec.table or "", 50, columns, unit, UploadStore(tmp_path), Limits(), len(levels))
    counts = CountsRequest((NodeCounts(column, (), (len(levels),)),), ((column, tuple(levels)),))
    quoted = "'" + levels[0].replace("'", "''") + "'"
    where = parse_filter(f"`{column.replace('`', '')}` == {quoted}", columns) if "`" not in column else None
    age = StatisticRequest("age", lower=0.0, upper=9.0, steps=9)
    by = GroupedRequest(age, (GroupColumn(column, tuple(levels)),), where=getattr(where, "condition", None))
    log = StatisticRequest("age", "log_ratio", anchor=1.0, lower=0.0, upper=3.0, steps=9)
    assert rows.validate(len(levels)).people == len(levels)
    found, *_ = rows.statistics([counts, by, log], KEY)
    assert plain(found)["cells"] == [1] * len(levels)
    executed = statements(said()[already:])
    assert executed
    for statement in executed:
        assert _BEGIN.match(statement), statement
        bare = _QUOTED.sub(" ", statement)
        for mark in ("--", "/*", ";", "$$", "secret", "DROP", "pg_sleep"):
            assert mark not in bare, (mark, bare)
    assert CELL not in "".join(executed)
    assert KEY.hex() not in "".join(executed)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM canary").fetchone() == (0,)


def statements(log: str) -> list[str]:
    """Each with its further lines, which begin with a tab; without the parameters of their details."""
    found = re.findall(r"LOG:  (?:statement|execute [^:]*): (.*(?:\n\t.*)*)", log)
    return [each.replace("\n\t", "\n") for each in found]


@pytest.mark.parametrize(
    "table", ["", ".", "a.", ".a", "a.b.c", "a\n", "x" * 64, "ü" * 32, "a\x00b", "s." + "x" * 64, 7, None, ["a"]]
)
def test_what_can_be_no_table_is_refused(table: Any) -> None:
    with pytest.raises(InvalidSchema):
        parse_source({"kind": "postgresql", "connection": "here", "table": table, "rows_max": 5}, (), ["here"])


@pytest.mark.parametrize(
    "more", [{"url": "postgresql://x"}, {"host": "x"}, {"password": "x"}, {"path": "/etc"}, {"env": "X"}]
)
def test_a_dataset_names_no_host_and_no_secret(more: dict[str, str]) -> None:
    source = {"kind": "postgresql", "connection": "here", "table": "t", "rows_max": 5}
    with pytest.raises(InvalidSchema):
        parse_source(source | more, (), ["here"])
    for connection in ("elsewhere", "postgresql://u:p@h/d", "$HOME", "", "../here", "HERE"):
        with pytest.raises(InvalidSchema) as caught:
            parse_source(source | {"connection": connection}, (), ["here"])
        assert "here" not in caught.value.problems[0].expected.split()


@pytest.mark.parametrize("table", ["pg_catalog.pg_authid", "information_schema.tables", "nothing", "pg_temp.people"])
def test_tables_without_the_declared_columns_say_no_more_than_that(
    table: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    columns = parse_columns({"age": {"type": "integer", "lower": 0, "upper": 9}})
    url = postgres_server.url()
    rows = TableRows(lambda: url, table, 50, columns, PrivacyUnit(), UploadStore(tmp_path), Limits())
    with pytest.raises((DataMissing, InvalidRows)):
        rows.validate(None)
    assert not rows.present()
