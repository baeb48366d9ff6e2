"""Parquet, for archives and for tools that read nothing else."""

from collections.abc import Mapping
from typing import Any, BinaryIO

from app.services.reading.exports.arrow_file import arrow_table
from app.services.reading.exports.draws import Draws
from app.services.reading.exports.format import ExportFormat

ROWS_PER_GROUP = 2**20


def write_parquet(draws: Draws, receipt: Mapping[str, Any], file: BinaryIO) -> None:
    """Columns of a group go to the file one after the other.

    Without statistics, because a footer for 50,000 columns is long enough and nobody filters draws by value; without a
    dictionary, which makes draws that are all different larger and those of a grid no smaller than zstd does alone.
    """
    from pyarrow import parquet

    table = arrow_table(draws, receipt)
    with parquet.ParquetWriter(
        file, table.schema, compression="zstd", use_dictionary=False, write_statistics=False, store_schema=False
    ) as writer:
        writer.write_table(table, row_group_size=ROWS_PER_GROUP)
        writer.add_key_value_metadata(table.schema.metadata)


PARQUET = ExportFormat(
    "parquet", "parquet", "application/vnd.apache.parquet", write_parquet, ("pyarrow",), needs=("pyarrow",)
)
