"""Exact integer statistics of a file that was validated when it came in.

Total: a cell that is not allowed counts as 0, no row is refused for its values, and
nothing here looks at how many rows there ought to be. The result does not depend on
the order of rows, on chunks or threads, nor on whether the file is CSV or Parquet.
"""

from collections.abc import Mapping
from pathlib import Path

from app.core.schema import Column, PrivacyUnit
from app.core.statistics import ExactStatistic, StatisticRequest
from app.errors import DataMissing, InvalidModel, InvalidRows, PosternError, Unavailable
from app.sources.engine import EngineError, Limits, open_engine
from app.sources.formats import Format
from app.sources.scans import Scan, open_scan
from app.sources.uploads import UploadStore

HASH_KEY_BYTES_MIN = 16


def compute(
    path: Path,
    file_format: Format,
    columns: Mapping[str, Column],
    unit: PrivacyUnit,
    request: StatisticRequest,
    hash_key: bytes,
    *,
    uploads: UploadStore,
    limits: Limits | None = None,
) -> ExactStatistic:
    """The sum of a statistic over the counted rows, in lattice steps, and their number. Blocking.

    With a privacy unit at most `max_rows` rows of each person count: those with the smallest
    keyed hash of their own content, so that neither file order nor whoever wrote the file
    chooses them. Equal rows have equal hashes and either may stand for the other.

    Raises InvalidModel for a column without numbers, before anything is read; DataMissing
    if the file or its columns are gone, Unavailable if it cannot be read now. The last two may
    depend on the data: what was charged stays charged.
    """
    column = columns.get(request.column)
    if column is None or column.type == "categorical":
        raise InvalidModel("model.column", "a binary, integer or real column of the dataset")
    if len(hash_key) < HASH_KEY_BYTES_MIN:
        raise ValueError(f"hash_key needs at least {HASH_KEY_BYTES_MIN} bytes")
    if not path.is_file():
        raise DataMissing("the rows are not there any more")
    failure: PosternError
    try:
        with open_engine(path, uploads, limits or Limits()) as connection:
            scan = open_scan(connection, path, file_format, columns, unit, forgiving=True)
            total, rows = connection.execute(*_query(scan, unit, request, hash_key)).fetchall()[0]
            return ExactStatistic(total=int(total), rows=int(rows))
    except InvalidRows:
        failure = DataMissing("the rows no longer have the declared columns")
    except (OSError, EngineError, UnicodeError):
        failure = Unavailable("the rows could not be read", retry_after_s=60)
    # Raised out here, where the engine's error is no longer its context: that one may quote rows.
    raise failure


def _query(scan: Scan, unit: PrivacyUnit, request: StatisticRequest, hash_key: bytes) -> tuple[str, dict[str, str]]:
    one = _steps(scan.rules[request.column].canonical, request)
    totals = "SELECT coalesce(sum(one::HUGEINT), 0), count(*) FROM"
    if unit.column is None:
        return f"{totals} (SELECT {one} AS one FROM {scan.table})", {}  # noqa: S608 - declared names only
    person = scan.rules[unit.column].canonical
    records = f"SELECT {person} AS person, {one} AS one, {_digest(scan)} AS digest FROM {scan.table}"  # noqa: S608
    chosen = f"row_number() OVER (PARTITION BY person ORDER BY digest) <= {unit.max_rows}"
    return f"{totals} (SELECT one FROM ({records}) QUALIFY {chosen})", {"key": hash_key.hex()}  # noqa: S608


def _steps(cell: str, request: StatisticRequest) -> str:
    """SQL of ⌊(clip(T(x)) − lower)/step + ½⌋, a whole number from 0 to `steps`; what is no number counts as 0.

    One record at a time in doubles, so no order of rows can change it; only the whole numbers are added up.
    """
    x = f"nullif(TRY_CAST({cell} AS DOUBLE), 'nan'::DOUBLE)"  # the engine sorts NaN above every number
    anchor = _double(request.anchor)
    value = {
        "identity": x,
        "absolute": f"abs({x} - {anchor})",
        "square": f"(({x} - {anchor}) * ({x} - {anchor}) / 2)",
        "power": f"pow(greatest({x}, 0), {anchor})",
        "log_ratio": f"ln(greatest({x} / {anchor}, 1e-300))",
    }[request.transform]
    lower, upper = _double(request.lower), _double(request.upper)
    clipped = f"least(greatest({value}, {lower}), {upper})"
    places = f"floor(({clipped} - {lower}) / {_double(request.step)} + 0.5)"
    return f"coalesce(least(greatest(TRY_CAST({places} AS BIGINT), 0), {request.steps}), 0)"


def _double(value: float) -> str:
    """A literal that reads back as the same double."""
    return f"CAST('{value!r}' AS DOUBLE)"


def _digest(scan: Scan) -> str:
    """SQL of SHA-256(key ‖ cells), each cell preceded by its length, columns in order of name.

    A key in front is enough here: digests never leave the engine, so nobody can extend one.
    """
    cells = (rule.canonical for _, rule in sorted(scan.rules.items()))
    parts = (f"coalesce(length({cell}) || ':' || {cell}, '-')" for cell in cells)
    return f"sha256(concat($key, {', '.join(parts)}))"
