"""Mechanisms: every one ends in a stored sample set. To add one: a file here and a line in MECHANISMS."""

from collections.abc import Callable, Mapping
from typing import Any

from app.core.mechanisms.baps import Baps, parse_baps
from app.core.mechanisms.laplace import Laplace, parse_laplace_mechanism
from app.core.mechanisms.map_point import MapPoint, parse_map
from app.core.mechanisms.mechanism import SAMPLES_MAX, Mechanism
from app.core.mechanisms.release_cost import ReleaseCost

MECHANISMS: dict[str, Callable[[Mapping[str, Any]], Mechanism]] = {
    "baps": parse_baps,
    "laplace": parse_laplace_mechanism,
    "map": parse_map,
}


__all__ = [
    "MECHANISMS",
    "SAMPLES_MAX",
    "Baps",
    "Laplace",
    "MapPoint",
    "Mechanism",
    "ReleaseCost",
]
