"""Families of models. To add one: a file here, a line in FAMILIES, and the contract tests pick it up."""

from collections.abc import Callable, Mapping
from typing import Any

from app.core.families.bernoulli import parse_bernoulli
from app.core.families.exponential import ExponentialModel
from app.core.families.parameters import Parameter
from app.core.schema import Column
from app.errors import InvalidModel

Model = ExponentialModel

FAMILIES: dict[str, Callable[[Mapping[str, Any], Mapping[str, Column]], Model]] = {
    "bernoulli": parse_bernoulli,
}


def parse_model(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> Model:
    if not isinstance(spec, Mapping):
        raise InvalidModel("model", "an object")
    family = spec.get("family")
    if not isinstance(family, str) or family not in FAMILIES:
        raise InvalidModel("model.family", "one of " + ", ".join(sorted(FAMILIES)))
    return FAMILIES[family](spec, columns)


__all__ = ["FAMILIES", "Model", "Parameter", "parse_model"]
