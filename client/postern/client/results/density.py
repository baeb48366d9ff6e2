"""Series for plots, over public ranges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from postern.client.results.receipts import Receipt
from postern.client.results.releases import Parameter


@dataclass(frozen=True, slots=True)
class Histogram:
    """`counts[i]` draws lie between `edges[i]` and `edges[i + 1]`; `density` integrates to one."""

    release: str
    samples: int
    parameters: tuple[Parameter, ...]
    receipt: Receipt = field(repr=False)
    edges: tuple[float, ...] = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)
    density: tuple[float, ...] = field(repr=False)
    view: str = "samples"
    points: int | None = None


@dataclass(frozen=True, slots=True)
class JointHistogram:
    """Of two parameters: `edges[0]` and rows belong to the first."""

    release: str
    samples: int
    parameters: tuple[Parameter, ...]
    receipt: Receipt = field(repr=False)
    edges: tuple[tuple[float, ...], tuple[float, ...]] = field(repr=False)
    counts: tuple[tuple[int, ...], ...] = field(repr=False)
    density: tuple[tuple[float, ...], ...] = field(repr=False)
    view: str = "samples"
    points: int | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A smooth density: points `x`, `y`."""

    release: str
    samples: int
    parameters: tuple[Parameter, ...]
    receipt: Receipt = field(repr=False)
    x: tuple[float, ...] = field(repr=False)
    y: tuple[float, ...] = field(repr=False)
    bandwidth: float
    view: str = "samples"
    points: int | None = None


Density = Histogram | JointHistogram | Curve


def read_density(body: bytes) -> Density:
    found: dict[str, Any] = msgspec.json.decode(body)
    kind: type[Any] = Curve if "x" in found else JointHistogram if len(found["parameters"]) == 2 else Histogram
    series: Density = msgspec.convert(found, kind)
    return series
