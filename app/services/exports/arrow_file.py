"""Arrow's IPC file, which pyarrow, polars and DuckDB map into memory as it is."""

from collections.abc import Mapping
from typing import Any, BinaryIO

from app.services.exports.arrow_table import arrow_table
from app.services.exports.draws import Draws
from app.services.exports.format import ExportFormat

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
