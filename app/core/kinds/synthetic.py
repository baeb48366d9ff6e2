"""Synthetic rows: made up from what may be believed after a release, as if the model were the truth. Free post-processing.

A row takes a place among the release's groups, in proportion to how many rows each is known or believed to have; a point of the
belief, each as likely as any other; and a value of every modelled column by the model's law at that point. So over many rows each
column has its posterior predictive law. Rows are no more accurate than the release, and repeat none of the people in it.

Numbers come from a hash of a public seed: the same rows on every worker, and of more rows the first are the same.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import Whole
from app.core.parameters import Group
from app.core.schema import Column
from app.errors import NumericalFailure

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_BYTES = 8
_BITS = 52
"""A middle of 2⁵² cells is a double, and neither 0 nor 1."""
_CELLS, _SDS = 4_096, 8.0
NOT_KEPT = "what was measured of its groups was not kept, so nobody can say how many rows each has"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a release beside its points: public numbers, and what was measured, if anything."""

    mechanism: Any
    people: int
    unit_rows: int
    measured: Whole | None
    columns: Mapping[str, Column] = field(default_factory=dict)
    """As they were declared."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """Rows of which a point of the belief and a place are known: `values` is (parameters, points), and row i looks at point
    `point[i]` of the parameters from `start[i]` on."""

    values: Array
    point: Codes
    start: Codes
    seed: bytes
    columns: Mapping[str, Column] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(self.point)

    def parameter(self, index: int | Codes) -> Array:
        """Of every row: the parameter `index` places from its start."""
        return np.asarray(self.values[self.start + index, self.point])

    def uniforms(self, name: str) -> Array:
        return uniforms(self.seed, name, self.rows)

    def part(self, first: int, last: int) -> "Sketch":
        return Sketch(self.values, self.point[first:last], self.start[first:last], self.seed, self.columns)


@dataclass(frozen=True, slots=True)
class RowLaw:
    """How a kind of model makes rows. All of it from public numbers but `weights` and `draw`."""

    names: Callable[[Any], tuple[str, ...]]
    """The modelled columns, in the order they are made."""
    work: Callable[[Any], int]
    """Numbers looked at for one row."""
    width: Callable[[Any], int]
    """Parameters of one place: places stand side by side."""
    weights: Callable[[Any, Known], Sequence[float]]
    """How many rows every place has, about. Raises SyntheticUnavailable."""
    draw: Callable[[Any, Sketch], list[Array | Codes]]
    """Of every modelled column: codes of its declared levels (whole), or numbers (real) that its bounds have yet to hold."""
    refused: Callable[[Any], str | None] = lambda model: None
    """Why this model of the kind makes none; None: it makes some."""
    note: Callable[[Any], str | None] = lambda model: None
    """What a reader of the rows has to know beside what is always said."""


@dataclass(frozen=True, slots=True)
class MadeRows:
    """`groups[place[i]]` is the group of row i; `columns` are the modelled ones."""

    groups: tuple[Group, ...]
    place: Codes
    names: tuple[str, ...]
    columns: tuple[Array | Codes, ...]


def make_rows(
    law: RowLaw, model: Any, groups: Sequence[Group], values: Array, known: Known, rows: int, seed: bytes
) -> MadeRows:
    """`values` is (parameters, points), `groups` every parameter's. Raises SyntheticUnavailable."""
    width = law.width(model)
    shares = np.asarray(law.weights(model, known), np.float64)
    if len(shares) * width != len(values) or not np.all(shares >= 0) or not shares.sum() > 0:
        raise NumericalFailure("places of synthetic rows need a weight each")
    place = chosen(np.cumsum(shares), uniforms(seed, "place", rows))
    point = (uniforms(seed, "point", rows) * values.shape[1]).astype(np.int64)
    found = law.draw(model, Sketch(values, point, place * width, seed, known.columns))
    return MadeRows(tuple(groups[::width]), place, law.names(model), tuple(found))


def chosen(below: Array, uniform: Array) -> Codes:
    """The place whose share of the running sums `below` holds each number; one of weight 0 is never chosen."""
    found = np.searchsorted(below, uniform * below[-1], side="right")
    last = np.flatnonzero(np.diff(below, prepend=0.0) > 0)[-1]
    return np.asarray(np.minimum(found, last), np.int64)


def believed_rows(noisy: float, sd: float, most: int) -> float:
    """E[m | noisy] of a private group's number m of rows, even on [0, most] before and the noise normal: a sum over the
    numbers near enough to matter."""
    near = min(max(noisy, 0.0), float(most))
    low, high = max(near - _SDS * sd, 0.0), min(near + _SDS * sd, float(most))
    rows = low + (np.arange(_CELLS) + 0.5) / _CELLS * (high - low)
    log_mass = -(((rows - noisy) / sd) ** 2) / 2
    mass = np.exp(log_mass - log_mass.max())
    return float(np.dot(rows, mass) / mass.sum())


def uniforms(seed: bytes, name: str, count: int) -> Array:
    """In (0, 1), from a hash: no library's generator may change under a release. A stream for every name."""
    stream = hashlib.shake_256(hashlib.sha256(seed + name.encode()).digest())
    words = np.frombuffer(stream.digest(_BYTES * count), dtype="<u8")
    return np.asarray(((words >> np.uint64(64 - _BITS)).astype(np.float64) + 0.5) / 2.0**_BITS)
