"""Joint draws in the shape one's tools want, each with the receipt attached.

Kept as one flat array of doubles, draw by draw. numpy, pandas, polars, pyarrow and xarray are imported by the conversion
that needs them and by nothing else.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from postern.client.libraries import library
from postern.client.results.receipts import Receipt, digest_of_values
from postern.client.tables import cell, html_table, printable, text_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RECEIPT = "postern_receipt"
_ROWS_SHOWN = 8
_COLUMNS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Samples:
    """Draws of `parameters`, or points of the belief given them: `view` says. `samples["theta"]` is one parameter's, in order."""

    release: str
    parameters: tuple[str, ...]
    receipt: Receipt
    flat: array[float] = field(repr=False)

    @property
    def view(self) -> str:
        return self.receipt.view

    def __len__(self) -> int:
        return len(self.flat) // len(self.parameters)

    def __getitem__(self, parameter: str) -> array[float]:
        try:
            place = self.parameters.index(parameter)
        except ValueError:
            raise KeyError(parameter) from None
        return self.flat[place :: len(self.parameters)]

    def rows(self) -> Iterator[tuple[float, ...]]:
        width = len(self.parameters)
        return (tuple(self.flat[start : start + width]) for start in range(0, len(self.flat), width))

    def values_sha256(self) -> str:
        if sys.byteorder == "little":
            return digest_of_values(memoryview(self.flat).cast("B"))
        swapped = array("d", self.flat)
        swapped.byteswap()
        return digest_of_values(swapped.tobytes())

    def match(self, receipt: Receipt) -> bool:
        """True if these are the draws the receipt speaks of: as many, of the same parameters, with the same digest."""
        shape = (len(self), self.parameters) == (receipt.rows, receipt.parameters)
        return shape and self.values_sha256() == receipt.values_sha256

    def to_numpy(self) -> NDArray[np.float64]:
        """Draws × parameters, a copy."""
        flat: NDArray[np.float64] = library("numpy").array(self.flat)
        return flat.reshape(len(self), len(self.parameters))

    def to_pandas(self) -> Any:
        """A DataFrame; the receipt is in `.attrs`."""
        frame = library("pandas").DataFrame(self.to_numpy(), columns=list(self.parameters))
        frame.attrs[RECEIPT] = self.receipt.to_json()
        return frame

    def to_polars(self) -> Any:
        """A DataFrame. Polars keeps no metadata: the receipt stays with this object."""
        return library("polars").DataFrame(self.to_numpy(), schema=list(self.parameters))

    def to_arrow(self) -> Any:
        """A Table; the receipt is in the schema's metadata."""
        values = self.to_numpy()
        columns = {name: values[:, place].copy() for place, name in enumerate(self.parameters)}
        return library("pyarrow").table(columns).replace_schema_metadata({RECEIPT: self._receipt_text()})

    def to_xarray(self) -> Any:
        """A Dataset as ArviZ has them: dimensions chain and draw, a variable a parameter, the receipt in `.attrs`. If a
        parameter is itself called chain or draw, or has a `/` in its name, one variable `parameters` holds all."""
        values = self.to_numpy()[None]
        where: dict[str, Any] = {"chain": [0], "draw": range(len(self))}
        if where.keys() & set(self.parameters) or any("/" in name for name in self.parameters):
            where["parameter"] = list(self.parameters)
            variables: dict[str, Any] = {"parameters": (("chain", "draw", "parameter"), values)}
        else:
            variables = {name: (("chain", "draw"), values[..., place]) for place, name in enumerate(self.parameters)}
        return library("xarray").Dataset(variables, coords=where, attrs=self._attributes())

    def to_inference_data(self) -> Any:
        """A DataTree with the group `posterior`: what ArviZ's functions take since its packages arviz-base, arviz-stats
        and arviz-plots replaced InferenceData by it."""
        xarray = library("xarray")
        return xarray.DataTree.from_dict({"/": xarray.Dataset(attrs=self._attributes()), "posterior": self.to_xarray()})

    def _attributes(self) -> dict[str, str]:
        return {"inference_library": "postern", RECEIPT: self._receipt_text()}

    def _receipt_text(self) -> str:
        return json.dumps(self.receipt.to_json(), separators=(",", ":"), ensure_ascii=False)

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        names = self.parameters[:_COLUMNS_SHOWN]
        more = ("…",) if len(self.parameters) > _COLUMNS_SHOWN else ()
        rows = zip(range(_ROWS_SHOWN), self.rows(), strict=False)
        return ("draw", *names, *more), [(str(i), *map(cell, row[:_COLUMNS_SHOWN]), *more) for i, row in rows]

    def _title(self) -> str:
        what = "draws" if self.view == "samples" else f"points of the {self.view} view"
        return f"{len(self)} {what} of {len(self.parameters)} parameters from {self.release}"

    def __str__(self) -> str:
        return f"{printable(self._title())}\n{text_table(*self._shown())}"

    def __repr__(self) -> str:
        return f"<Samples: {printable(self._title())}>"

    def _repr_html_(self) -> str:
        header, rows = self._shown()
        return html_table(header, rows, caption=self._title())


@dataclass(frozen=True, slots=True)
class _Draws:
    release: str
    samples: int
    parameters: tuple[str, ...]
    values: list[list[float]]
    receipt: Receipt
    points: int | None = None


_DRAWS = msgspec.json.Decoder(_Draws)


def read_samples(body: bytes) -> Samples:
    found = _DRAWS.decode(body)
    announced = found.samples if found.points is None else found.points
    if not found.parameters or len(found.values) != announced:
        raise ValueError(f"{len(found.values)} draws where {announced} were announced")
    if any(len(row) != len(found.parameters) for row in found.values):
        raise ValueError(f"a draw without all of the {len(found.parameters)} parameters")
    return Samples(found.release, found.parameters, found.receipt, array("d", chain.from_iterable(found.values)))
