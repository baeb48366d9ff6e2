"""Statistics that engines do not agree on: the rows that count come as typed columns, and the engine inside adds them up.

They lie in a private directory of the store meanwhile, as spilt rows do, and are wiped. Only the columns it is of come.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.core.schema import Column, PrivacyUnit
from app.core.statistics import RowRequest
from app.errors import PosternError, Unavailable
from app.sources.cell_rules import KEPT_TYPES, CellRule, kept_rule
from app.sources.dialects.duckdb import DUCK
from app.sources.dialects.postgresql import POSTGRES
from app.sources.engine import EngineError, Limits, literal, open_engine
from app.sources.row_choice import chosen_rows
from app.sources.row_statistics import statistic_of_scan
from app.sources.scans import Scan
from app.sources.tables.postgresql_session import Session
from app.sources.uploads import UploadStore

_FILE = "rows.csv"


def statistic_inside(
    session: Session,
    scan: Scan,
    unit: PrivacyUnit,
    columns: Mapping[str, Column],
    request: RowRequest[Any],
    hash_key: bytes,
    uploads: UploadStore,
    limits: Limits,
) -> Any:
    """Raises DataMissing and Unavailable."""
    names = sorted(request.columns)
    cells = [_sent(columns[name], scan.rules[name]) for name in names]
    failure: PosternError
    with uploads.spill() as folder:
        path = folder / _FILE
        shown = ", ".join(f"v{place}" for place in range(len(cells)))
        # a mark in front: a line that holds nothing else than a missing cell would be no line
        session.copy(f"SELECT 1 AS mark, {shown} FROM {chosen_rows(scan, unit, cells, POSTGRES)}", path)  # noqa: S608
        try:
            with open_engine(path, uploads, limits) as connection:
                streamed = _streamed_scan(path, {name: columns[name] for name in names})
                return statistic_of_scan(connection, streamed, PrivacyUnit(), columns, request, hash_key)
        except (EngineError, OSError):
            failure = Unavailable("the rows could not be read", retry_after_s=60)
    # Raised out here, where the engine's error is no longer its context: that one may quote rows.
    raise failure


def _sent(column: Column, rule: CellRule) -> str:
    """A truth as 0 or 1; doubles are written with the digits that read back as the same."""
    return POSTGRES.cast(rule.value, "TINYINT") if column.type == "binary" else rule.value


def _streamed_scan(path: Path, columns: Mapping[str, Column]) -> Scan:
    rules: dict[str, CellRule] = {}
    cells = []
    for place, (name, column) in enumerate(columns.items()):
        rules[name] = kept_rule(column, f"c{place}")
        cells.append(f"{DUCK.cast(f'v{place}', KEPT_TYPES[column.type])} AS c{place}")
    listed = ", ".join(["'mark': 'VARCHAR'", *(f"'v{place}': 'VARCHAR'" for place in range(len(columns)))])
    source = (
        f"read_csv({literal(str(path))}, auto_detect = false, header = false, columns = {{{listed}}}, delim = ',', "
        f"quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false, strict_mode = true)"
    )
    return Scan(f"(SELECT true AS whole, {', '.join(cells)} FROM {source})", rules, first_line=1)  # noqa: S608
