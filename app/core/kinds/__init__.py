"""Every kind of model a release can be of. To add a kind: a folder here and a line in KINDS."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.decisions import question
from app.core.decisions.specification import describe_questions
from app.core.kinds.asking import askable_by_family, estimands_of
from app.core.kinds.kind import Kind
from app.core.kinds.networks import NETWORKS
from app.core.kinds.one_parameter import ONE_PARAMETER
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel, refuse_wide_budget
from app.core.kinds.regression import REGRESSION
from app.core.parameters import Parameter
from app.core.schema import Column
from app.errors import InvalidModel

KINDS: tuple[Kind, ...] = (ONE_PARAMETER, NETWORKS, REGRESSION)

ALL_FAMILIES: dict[str, Kind] = {family: kind for kind in KINDS for family in kind.families}
ALL_MECHANISMS: tuple[str, ...] = tuple(sorted({name for kind in KINDS for name in kind.mechanisms}))
ESTIMANDS = estimands_of(KINDS)
_ASKABLE = askable_by_family(KINDS)
describe_questions(ESTIMANDS)


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


def compile_question(
    body: object, parameters: Sequence[Parameter], model: ReleaseModel | None = None
) -> question.Question:
    """With what can be asked of every release and of this kind of model. Raises InvalidQuery or InvalidExpression."""
    return question.compile_question(body, parameters, model, _ASKABLE[None if model is None else model.family])


QuestionSpec = question.QuestionSpec

__all__ = [
    "ALL_FAMILIES",
    "ALL_MECHANISMS",
    "ESTIMANDS",
    "KINDS",
    "Kind",
    "QuestionSpec",
    "ReleaseMechanism",
    "ReleaseModel",
    "compile_question",
    "kind_of",
    "parse_mechanism",
    "parse_model",
    "refuse_wide_budget",
]
