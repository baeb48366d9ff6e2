"""Tables as Arrow and Parquet: texts as dictionaries of the declared levels, numbers as they are."""

from collections.abc import Mapping
from typing import Any, BinaryIO

import msgspec
import numpy as np

from app.services.reading.exports.arrow_file import RECEIPT_KEY, ROWS_PER_BATCH
from app.services.reading.exports.parquet_file import ROWS_PER_GROUP
from app.services.reading.exports.table import Table, TableColumn

SYNTHETIC_KEY = "postern_synthetic"


def write_table_arrow(table: Table, receipt: Mapping[str, Any], file: BinaryIO) -> None:
    import pyarrow as pa

    found = _arrow_table(table, {RECEIPT_KEY: msgspec.json.encode(receipt)})
    with pa.ipc.new_file(file, found.schema) as writer:
        writer.write_table(found, max_chunksize=ROWS_PER_BATCH)


def write_table_parquet(table: Table, receipt: Mapping[str, Any], file: BinaryIO) -> None:
    _write_parquet(table, {RECEIPT_KEY: msgspec.json.encode(receipt)}, file)


def write_rows_parquet(table: Table, described: Mapping[str, Any], file: BinaryIO) -> None:
    """Synthetic rows say in their metadata that they are."""
    _write_parquet(table, {SYNTHETIC_KEY: msgspec.json.encode(described)}, file)


def _write_parquet(table: Table, metadata: Mapping[str, bytes], file: BinaryIO) -> None:
    from pyarrow import parquet

    found = _arrow_table(table, metadata)
    texts = [column.name for column in table.columns if column.levels is not None]
    with parquet.ParquetWriter(
        file, found.schema, compression="zstd", use_dictionary=texts, write_statistics=False, store_schema=False
    ) as writer:
        writer.write_table(found, row_group_size=ROWS_PER_GROUP)
        writer.add_key_value_metadata(found.schema.metadata)


def _arrow_table(table: Table, metadata: Mapping[str, bytes]) -> Any:
    """A `pyarrow.Table`, from buffers: `pyarrow.array` imports pandas. Raises ImportError where pyarrow is not installed."""
    import pyarrow as pa

    columns = [_arrow_column(column) for column in table.columns]
    fields = [
        pa.field(name, each.type, nullable=each.null_count > 0) for name, each in zip(table.names, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, dict(metadata)))


def _arrow_column(column: TableColumn) -> Any:
    import pyarrow as pa

    count = len(column.values)
    if column.levels is not None:
        codes = pa.py_buffer(np.ascontiguousarray(column.values, np.int32))
        indices = pa.Array.from_buffers(pa.int32(), count, [None, codes])
        return pa.DictionaryArray.from_arrays(indices, _texts(column.levels))
    kind = column.values.dtype.kind
    if kind == "b":
        bits = np.packbits(column.values, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), count, [None, pa.py_buffer(bits)])
    if kind == "f":
        there = ~np.isnan(column.values)
        known = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
        values = pa.py_buffer(np.ascontiguousarray(column.values, np.float64))
        return pa.Array.from_buffers(pa.float64(), count, [known, values])
    return pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(np.ascontiguousarray(column.values, np.int64))])


def _texts(levels: tuple[str, ...]) -> Any:
    import pyarrow as pa

    encoded = [level.encode() for level in levels]
    ends = np.concatenate([[0], np.cumsum([len(each) for each in encoded])]).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(levels), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))])
