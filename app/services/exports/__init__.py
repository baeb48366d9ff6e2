"""Formats in which draws leave. To add one: a file here and a line in FORMATS; the contract tests pick it up."""

from app.services.exports.csv_rows import CSV
from app.services.exports.format import ExportFormat
from app.services.exports.json_rows import JSON

FORMATS: dict[str, ExportFormat] = {each.name: each for each in (JSON, CSV)}

__all__ = ["FORMATS", "ExportFormat"]
