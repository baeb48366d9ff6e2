"""Draws as an Arrow table: float64 columns that share the samples' memory, the receipt in the schema's metadata."""

from collections.abc import Mapping
from typing import Any

import msgspec

from app.services.exports.draws import Draws

RECEIPT_KEY = "postern_receipt"


def arrow_table(draws: Draws, receipt: Mapping[str, Any]) -> Any:
    """A `pyarrow.Table`. Raises ImportError where pyarrow is not installed.

    From buffers, because `pyarrow.array` imports pandas to see whether it was given something of it.
    """
    import pyarrow as pa

    double = pa.float64()
    metadata = {RECEIPT_KEY: msgspec.json.encode(receipt)}
    fields = [pa.field(name, double, nullable=False) for name in draws.names]
    columns = [pa.Array.from_buffers(double, draws.size, [None, pa.py_buffer(each)]) for each in draws.columns()]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata))
