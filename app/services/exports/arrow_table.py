"""Draws as an Arrow table: float64 columns that share the samples' memory, the receipt in the schema's metadata."""

from collections.abc import Mapping
from typing import Any

import msgspec

from app.services.exports.draws import Draws

RECEIPT_KEY = "postern_receipt"


def arrow_table(draws: Draws, receipt: Mapping[str, Any]) -> Any:
    """A `pyarrow.Table`. Raises ImportError where pyarrow is not installed."""
    import pyarrow as pa

    metadata = {RECEIPT_KEY: msgspec.json.encode(receipt)}
    fields = [pa.field(name, pa.float64(), nullable=False) for name in draws.names]
    columns = [pa.array(column) for column in draws.columns()]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata))
