"""Reading a question's fields strictly: unknown fields, booleans as numbers, NaN and infinities are refused.

Names sent by the caller are echoed only when printable and short, so that any refusal can be encoded.
"""

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

from app.core.decisions.expressions.tree import MAGNITUDE_MAX
from app.errors import InvalidQuery

NAME_LENGTH_MAX = 128


def require_object(field: str, value: object) -> Mapping[str, Any]:
    if type(value) is not dict and not isinstance(value, Mapping):
        raise InvalidQuery(field, "an object")
    return value


def refuse_unknown(where: str, spec: Mapping[str, Any], allowed: Set[str]) -> None:
    if not spec.keys() <= allowed:
        unknown = [name for name in spec if name not in allowed]
        field = ".".join(filter(None, (where, shown(unknown[0]))))
        raise InvalidQuery(field, "no fields other than " + ", ".join(sorted(allowed)))


def read_number(field: str, value: object) -> float:
    # The comparison with the limit is exact for whole numbers of any length and false for NaN.
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAGNITUDE_MAX:
        raise InvalidQuery(field, f"a number of size at most {MAGNITUDE_MAX:g}")
    return float(value)


def read_fraction(field: str, value: object) -> Fraction:
    """A number strictly between 0 and 1, as the decimal that was written.

    The double nearest 0.1 is a little more than 1/10, so the 0.1-quantile of ten samples would be the second
    one; read as the shortest decimal that gives this double, it is the first.
    """
    number = read_number(field, value)
    if not 0 < number < 1:
        raise InvalidQuery(field, "a number above 0 and below 1")
    return Fraction(*Decimal(repr(number)).as_integer_ratio())


def is_label(value: object) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= NAME_LENGTH_MAX and value.isprintable()


def shown(name: object) -> str:
    return name if isinstance(name, str) and is_label(name) else "(unprintable)"


@contextmanager
def renaming(fields: Mapping[str, str]) -> Iterator[None]:
    """Refusals name the field as the question wrote it, not as the network's own reader calls it."""
    try:
        yield
    except InvalidQuery as refusal:
        problem = refusal.problems[0]
        for theirs, ours in fields.items():
            if problem.field == theirs or problem.field.startswith(f"{theirs}."):
                raise InvalidQuery(ours + problem.field[len(theirs) :], problem.expected) from None
        raise
