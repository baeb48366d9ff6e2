"""Draws with names that are hard to write down, and every way others open the files made of them."""

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import xarray as xr
from numpy.typing import NDArray
from pyarrow import parquet

from app.core.decisions import SampleSet
from app.core.parameters import Parameter
from app.services.reading.exports import FORMATS
from app.services.reading.exports.draws import Draws

Matrix = NDArray[np.float64]
Opened = tuple[list[str], Matrix]

PLAIN = ["theta", "beta_1", "λ", "cured=true|arm=drug"]
HOSTILE = [
    "theta", 'say "yes"', "a,b", "#1", "a/b", "=1+1", "+1", "-1", "@x", "'quoted'", "\\", '\\"', "n=1|m=2,o='3'", "{}", ".",
    "chain", "draw", " padded ", "naïve", "nai\u0308ve", "🜁", "x;y", "%s", "NaN", "1e5", "true",
]  # fmt: skip
ODD_VALUES = [0.0, -0.0, 5e-324, 1 / 3, 0.1, 1e-7, 1e16, 123456789.123456789, 1.7976931348623157e308, -1e-300, 2.5, 1.0]


def drawn(names: Sequence[str], size: int, seed: int = 1) -> Draws:
    """The odd values first, then any."""
    values = np.random.default_rng(seed).normal(0, 1e3, (size, len(names)))
    flat = values.reshape(-1)
    flat[: len(ODD_VALUES)] = ODD_VALUES[: len(flat)]
    wide = np.finfo(float).max
    return Draws(SampleSet([Parameter(name, -wide, wide) for name in names], values))


def written(name: str, draws: Draws, receipt: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    FORMATS[name].write(draws, receipt, file)
    return file.getvalue()


def receipt_of(draws: Draws) -> dict[str, Any]:
    rests_on = {"view": "samples", "samples": draws.size, "points": None}
    return {"version": 2, "release": "rel_x", **rests_on, "parameters": draws.names}


def matrix_of(draws: Draws) -> Matrix:
    return np.concatenate(list(draws.rows()))


def values_sha256(values: Matrix) -> str:
    """As a receipt has it, by another way than the service's."""
    return hashlib.sha256(b"".join(np.float64(value).astype("<f8").tobytes() for value in values.ravel())).hexdigest()


def _columns(frame: Any) -> Opened:
    return [str(name) for name in frame.columns], np.asarray(frame.to_numpy(), dtype=np.float64)


def _json(body: bytes) -> Opened:
    read = json.loads(body)
    return read["parameters"], np.array(read["values"], dtype=np.float64).reshape(-1, len(read["parameters"]))


def _pandas_csv(body: bytes) -> Opened:
    return _columns(pd.read_csv(io.BytesIO(body), skiprows=1))


def _polars_csv(body: bytes) -> Opened:
    """Polars leaves a quote in a header doubled, as the file has to have it."""
    names, values = _columns(pl.read_csv(io.BytesIO(body), skip_rows=1))
    return [name.replace('""', '"') for name in names], values


def _pyarrow_ipc(body: bytes) -> Opened:
    table = pa.ipc.open_file(io.BytesIO(body)).read_all()
    return table.column_names, np.column_stack([column.to_numpy() for column in table.columns])


def _polars_ipc(body: bytes) -> Opened:
    return _columns(pl.read_ipc(io.BytesIO(body)))


def _pandas_feather(body: bytes) -> Opened:
    return _columns(pd.read_feather(io.BytesIO(body)))


def _pyarrow_parquet(body: bytes) -> Opened:
    table = parquet.read_table(io.BytesIO(body))
    return table.column_names, np.column_stack([column.to_numpy() for column in table.columns])


def _pandas_parquet(body: bytes) -> Opened:
    return _columns(pd.read_parquet(io.BytesIO(body)))


def _polars_parquet(body: bytes) -> Opened:
    return _columns(pl.read_parquet(io.BytesIO(body)))


def _xarray(body: bytes) -> Opened:
    with xr.open_dataset(io.BytesIO(body), group="posterior", engine="h5netcdf") as posterior:
        return from_posterior(posterior)


def from_posterior(posterior: Any) -> Opened:
    """Either of the two layouts."""
    assert posterior.sizes["chain"] == 1
    if "parameter" in posterior.dims:
        return [str(name) for name in posterior["parameter"].values], posterior["parameters"].values[0]
    names = [str(name) for name in posterior.data_vars]
    return names, np.column_stack([posterior[name].values[0] for name in names])


READERS: dict[str, list[Callable[[bytes], Opened]]] = {
    "json": [_json],
    "csv": [_pandas_csv, _polars_csv],
    "arrow": [_pyarrow_ipc, _polars_ipc, _pandas_feather],
    "parquet": [_pyarrow_parquet, _pandas_parquet, _polars_parquet],
    "netcdf": [_xarray],
}
OPENINGS = [(name, reader) for name, readers in READERS.items() for reader in readers]


def receipt_inside(name: str, body: bytes) -> dict[str, Any]:
    """Found the way the documentation says."""
    if name == "json":
        text = json.dumps(json.loads(body)["receipt"])
    elif name == "csv":
        text = body.partition(b"\n")[0].decode().removeprefix("# postern-receipt: ")
    elif name == "arrow":
        text = pa.ipc.open_file(io.BytesIO(body)).schema.metadata[b"postern_receipt"].decode()
    elif name == "parquet":
        text = parquet.read_schema(io.BytesIO(body)).metadata[b"postern_receipt"].decode()
    else:
        with xr.open_dataset(io.BytesIO(body), group="posterior", engine="h5netcdf") as posterior:
            text = posterior.attrs["postern_receipt"]
    found: dict[str, Any] = json.loads(text)
    return found
