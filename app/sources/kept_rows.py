"""Of an upload that was checked, what is kept: the rows that count, as typed columns, sealed.

With a privacy unit at most `max_rows` rows of a person count (`row_choice.py`). They are chosen here, once, where only the
steward can see how long it takes; a release then reads at most n·`max_rows` rows and hashes nothing, so that the time it
takes no longer says how many rows a person had. Ids of people that are no declared column are not kept at all.

Without a unit every row is kept. Columns are written in the types their cells were checked to have, so that reading them gives
the very doubles, levels and whole numbers that reading the text would have given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.core.schema import Column, OtherColumns, PrivacyUnit
from app.errors import Unavailable
from app.sources.cell_rules import CellRule, kept_rule
from app.sources.data_key import DataKey
from app.sources.duckdb_rows import UploadReport, validate
from app.sources.engine import Connection, EngineError, Limits, OutOfTime, literal
from app.sources.files.formats import Format
from app.sources.private_files import disk_full_as_unavailable
from app.sources.row_choice import counted_rows
from app.sources.scans import Scan
from app.sources.sealed_files import seal
from app.sources.uploads import PartialUpload, UploadStore

COLUMNS_FILE = "rows.parquet"
_GROUP_ROWS = 122_880


def check_and_keep(
    path: Path,
    file_format: Format,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    n: int | None,
    kept: PartialUpload,
    key: DataKey,
    salt: bytes,
    *,
    uploads: UploadStore,
    limits: Limits | None = None,
    other_columns: OtherColumns = "ignore",
    separator: str | None = None,
    unquoted: bool = False,
) -> UploadReport:
    """`validate` the file, and write what counts of it into `kept`. Blocking.

    In between the columns lie in a private directory of the store, as spilt rows do, and are wiped. Raises what `validate` does,
    and Unavailable.
    """
    with uploads.spill() as folder:
        cut = _Cut(columns, unit, key.choice_key(salt), folder / COLUMNS_FILE)
        report = validate(
            path,
            file_format,
            columns,
            unit,
            n,
            uploads=uploads,
            limits=limits,
            then=cut,
            other_columns=other_columns,
            separator=separator,
            unquoted=unquoted,
        )
        with disk_full_as_unavailable():
            seal(cut.writes, kept.write, key, salt)
        return report


@dataclass(frozen=True, slots=True)
class _Cut:
    columns: Mapping[str, Column]
    unit: PrivacyUnit
    choice_key: bytes = field(repr=False)
    writes: Path

    def run(self, connection: Connection, scan: Scan) -> None:
        cells = [scan.rules[name].value for name in sorted(self.columns)]
        shown = ", ".join(f"v{place}" for place in range(len(cells)))
        late = False
        try:
            table = counted_rows(connection, scan, self.unit, self.choice_key, cells)
            connection.execute(
                f"COPY (SELECT {shown} FROM {table}) TO {literal(str(self.writes))} "  # noqa: S608 - declared names only
                f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_GROUP_ROWS}, USE_TMP_FILE false)"
            )
            return
        except EngineError as error:
            late = isinstance(error, OutOfTime)
        # Raised out here, where the engine's error is no longer its context: that one may quote rows.
        why = "choosing the rows that count took too long" if late else "the server has no room to store these rows"
        raise Unavailable(why, retry_after_s=60)


def kept_scan(path: Path, columns: Mapping[str, Column]) -> Scan:
    """Columns as written above, with a rule for each."""
    rules: dict[str, CellRule] = {}
    cells = []
    for place, name in enumerate(sorted(columns)):
        rules[name] = kept_rule(columns[name], f"c{place}")
        cells.append(f"v{place} AS c{place}")
    source = f"read_parquet({literal(str(path))}, hive_partitioning = false, union_by_name = false)"
    return Scan(f"(SELECT true AS whole, {', '.join(cells)} FROM {source})", rules, first_line=1, kept=True)  # noqa: S608
