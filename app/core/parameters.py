"""A released parameter: its name and the public range it was trimmed to, and where each name of a release stands."""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

NAMES_SHOWN_MAX = 8
RELEASES_KEPT_MAX = 8
"""A network may have 50,000 parameters; a question names a few."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """`lower` and `upper` are public; every stored sample lies between them."""

    name: str
    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not -math.inf < self.lower < self.upper < math.inf:
            raise ValueError("a parameter needs finite lower < upper")


_kept: OrderedDict[int, tuple[tuple[Parameter, ...], dict[str, int]]] = OrderedDict()
_lock = Lock()


def places(parameters: Sequence[Parameter]) -> Mapping[str, int]:
    """Name → index. Kept for the tuples seen last, known by identity: comparing them would take as long as this does."""
    if not isinstance(parameters, tuple):
        return _places(parameters)
    with _lock:
        known = _kept.get(id(parameters))
        if known is not None and known[0] is parameters:
            _kept.move_to_end(id(parameters))
            return known[1]
    found = _places(parameters)
    with _lock:
        _kept[id(parameters)] = (parameters, found)
        if len(_kept) > RELEASES_KEPT_MAX:
            _kept.popitem(last=False)
    return found


def listed(names: Sequence[str]) -> str:
    more = ", …" if len(names) > NAMES_SHOWN_MAX else ""
    return ", ".join(names[:NAMES_SHOWN_MAX]) + more


def _places(parameters: Sequence[Parameter]) -> dict[str, int]:
    return {parameter.name: index for index, parameter in enumerate(parameters)}


def parameters_json(parameters: Sequence[Parameter]) -> list[dict[str, Any]]:
    return [{"name": each.name, "lower": each.lower, "upper": each.upper} for each in parameters]
