"""Formats in which draws leave. To add one: a file here and a line in FORMATS; the contract tests pick it up."""

from app.services.reading.exports.arrow_file import ARROW
from app.services.reading.exports.csv_rows import CSV
from app.services.reading.exports.format import ExportFormat
from app.services.reading.exports.json_rows import JSON
from app.services.reading.exports.netcdf_file import NETCDF
from app.services.reading.exports.parquet_file import PARQUET

FORMATS: dict[str, ExportFormat] = {each.name: each for each in (JSON, CSV, ARROW, PARQUET, NETCDF)}

__all__ = ["FORMATS", "ExportFormat"]
