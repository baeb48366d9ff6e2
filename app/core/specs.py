"""One description of each object that is sent: what is validated, documented and written into the specification.

A description is a pydantic model that holds plain values. What it says is checked here, strictly: no unknown fields, no
truth values as numbers, nothing infinite. What only the dataset's schema can tell (is there such a column?) is checked by
whoever reads the description, and mathematics never sees one: it is handed frozen dataclasses made from it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from app.errors import FieldProblem, InvalidInput

T = TypeVar("T")

PROBLEMS_MAX = 20
_MARK = "\x1f"
"""Begins every step of a path that names a choice of a union and no field: it is left out of what a caller reads."""


class Spec(BaseModel):
    """What a caller sends: no unknown fields, no coercion, no infinities."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, serialize_by_alias=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Defaults are told in words: generators that meet `default` make the field one that must be sent."""
        shown = handler(schema)
        for field in handler.resolve_ref_schema(shown).get("properties", {}).values():
            default = field.pop("default", None)
            if default not in (None, [], {}):
                told = f"{json.dumps(default, ensure_ascii=False)} if left out."
                field["description"] = f"{field['description']} {told}" if "description" in field else told
        return shown


class _NotNull:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        nullable: Any = handler(source)
        inner: CoreSchema = nullable["schema"]
        return inner


Maybe = Annotated[T | None, _NotNull(), Field(exclude_if=lambda value: value is None)]
"""`Maybe[float] = Field(default=None, …)`: may be left out, and is then None to its reader; null is refused."""


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


@dataclass(frozen=True)
class OneOf:
    """`Annotated[Spec, OneOf("kind", {…})]`: the one description that the field `kind` names.

    With `untagged` that field may be missing, and the choice of this name is meant. Without a tag, choices are told apart by
    a field that only one of them has: it is their name, and the last is meant if none is there.
    """

    tag: str | None
    choices: Mapping[str, type[Spec]]
    untagged: str | None = None
    note: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices = {_MARK + name: handler.generate_schema(spec) for name, spec in self.choices.items()}
        return core_schema.tagged_union_schema(
            {**choices, _MARK: core_schema.dict_schema()},  # the last refuses what is no object
            discriminator=self._choice,
            custom_error_type="one_of",
            custom_error_message="one of {known}",
            custom_error_context={"tag": self.tag or "", "known": ", ".join(sorted(self.choices)) + self.note},
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        choices = [choice for choice in handler(schema)["oneOf"] if "$ref" in choice]
        shown: JsonSchemaValue = {"oneOf": choices}
        if self.tag is not None and self.untagged is None:
            mapping = {name: choice["$ref"] for name, choice in zip(self.choices, choices, strict=True)}
            shown["discriminator"] = {"propertyName": self.tag, "mapping": mapping}
        return shown

    def _choice(self, value: Any) -> str | None:
        if isinstance(value, Spec):
            return next((_MARK + name for name, spec in self.choices.items() if type(value) is spec), None)
        if not isinstance(value, dict):
            return _MARK
        if self.tag is None:
            return _MARK + next((name for name in self.choices if name in value), [*self.choices][-1])
        name = value.get(self.tag, self.untagged)
        return _MARK + name if isinstance(name, str) and name else None  # the mark alone is what is no object


@lru_cache(maxsize=64)
def _one_of(tag: str, choices: tuple[tuple[str, type[Spec]], ...], note: str) -> TypeAdapter[Spec]:
    return TypeAdapter(Annotated[Spec, OneOf(tag, dict(choices), note=note)])


def read_one_of(
    tag: str, choices: Mapping[str, type[Spec]], value: object, where: str, refusal: type[InvalidInput], note: str = ""
) -> tuple[str, Spec]:
    """(its name, the value as described), by what is registered now: a registry may be added to."""
    read = read_spec(_one_of(tag, tuple(choices.items()), note), value, where, refusal)
    return getattr(read, tag), read


def read_spec(adapter: TypeAdapter[T], value: object, where: str, refusal: type[InvalidInput]) -> T:
    """The value as described. Raises `refusal` with the first field that is not, named from `where` on."""
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        found = field_problems(
            error.errors(include_url=False, include_input=False), where, getattr(adapter, "_type", None)
        )
    raise refusal(found[0].field, found[0].expected)


def field_problems(found: Iterable[Mapping[str, Any]], where: str = "", described: Any = None) -> list[FieldProblem]:
    """At most PROBLEMS_MAX, so that a hostile body cannot buy a long answer. Input values are never repeated."""
    root = (where,) if where else ()
    return [
        FieldProblem(place((*root, *_named_steps(item))), _expected(item, described))
        for item in islice(found, PROBLEMS_MAX)
    ]


def place(path: Iterable[int | str]) -> str:
    """`("model", "prior", 0)` → `model.prior.0`; the empty path is the body itself."""
    return (".".join(shown(str(step)) for step in path) or "body")[:200]


def shown(name: str) -> str:
    """A name the caller chose, if it can be repeated in any refusal."""
    return name if name.isprintable() else "(unprintable)"


def _named_steps(item: Mapping[str, Any]) -> Iterable[int | str]:
    path: tuple[int | str, ...] = item["loc"]
    if path[-1:] == ("[key]",):
        path = path[:-2]
    if item["type"] == "one_of" and item["ctx"]["tag"]:
        path = (*path, item["ctx"]["tag"])
    return (step for step in path if not (isinstance(step, str) and step.startswith(_MARK)))


_WORDS = {
    "missing": "this field to be present",
    "string_type": "text",
    "string_unicode": "text of Unicode characters",
    "invalid_key": "names that are text",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "list_type": "a list",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
}
_LIMITS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "above"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "below"),
}
_PHRASES = (
    (re.compile(r"^Input should be "), ""),
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"^String should match pattern "), "text that matches "),
    (re.compile(r"^String should have "), "text of "),
    (re.compile(r"^(List|Dictionary) should have (.*?)( after validation)?, not \d+$"), r"\2"),
)


def _expected(item: Mapping[str, Any], described: Any) -> str:
    kind = item["type"]
    if kind in _WORDS:
        return _WORDS[kind]
    if kind in _LIMITS:
        name, relation = _LIMITS[kind]
        limit = item["ctx"][name]
        return f"a number {relation} {limit:g}" if isinstance(limit, float) else f"a whole number {relation} {limit}"
    if kind == "extra_forbidden":
        known = _known_fields(described, item["loc"][:-1])
        return f"no such field (known: {', '.join(sorted(known))})" if known else "no such field"
    if kind == "literal_error":
        names = sorted(re.findall(r"'([^']*)'", item["ctx"]["expected"]))
        return names[0] if len(names) == 1 else "one of " + ", ".join(names)
    message = str(item["msg"])
    for pattern, phrase in _PHRASES:
        message = pattern.sub(phrase, message)
    return message


def _known_fields(described: Any, path: Iterable[int | str]) -> list[str]:
    """The fields of what is described at the end of a path; none where that cannot be told."""
    for step in path:
        described = _part(_bare(described), step)
    spec = _bare(described)
    if not (isinstance(spec, type) and issubclass(spec, BaseModel)):
        return []
    return [field.alias or name for name, field in spec.model_fields.items()]


def _bare(described: Any) -> Any:
    """Without its alias, its null and its annotations, unless one of these is a union."""
    described = getattr(described, "__value__", described)
    if get_origin(described) is Annotated:
        unions = [note for note in described.__metadata__ if isinstance(note, OneOf)]
        return unions[0] if unions else _bare(get_args(described)[0])
    if get_origin(described) in (Union, UnionType):
        return next((_bare(part) for part in get_args(described) if part is not type(None)), None)
    return described


def _part(described: Any, step: int | str) -> Any:
    if isinstance(described, OneOf):
        return described.choices.get(str(step).removeprefix(_MARK))
    if isinstance(described, type) and issubclass(described, BaseModel):
        for name, field in described.model_fields.items():
            if step == (field.alias or name):
                unions = [note for note in field.metadata if isinstance(note, OneOf)]
                return Annotated[field.annotation, unions[0]] if unions else field.annotation
        return None
    return get_args(described)[-1] if get_origin(described) in (dict, list) else None
