"""Every kind of model a release can be of, with the mechanisms that release it. To add a kind: a file and a line in KINDS."""

from collections.abc import Mapping
from typing import Any

from app.core.kinds.kind import Kind, ReleaseMechanism, ReleaseModel, budget_epsilon_max, refuse_wide_budget
from app.core.kinds.networks import NETWORKS
from app.core.kinds.one_parameter import ONE_PARAMETER
from app.core.kinds.regression import REGRESSION
from app.core.schema import Column
from app.errors import InvalidModel

KINDS: tuple[Kind, ...] = (ONE_PARAMETER, NETWORKS, REGRESSION)

ALL_FAMILIES: dict[str, Kind] = {family: kind for kind in KINDS for family in kind.families}
ALL_MECHANISMS: tuple[str, ...] = tuple(sorted({name for kind in KINDS for name in kind.mechanisms}))


def parse_model(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> ReleaseModel:
    """Of any kind. Raises InvalidModel."""
    if not isinstance(spec, Mapping):
        raise InvalidModel("model", "an object")
    family = spec.get("family")
    if not isinstance(family, str) or family not in ALL_FAMILIES:
        raise InvalidModel("model.family", "one of " + ", ".join(sorted(ALL_FAMILIES)))
    model = ALL_FAMILIES[family].families[family](spec, columns)
    _refuse_equal_names(model)
    return model


def _refuse_equal_names(model: ReleaseModel) -> None:
    """Names are made of those of columns and levels, which may hold any characters: "a*b" by "c" is "a" by "b*c"."""
    seen: set[str] = set()
    for parameter in model.parameters:
        if parameter.name in seen:
            raise InvalidModel(
                "model", f"columns and levels that name every parameter once; {parameter.name!r} comes twice"
            )
        seen.add(parameter.name)


def kind_of(model: ReleaseModel) -> Kind:
    return ALL_FAMILIES[model.family]


def parse_mechanism(spec: Mapping[str, Any], model: ReleaseModel) -> ReleaseMechanism:
    """A mechanism for this model. Raises InvalidMechanism."""
    return kind_of(model).parse_mechanism(spec)


__all__ = [
    "ALL_FAMILIES",
    "ALL_MECHANISMS",
    "KINDS",
    "Kind",
    "ReleaseMechanism",
    "ReleaseModel",
    "budget_epsilon_max",
    "kind_of",
    "parse_mechanism",
    "parse_model",
    "refuse_wide_budget",
]
