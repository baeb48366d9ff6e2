"""netCDF in ArviZ's layout: group `posterior`, dimensions `chain` (one) and `draw`.

A variable a parameter, where netCDF allows the names and they are not too many. Otherwise one variable `parameters`
with a third dimension `parameter`, whose coordinate holds the names as they are: HDF5 would take minutes to open tens
of thousands of variables, and has no way to write a `/` in a name.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import msgspec
import numpy as np

from app.services.reading.exports.arrow_file import RECEIPT_KEY, groups_metadata
from app.services.reading.exports.draws import Draws
from app.services.reading.exports.format import ExportFormat

VARIABLES_MAX = 256
TOGETHER = "parameters"

_ALLOWED = re.compile(r"\w([^/]*[^/ ])?")


def write_netcdf(draws: Draws, receipt: Mapping[str, Any], file: BinaryIO) -> None:
    import h5netcdf

    with h5netcdf.File(file, "w") as root:
        posterior = root.create_group("posterior")
        posterior.attrs["inference_library"] = "postern"
        posterior.attrs[RECEIPT_KEY] = msgspec.json.encode(receipt).decode()
        for name, groups in groups_metadata(draws).items():
            posterior.attrs[name] = groups.decode()
        posterior.dimensions = {"chain": 1, "draw": draws.size}
        for name, length in (("chain", 1), ("draw", draws.size)):
            posterior.create_variable(name, (name,), np.int64)[:] = np.arange(length)
        if _can_be_variables(draws.names):
            _write_apart(posterior, draws)
        else:
            _write_together(posterior, draws)


def _can_be_variables(names: Sequence[str]) -> bool:
    """Names of netCDF variables: normalised Unicode, a word character first, no `/`, no space last; none taken."""
    return len({"chain", "draw", *names}) == len(names) + 2 <= VARIABLES_MAX + 2 and all(
        _ALLOWED.fullmatch(name) and unicodedata.is_normalized("NFC", name) for name in names
    )


def _write_apart(posterior: Any, draws: Draws) -> None:
    for name, column in zip(draws.names, draws.columns(), strict=True):
        posterior.create_variable(name, ("chain", "draw"), np.float64)[0, :] = column


def _write_together(posterior: Any, draws: Draws) -> None:
    import h5py

    posterior.dimensions["parameter"] = draws.width
    names = posterior.create_variable("parameter", ("parameter",), h5py.string_dtype())
    names[:] = np.array(draws.names, dtype=object)
    together = posterior.create_variable(TOGETHER, ("chain", "draw", "parameter"), np.float64)
    start = 0
    for piece in draws.rows():
        together[0, start : start + len(piece), :] = piece
        start += len(piece)


NETCDF = ExportFormat(
    "netcdf",
    "nc",
    "application/x-netcdf",
    write_netcdf,
    ("h5netcdf", "h5py"),
    needs=("h5netcdf", "h5py"),
)
