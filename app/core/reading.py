"""Reading a model's JSON strictly: no unknown fields, no truth values as numbers, nothing infinite."""

import math
from collections.abc import Mapping
from typing import Any

from app.errors import InvalidModel


def read_object(field: str, value: object, *, required: set[str], optional: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidModel(field, "an object")
    for name in sorted(required - set(value)):
        raise InvalidModel(f"{field}.{name}", "this field to be present")
    for name in sorted(map(str, set(value) - required - optional)):
        known = ", ".join(sorted(required | optional))
        raise InvalidModel(f"{field}.{name}", f"no such field (known: {known})")
    return value


def read_number(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidModel(field, "a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidModel(field, "a finite number")
    return number
