"""Arrow streams and files, written as Parquet: the declared columns with their cells, the others by name only."""

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.errors import InvalidRows, RowProblem, UnsupportedFormat
from app.sources.engine import Limits
from app.sources.files.arrow_messages import Damaged, check_sizes, stream_start
from app.sources.files.csv_lines import ROW
from app.sources.private_files import disk_full_as_unavailable

_INTACT = "an intact Arrow stream or file"


def write_parquet(path: Path, target: Path, declared: Collection[str], bytes_max: int) -> None:
    """Raises UnsupportedFormat, PayloadTooLarge, InvalidRows about columns. Cells are validated before they are looked at."""
    if find_spec("pyarrow") is None:
        told = "CSV or Parquet: this service was installed without what reads Arrow; its operator can add pyarrow"
        raise UnsupportedFormat("body", told)
    import pyarrow as pa

    broken = False
    with disk_full_as_unavailable():
        try:
            check_sizes(path, bytes_max=bytes_max, rows_max=Limits().rows_max)
            _convert(pa, path, target, declared)
        except (Damaged, pa.ArrowException, KeyError, ValueError, TypeError):
            broken = True
        except OSError as error:
            if error.errno is not None:
                raise
            broken = True
    # Raised out here, where the library's error is no longer its context: that one may quote cells.
    if broken:
        raise UnsupportedFormat("body", _INTACT)


def _convert(pa: Any, path: Path, target: Path, declared: Collection[str]) -> None:
    from pyarrow.parquet import ParquetWriter

    with pa.OSFile(str(path), "rb") as file:
        file.seek(stream_start(path))
        with pa.ipc.open_stream(file) as reader:
            schema = reader.schema
            _refuse_columns(pa, schema, declared)
            fields = [
                pa.field(field.name, _stored_type(pa, field.type) if field.name in declared else pa.null())
                for field in schema
            ]
            with ParquetWriter(str(target), pa.schema(fields), compression="zstd", write_statistics=False) as writer:
                for batch in reader:
                    batch.validate(full=True)
                    cells = [
                        batch.column(place).cast(field.type) if field.name in declared else pa.nulls(batch.num_rows)
                        for place, field in enumerate(fields)
                    ]
                    writer.write_batch(pa.record_batch(cells, schema=pa.schema(fields)))


def _refuse_columns(pa: Any, schema: Any, declared: Collection[str]) -> None:
    """By name, and by what Parquet has no form for."""
    twice = sorted({name for name in schema.names if name in declared and schema.names.count(name) > 1})
    nested = [
        field.name
        for field in schema
        if field.name in declared and (pa.types.is_nested(field.type) or pa.types.is_run_end_encoded(field.type))
    ]
    problems = [RowProblem(1, name, "each column once") for name in twice]
    problems += [RowProblem(1, name, "a column of plain cells") for name in nested]
    if not schema.names:
        problems.append(RowProblem(1, ROW, "at least one column"))
    if problems:
        raise InvalidRows(problems)


def _stored_type(pa: Any, arrow_type: Any) -> Any:
    """Dictionaries are written out: what counts is the cell. Half floats are in no engine's Parquet."""
    if pa.types.is_dictionary(arrow_type):
        return _stored_type(pa, arrow_type.value_type)
    return pa.float32() if pa.types.is_float16(arrow_type) else arrow_type
