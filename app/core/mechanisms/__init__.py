"""Mechanisms: every one ends in a stored sample set. To add one: a file here and a line in MECHANISMS."""

from collections.abc import Callable, Mapping
from typing import Any

from app.core.mechanisms.baps import SAMPLES_MAX, Baps, parse_baps
from app.core.mechanisms.release_cost import ReleaseCost
from app.errors import InvalidMechanism

Mechanism = Baps

MECHANISMS: dict[str, Callable[[Mapping[str, Any]], Mechanism]] = {
    "baps": parse_baps,
}


def parse_mechanism(spec: Mapping[str, Any]) -> Mechanism:
    if not isinstance(spec, Mapping):
        raise InvalidMechanism("mechanism", "an object")
    kind = spec.get("kind")
    if not isinstance(kind, str) or kind not in MECHANISMS:
        raise InvalidMechanism("mechanism.kind", "one of " + ", ".join(sorted(MECHANISMS)))
    return MECHANISMS[kind](spec)


__all__ = ["MECHANISMS", "SAMPLES_MAX", "Mechanism", "ReleaseCost", "parse_mechanism"]
