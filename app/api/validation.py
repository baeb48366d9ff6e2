"""Pydantic's findings as field problems in this service's words. Input values are never repeated."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from app.errors import FieldProblem

PROBLEMS_MAX = 20

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
    "bool_type": "true or false",
}
_PHRASES = (
    (re.compile(r"^Input should be "), ""),
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"^String should match pattern "), "text that matches "),
    (re.compile(r"^String should have "), "text of "),
    (re.compile(r"^(List|Dictionary) should have (.*?)( after validation)?, not \d+$"), r"\2"),
)


def field_problems(found: Iterable[Mapping[str, Any]]) -> list[FieldProblem]:
    """At most PROBLEMS_MAX, so that a hostile body cannot buy a long answer."""
    problems = [FieldProblem(place(item["loc"]), _expected(item)) for item in found]
    return problems[:PROBLEMS_MAX]


def place(path: Iterable[int | str]) -> str:
    """`("model", "prior", 0)` → `model.prior.0`; the empty path is the body itself."""
    return (".".join(str(step) for step in path) or "body")[:200]


def _expected(item: Mapping[str, Any]) -> str:
    words = _WORDS.get(item["type"])
    if words is not None:
        return words
    message = str(item["msg"])
    for pattern, phrase in _PHRASES:
        message = pattern.sub(phrase, message)
    return message
