"""A released parameter: its name, its group and the public range it was trimmed to, and where each name of a release stands."""

import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

NAMES_SHOWN_MAX = 8
RELEASES_KEPT_MAX = 8
"""A network may have 50,000 parameters; a question names a few."""


Group = tuple[tuple[str, str], ...]
"""(column, level) for every column a release is grouped by, in the order they were named; empty without groups."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """`lower` and `upper` are public; every stored sample lies between them.

    Of a release by groups every group has its own: `theta[arm=drug]` is `theta` of that `group`.
    """

    name: str
    lower: float
    upper: float
    group: Group = ()
    of: str | None = None
    """The name without the group, where there is one."""
    part: str | None = None
    """Of a release of several models read together: whose it is. `cured.theta` is `theta` of the part `cured`."""

    def __post_init__(self) -> None:
        if not -math.inf < self.lower < self.upper < math.inf:
            raise ValueError("a parameter needs finite lower < upper")


def in_group(parameter: Parameter, group: Group) -> Parameter:
    """The same of one group; of one that is part of a group already, of both."""
    own = parameter.of or parameter.name
    shown = ",".join(f"{column}={level}" for column, level in group)
    return Parameter(f"{own}[{shown}]" if group else own, parameter.lower, parameter.upper, group, own)


def in_part(parameter: Parameter, part: str) -> Parameter:
    """The same of one of several models. Names of parts have no dot: what is before the first one is the part."""
    return replace(parameter, name=f"{part}.{parameter.name}", part=part)


def out_of_part(parameter: Parameter) -> Parameter:
    return replace(parameter, name=parameter.name.partition(".")[2], part=None)


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
    return [parameter_json(each) for each in parameters]


def parameter_json(parameter: Parameter) -> dict[str, Any]:
    shown = {"name": parameter.name, "lower": parameter.lower, "upper": parameter.upper}
    group = {"group": dict(parameter.group)} if parameter.group else {}
    return shown | group | ({} if parameter.part is None else {"part": parameter.part})
