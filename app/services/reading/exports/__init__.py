"""Formats in which draws and tables leave. To add one of draws: a file here and a line in FORMATS; contract tests pick it up."""

from dataclasses import replace
from typing import Any

from app.services.reading.exports.arrow_file import ARROW
from app.services.reading.exports.csv_rows import CSV
from app.services.reading.exports.draws import Draws
from app.services.reading.exports.format import ExportFormat
from app.services.reading.exports.json_rows import JSON
from app.services.reading.exports.netcdf_file import NETCDF
from app.services.reading.exports.parquet_file import PARQUET
from app.services.reading.exports.table import Table
from app.services.reading.exports.table_binary import write_rows_parquet, write_table_arrow, write_table_parquet
from app.services.reading.exports.table_text import write_rows_csv, write_table_csv, write_table_json

FORMATS: dict[str, ExportFormat[Draws]] = {each.name: each for each in (JSON, CSV, ARROW, PARQUET, NETCDF)}


def _of_tables(kind: ExportFormat[Any], write: Any) -> ExportFormat[Table]:
    changed: ExportFormat[Table] = replace(kind, write=write)
    return changed


SYNTHETIC_FORMATS = {"csv": _of_tables(CSV, write_rows_csv), "parquet": _of_tables(PARQUET, write_rows_parquet)}
"""Of synthetic rows, the one that is sent unless another is asked for first."""
LONG_FORMATS = {
    "json": _of_tables(JSON, write_table_json),
    "csv": _of_tables(CSV, write_table_csv),
    "arrow": _of_tables(ARROW, write_table_arrow),
    "parquet": _of_tables(PARQUET, write_table_parquet),
}
"""Of tables in long format."""

__all__ = ["FORMATS", "LONG_FORMATS", "SYNTHETIC_FORMATS", "ExportFormat"]
