"""Exported files read back as `Samples`, values and receipt, in any of the formats; so that a file that was handed on can be
checked against the card by whoever got it."""

from __future__ import annotations

import csv
import json
from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from postern.client.exporting import form_of
from postern.client.libraries import library
from postern.client.problems import Misconfigured
from postern.client.results.receipts import Receipt
from postern.client.results.samples import RECEIPT, Samples, read_samples

_MARK = "# postern-receipt: "


def load_samples(file: str | PathLike[str], *, form: str | None = None) -> Samples:
    """Nothing is believed yet: `release.verify_receipt(load_samples(file))` compares."""
    place = Path(file)
    try:
        return _READERS[form_of(place, form)](place)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        sentence = str(error)[:200]
    raise Misconfigured(f"{place.name} is no file of samples with a receipt: {sentence}")


def _json(place: Path) -> Samples:
    return read_samples(place.read_bytes())


def _csv(place: Path) -> Samples:
    with place.open(encoding="utf-8", newline="") as file:
        first = file.readline()
        if not first.startswith(_MARK):
            raise ValueError("the first line is no receipt")
        rows = csv.reader(file)
        names = next(rows)
        values = array("d", chain.from_iterable(map(float, row) for row in rows))
    return _samples(first.removeprefix(_MARK), names, values)


def _arrow(place: Path) -> Samples:
    with library("pyarrow").memory_map(str(place)) as mapped:
        return _table(library("pyarrow.ipc").open_file(mapped).read_all())


def _parquet(place: Path) -> Samples:
    return _table(library("pyarrow.parquet").read_table(place))


def _table(table: Any) -> Samples:
    np = library("numpy")
    columns = [table.column(name).to_numpy() for name in table.column_names]
    flat = np.column_stack(columns).astype(np.float64)
    text = (table.schema.metadata or {})[RECEIPT.encode()].decode()
    return _samples(text, table.column_names, array("d", flat.tobytes()))


def _netcdf(place: Path) -> Samples:
    """A variable a parameter, or all of them in one where netCDF cannot write their names. In the receipt's order."""
    h5netcdf, np = library("h5netcdf"), library("numpy")
    with h5netcdf.File(place, "r") as file:
        group = file["posterior"]
        text = str(group.attrs[RECEIPT])
        names = [str(name) for name in json.loads(text)["parameters"]]
        if "parameter" in group.dimensions:
            flat = np.asarray(group["parameters"][0], dtype=np.float64)
        else:
            flat = np.column_stack([np.asarray(group[name][0], dtype=np.float64) for name in names])
    return _samples(text, names, array("d", flat.tobytes()))


def _samples(receipt: str, names: Sequence[str], flat: array[float]) -> Samples:
    found = msgspec.json.decode(receipt, type=Receipt)
    if not names or len(flat) % len(names):
        raise ValueError("rows of different lengths")
    return Samples(found.release, tuple(names), found, flat)


_READERS: Mapping[str, Callable[[Path], Samples]] = {
    "json": _json,
    "csv": _csv,
    "arrow": _arrow,
    "parquet": _parquet,
    "netcdf": _netcdf,
}
