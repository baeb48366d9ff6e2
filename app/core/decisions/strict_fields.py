"""What a question's fields may hold, and how it is said that they do not.

Names sent by the caller are echoed only when printable and short, so that any refusal can be encoded.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from app.core.language.tree import MAGNITUDE_MAX, TEXT_LENGTH_MAX
from app.core.specs import Expects, Spec, field_problems, place
from app.errors import InvalidQuery

Described = TypeVar("Described", bound=Spec)
Kind = TypeVar("Kind")

NAME_LENGTH_MAX = 128
FIELDS_MAX = 32
"""Nothing has so many, and every unknown one would be a problem to list."""
NOWHERE: Mapping[str, str] = {}

Number = Annotated[
    float, Field(ge=-MAGNITUDE_MAX, le=MAGNITUDE_MAX), Expects(f"a number of size at most {MAGNITUDE_MAX:g}")
]
Share = Annotated[float, Field(gt=0, lt=1), Expects("a number above 0 and below 1")]
"""Read as the decimal that was written: `as_written`."""
ExpressionText = Annotated[str, Field(json_schema_extra={"maxLength": TEXT_LENGTH_MAX})]
"""Its parser refuses what is longer, with a position."""


def find_kind(known: Mapping[str, Kind], value: object, where: str, elsewhere: Mapping[str, str] = NOWHERE) -> Kind:
    """By the `kind` that the value names. `elsewhere` are kinds that exist, with the models they are for."""
    if not isinstance(value, dict):
        raise InvalidQuery(where, "an object")
    kind = value.get("kind")
    if isinstance(kind, str) and kind in known:
        return known[kind]
    expected = "one of " + ", ".join(known)
    if isinstance(kind, str) and kind in elsewhere:
        expected += f"; {kind} is for models of the kind {elsewhere[kind]}"
    raise InvalidQuery(f"{where}.kind", expected)


def check_fields(described: type[Described], value: Any, where: str = "") -> Described:
    """An object as described. Unknown fields are named before what is wrong with the others."""
    problems: Sequence[Any] = ()
    if len(value) <= FIELDS_MAX:
        try:
            # Through `model_validate` this takes twice as long, and most questions are short.
            found: Described = described.__pydantic_validator__.validate_python(value)
            return found
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
    known = described.model_fields
    for name in value:
        if name not in known:
            field = place((where, name) if where else (name,))
            raise InvalidQuery(field, "no fields other than " + ", ".join(sorted(known)))
    problem = field_problems(problems[:1], where)[0]
    raise InvalidQuery(problem.field, problem.expected)


@lru_cache(maxsize=256)
def as_written(share: float) -> Fraction:
    """The number as the decimal that was written.

    The double nearest 0.1 is a little more than 1/10, so the 0.1-quantile of ten samples would be the second
    one; read as the shortest decimal that gives this double, it is the first.
    """
    return Fraction(*Decimal(repr(share)).as_integer_ratio())


def is_label(value: str) -> bool:
    return 1 <= len(value) <= NAME_LENGTH_MAX and value.isprintable()


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
