"""Arrow's IPC file, which pyarrow, polars and DuckDB map into memory as it is."""

from collections.abc import Mapping
from typing import Any, BinaryIO

import msgspec

from app.services.reading.exports.draws import Draws
from app.services.reading.exports.format import ExportFormat

ROWS_PER_BATCH = 2**16


def write_arrow(draws: Draws, receipt: Mapping[str, Any], file: BinaryIO) -> None:
    """Columns go to the file one after the other, from where they are."""
    import pyarrow as pa

    table = arrow_table(draws, receipt)
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=ROWS_PER_BATCH)


ARROW = ExportFormat(
    "arrow", "arrow", "application/vnd.apache.arrow.file", write_arrow, ("pyarrow",), needs=("pyarrow",)
)


RECEIPT_KEY = "postern_receipt"
GROUPS_KEY = "postern_groups"


def groups_metadata(draws: Draws) -> dict[str, bytes]:
    """Of a release by groups: the group of every column, by its name."""
    groups = draws.groups
    return {GROUPS_KEY: msgspec.json.encode(groups)} if groups else {}


def arrow_table(draws: Draws, receipt: Mapping[str, Any]) -> Any:
    """A `pyarrow.Table`. Raises ImportError where pyarrow is not installed.

    From buffers, because `pyarrow.array` imports pandas to see whether it was given something of it.
    """
    import pyarrow as pa

    double = pa.float64()
    metadata = {RECEIPT_KEY: msgspec.json.encode(receipt)} | groups_metadata(draws)
    fields = [pa.field(name, double, nullable=False) for name in draws.names]
    columns = [pa.Array.from_buffers(double, draws.size, [None, pa.py_buffer(each)]) for each in draws.columns()]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata))
