"""Several models of the same people, each under the name of its part.

Neighbours differ in one person, who is in every part. Given the data the parts are drawn independently, so what is known of all
of them together costs the sum of what they cost, order by order and of pure ε (`cost.py`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from app.core.kinds.protocols import ReleaseModel
from app.core.parameters import Parameter, in_part
from app.core.statistics import SeveralRequest
from app.errors import InvalidModel

FAMILY = "several"
PARTS = "parts"
"""Where a stored model, or mechanism, has its parts."""
PARTS_MAX = 16
NAME_PATTERN = "[A-Za-z_][A-Za-z0-9_]{0,63}"
_NAME = re.compile(NAME_PATTERN)


@dataclass(frozen=True)
class SeveralModels:
    """`names[i]` is that of `models[i]`. Parameters are called `cured.theta`: names of parts have no dot."""

    names: tuple[str, ...]
    models: tuple[ReleaseModel, ...]

    @property
    def family(self) -> str:
        return FAMILY

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.joined([model.parameters for model in self.models])

    @cached_property
    def statistic(self) -> SeveralRequest:
        return SeveralRequest(tuple(model.statistic for model in self.models))

    def joined(self, own: Sequence[tuple[Parameter, ...]]) -> tuple[Parameter, ...]:
        """Parameters of every part as those of the whole."""
        named = zip(self.names, own, strict=True)
        return tuple(in_part(each, name) for name, parameters in named for each in parameters)

    def only(self, names: Sequence[str]) -> "SeveralModels":
        """Some of the parts, in the order they have here."""
        kept = [(name, model) for name, model in self if name in names]
        return SeveralModels(tuple(name for name, _ in kept), tuple(model for _, model in kept))

    def __iter__(self) -> Iterator[tuple[str, ReleaseModel]]:
        return zip(self.names, self.models, strict=True)

    def as_json(self) -> dict[str, Any]:
        return {"family": FAMILY, PARTS: [{"name": name, "model": model.as_json()} for name, model in self]}


def default_name(spec: Mapping[str, Any], place: int) -> str:
    """The modelled column's, where it can be a name; otherwise `part_2` for the second."""
    column = spec.get("column")
    return column if isinstance(column, str) and _NAME.fullmatch(column) else f"part_{place + 1}"


def check_names(names: Sequence[str]) -> None:
    """Raises InvalidModel."""
    for place, name in enumerate(names):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InvalidModel(f"models.{place}.name", "a letter or _, then letters, digits and _, at most 64 in all")
        if name in names[:place]:
            raise InvalidModel(f"models.{place}.name", f"a name of its own; {name!r} comes twice")
