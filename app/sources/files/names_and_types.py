"""Names and stored types of a file's columns: its header line or its schema, and not one cell."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from app.errors import InvalidRows, PosternError, RowProblem, UnsupportedFormat
from app.sources.engine import EngineError, Limits, literal, open_engine
from app.sources.files.arrow_messages import stream_start
from app.sources.files.csv_lines import IN_UTF_8, ROW
from app.sources.files.declared import DeclaredForm
from app.sources.files.formats import decide_format
from app.sources.files.header import SNIFFED, header_of, names_in
from app.sources.files.prepared import marked_charset
from app.sources.files.unpacking import packing_of, unpack
from app.sources.scans import top_level
from app.sources.uploads import UploadStore

StoredColumn = tuple[str, str | None]
"""A name and the engine's word for the type, None where a file has only text."""


def names_and_types(path: Path, form: DeclaredForm, uploads: UploadStore) -> list[StoredColumn]:
    """Blocking. Raises UnsupportedFormat, PayloadTooLarge, InvalidRows about line 1."""
    with uploads.spill() as folder:
        packing = packing_of(path, form.packing)
        if packing is not None:
            unpack(path, packing, folder / "unpacked", uploads.bytes_max)
            path = folder / "unpacked"
        file_format = decide_format(form.file_format, path)
        if file_format == "csv":
            header = header_of(path, form.charset or marked_charset(path) or "utf-8")
            return [(name, None) for name in _header_names(header, form.separator)]
        return _arrow_columns(path) if file_format == "arrow" else _parquet_columns(path, uploads)


def _header_names(header: str, separator: str | None) -> Sequence[str]:
    """Without declared names to compare with, the separator that cuts the header into most cells."""
    if "\ufffd" in header:
        raise InvalidRows([RowProblem(1, ROW, IN_UTF_8)])
    names = max((names_in(header, each) for each in ([separator] if separator else SNIFFED)), key=len)
    if not any(names):
        raise InvalidRows([RowProblem(1, ROW, "a header line with the names of the columns")])
    return names


def _parquet_columns(path: Path, uploads: UploadStore) -> list[StoredColumn]:
    refusal: PosternError
    try:
        with open_engine(path, uploads, Limits()) as connection:
            where = literal(str(path))
            tree = connection.execute(f"SELECT name, num_children FROM parquet_schema({where})")  # noqa: S608
            names = top_level(tree.fetchall())
            described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({where}, hive_partitioning = false)")  # noqa: S608
            return list(zip(names, (str(stored) for _, stored, *_ in described.fetchall()), strict=True))
    except (EngineError, UnicodeError):
        refusal = UnsupportedFormat("body", "an intact Parquet file")
    raise refusal


def _arrow_columns(path: Path) -> list[StoredColumn]:
    if find_spec("pyarrow") is None:
        raise UnsupportedFormat("body", "CSV or Parquet: this installation has not got what reads Arrow (pyarrow)")
    import pyarrow as pa

    refusal: PosternError
    try:
        with pa.OSFile(str(path), "rb") as file:
            file.seek(stream_start(path))
            with pa.ipc.open_stream(file) as reader:
                return [(field.name, _engine_type(pa, field.type)) for field in reader.schema]
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        refusal = UnsupportedFormat("body", "an intact Arrow stream or file")
    raise refusal


def _engine_type(pa: Any, arrow_type: Any) -> str:
    types = pa.types
    if types.is_dictionary(arrow_type):
        return _engine_type(pa, arrow_type.value_type)
    if types.is_boolean(arrow_type):
        return "BOOLEAN"
    if types.is_integer(arrow_type):
        return "BIGINT"
    if types.is_floating(arrow_type) or types.is_decimal(arrow_type):
        return "DOUBLE"
    if types.is_date(arrow_type) or (types.is_timestamp(arrow_type) and arrow_type.tz is None):
        return "DATE"
    text = types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type)
    return "VARCHAR" if text else str(arrow_type)
