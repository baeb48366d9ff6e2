"""Where each name of a release's parameters is. A network may have 50,000 of them; a question names a few."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock

from app.core.families.parameters import Parameter

NAMES_SHOWN_MAX = 8
RELEASES_KEPT_MAX = 8

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
