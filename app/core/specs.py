"""One description of each object that is sent: what is validated, documented and written into the specification.

A description is a pydantic model that holds plain values. What it says is checked here, strictly: no unknown fields, no
truth values as numbers, nothing infinite. What only the dataset's schema can tell (is there such a column?) is checked by
whoever reads the description, and mathematics never sees one: it is handed frozen dataclasses made from it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema

from app.errors import FieldProblem, InvalidInput

T = TypeVar("T")

PROBLEMS_MAX = 20


class Spec(BaseModel):
    """What a caller sends: no unknown fields, no coercion, no infinities."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Expects:
    """Annotates a type: whatever is wrong with a value, and wherever inside it, the refusal says this."""

    words: str

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.custom_error_schema(handler(source), "expected", custom_error_message=self.words)


class ReadInItsPlace:
    """Annotates a type: described as what it is, handed on as it was sent to whoever reads it where it stands."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.json_or_python_schema(handler(source), core_schema.any_schema())


def read_spec(adapter: TypeAdapter[T], value: object, where: str, refusal: type[InvalidInput]) -> T:
    """The value as described. Raises `refusal` with the first field that is not, named from `where` on."""
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        found = field_problems(error.errors(include_url=False, include_input=False), where)
    raise refusal(found[0].field, found[0].expected)


def field_problems(found: Iterable[Mapping[str, Any]], where: str = "") -> list[FieldProblem]:
    """At most PROBLEMS_MAX, so that a hostile body cannot buy a long answer. Input values are never repeated."""
    root = (where,) if where else ()
    problems = [FieldProblem(place((*root, *item["loc"])), _expected(item)) for item in found]
    return problems[:PROBLEMS_MAX]


def place(path: Iterable[int | str]) -> str:
    """`("model", "prior", 0)` → `model.prior.0`; the empty path is the body itself."""
    return (".".join(shown(str(step)) for step in path) or "body")[:200]


def shown(name: str) -> str:
    """A name the caller chose, if it can be repeated in any refusal."""
    return name if name.isprintable() else "(unprintable)"


_WORDS = {
    "missing": "this field to be present",
    "extra_forbidden": "no such field",
    "string_type": "text",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "list_type": "a list",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
}
_PHRASES = (
    (re.compile(r"^Input should be "), ""),
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"^String should match pattern "), "text that matches "),
    (re.compile(r"^String should have "), "text of "),
    (re.compile(r"^(List|Dictionary) should have (.*?)( after validation)?, not \d+$"), r"\2"),
)


def _expected(item: Mapping[str, Any]) -> str:
    words = _WORDS.get(item["type"])
    if words is not None:
        return words
    message = str(item["msg"])
    for pattern, phrase in _PHRASES:
        message = pattern.sub(phrase, message)
    return message
