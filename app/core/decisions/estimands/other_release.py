"""`{"kind": "parameter", "name": "theta", "release": "rel_…"}` inside a comparison or an expression: a number of another release.

If that is of several models, `"part": "cured"` beside it says which is meant; without it parameters are called `cured.theta`.
Samples of the two are paired in order, as many as the shorter prefix has. Given the rows each was drawn by its own chance, so
that any pairs will do; that the parameters are independent given both is an assumption, and answers say so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import (
    DEPTH_MAX,
    ESTIMANDS_MAX,
    Askable,
    Context,
    Estimand,
    NumberElsewhere,
    named_by,
    require_number,
)
from app.core.decisions.sample_set import OtherName, SampleSet
from app.core.parameters import Parameter
from app.errors import InvalidQuery

RELEASES_MAX = 3
"""Others, or parts of them, that one question may name: each is opened for it."""


@dataclass(frozen=True, slots=True)
class Named:
    """Where another release is named first, and every estimand that is asked of it: parts may be named in them."""

    where: str
    asked: list[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class InRelease(NumberElsewhere):
    """A number of the other release, sample by sample."""

    release: OtherName

    def distribution(self, samples: SampleSet) -> Empirical:
        return self.inner.distribution(samples.beside[self.release])


@dataclass(frozen=True, slots=True)
class Beside:
    """What is public of a release that may be named. Inside it no third one can be."""

    release: OtherName
    parameters: Sequence[Parameter]
    model: object
    askable: Askable

    def read(self, value: Mapping[str, Any], context: Context) -> Estimand:
        own = Context(self.parameters, self.model, self.askable, context.where, context.depth, context.read_before)
        return InRelease(require_number(own.read(value), context.where), self.release)


def releases_named(question: object) -> dict[OtherName, Named]:
    """What a question names that nobody has checked yet; limits are those that reading it will have.

    Raises InvalidQuery for what is no id, or too many.
    """
    found: dict[OtherName, Named] = {}
    for place, (where, value) in enumerate(_estimands(question)):
        if place >= ESTIMANDS_MAX:
            break
        if "release" in value:
            name, part = named_by(value)
            if not isinstance(name, str) or not 1 <= len(name) <= _LENGTH_MAX or not _sane(name):
                raise InvalidQuery(f"{where}.release", "the id of a release")
            if part is not None and not isinstance(part, str):
                raise InvalidQuery(f"{where}.part", "the name of a part")
            found.setdefault((name, part), Named(where, [])).asked.append(value)
            if len(found) > RELEASES_MAX:
                expected = f"at most {RELEASES_MAX} other releases, or parts of them, in one question"
                raise InvalidQuery(f"{where}.release", expected)
    return found


_LENGTH_MAX = 64


def _sane(name: str) -> bool:
    return name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()


def _estimands(question: object) -> Iterator[tuple[str, dict[str, Any]]]:
    """What stands inside the question's estimand and utility."""
    if isinstance(question, dict):
        for part in ("estimand", "utility"):
            yield from _inside(question.get(part), part, 0)


def _inside(value: object, where: str, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(value, dict) or depth > DEPTH_MAX:
        return
    names = value.get("names")
    inner = [(f"{where}.{name}", value.get(name)) for name in ("left", "right", "estimand")]
    inner += [(f"{where}.names", each) for each in names.values()] if isinstance(names, dict) else []
    for place, each in inner:
        if isinstance(each, dict):
            yield place, each
            yield from _inside(each, place, depth + 1)
