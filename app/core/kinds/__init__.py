"""Every kind of model a release can be of. To add a kind: a folder here and a line in KINDS."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from pydantic import TypeAdapter

from app.core.decisions import question
from app.core.decisions.estimands import Askable
from app.core.decisions.estimands.other_release import Beside
from app.core.decisions.sample_set import OtherName
from app.core.decisions.specification import describe_questions
from app.core.kinds.fit_check import AnyCheck, CheckSpec, FitCheck, KindCheck
from app.core.kinds.groups import (
    StratifiedModel,
    group_columns,
    grouped_model,
    read_where,
    split_columns,
    stratified_kind,
)
from app.core.kinds.kind import Kind, askable_of, estimands_of
from app.core.kinds.mechanism_fields import CURRENT_LAW
from app.core.kinds.networks import NETWORKS
from app.core.kinds.one_parameter import ONE_PARAMETER
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel, drawn_by, drawn_once, refuse_wide_budget
from app.core.kinds.regression import REGRESSION
from app.core.kinds.several import (
    PARTS,
    SeveralChecks,
    SeveralMechanisms,
    SeveralModels,
    several_kind,
    several_mechanisms,
    several_models,
)
from app.core.parameters import Parameter
from app.core.schema import Column
from app.core.specs import Spec, read_one_of, read_spec
from app.core.statistics import RowRequest
from app.errors import CheckNotOffered, InvalidCheck, InvalidModel

KINDS: tuple[Kind, ...] = (ONE_PARAMETER, NETWORKS, REGRESSION)

_WITHOUT_GROUPS = {kind.name: askable_of(kind, KINDS) for kind in KINDS}
_MEASURED = {kind.name: kind.measured for kind in KINDS if kind.measured is not None}
BY_PRIVATE_GROUPS = {name: measured.kind(_WITHOUT_GROUPS[name]) for name, measured in _MEASURED.items()}
"""Kinds whose models in private groups, or of rows that meet a private condition, are a kind of their own."""
BY_STRATA = {kind.name: stratified_kind(kind, _WITHOUT_GROUPS[kind.name]) for kind in KINDS} | {
    kind.name: _MEASURED[name].by_strata(stratified_kind(kind, _WITHOUT_GROUPS[name]))
    for name, kind in BY_PRIVATE_GROUPS.items()
}
"""Every kind again, by public strata."""
SEVERAL = several_kind(lambda model: _ASKABLE[kind_of(model).name], lambda model: kind_of(model).audit)
"""Models of any kind, side by side."""
_EVERY = (*KINDS, *BY_PRIVATE_GROUPS.values(), *BY_STRATA.values(), SEVERAL)
_ASKABLE: dict[str | None, Askable] = {
    None: askable_of(None, _EVERY),
    **{kind.name: askable_of(kind, _EVERY) for kind in _EVERY},
}
GROUPS = "groups"
"""Where a stored model has its groups."""

ESTIMANDS = estimands_of(_EVERY)
describe_questions(ESTIMANDS)


def model_specs() -> dict[str, type[Spec]]:
    """How the models of every kind are described, by family."""
    return {name: family.spec for kind in KINDS for name, family in kind.families.items()}


def mechanism_specs(*, in_plans: bool = False) -> dict[str, type[Spec]]:
    """How mechanisms are described, by kind, whatever the model; in plans some may leave open what the plan finds."""
    found: dict[str, type[Spec]] = {}
    for name, each in (item for kind in KINDS for item in kind.mechanisms.items()):
        spec = (each.plan_spec or each.spec) if in_plans else each.spec
        if found.setdefault(name, spec) is not spec:
            raise TypeError(f"{name} is described in two ways")
    return found


def parse_model(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> ReleaseModel:
    """Of any kind; by groups, or of several models, where `groups` or `parts` is among what is stored of it. Raises
    InvalidModel."""
    if isinstance(spec, Mapping) and PARTS in spec:
        return several_models(spec, lambda part: parse_model(part, columns))
    described, groups = split_groups(spec) if isinstance(spec, Mapping) else (spec, None)
    family, read = read_one_of("family", model_specs(), described, "model", InvalidModel)
    with np.errstate(all="ignore"):  # bounds may be as far apart as doubles are; what overflows is refused
        model = kind_with(family).families[family].build(read, columns)
        if groups is not None or _has_gaps(model, columns):
            model = grouped_model(model, kind_with(family), groups or {"by": []}, columns)
        _refuse_parameters(model)
    return model


def split_groups(spec: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """(a model as a caller describes it, its groups), from how it is stored."""
    described = dict(spec)
    return described, described.pop(GROUPS, None)


def _refuse_parameters(model: ReleaseModel) -> None:
    """Without a range, or of the same name: names are made of those of columns and levels, which may hold any characters,
    and "a*b" by "c" is "a" by "b*c"."""
    try:
        parameters = model.parameters
    except ValueError:
        raise InvalidModel("model", "columns with bounds that give every parameter a range of its own") from None
    seen: set[str] = set()
    for parameter in parameters:
        if parameter.name in seen:
            raise InvalidModel(
                "model", f"columns and levels that name every parameter once; {parameter.name!r} comes twice"
            )
        seen.add(parameter.name)


def _has_gaps(model: ReleaseModel, columns: Mapping[str, Column]) -> bool:
    """Whether cells of its columns may have no value: then it is of the rows that have one, a private group."""
    return any(columns[name].missing == "group" for name in model.statistic.columns)


def kind_of(model: ReleaseModel) -> Kind:
    """The one place that tells models by groups, and several of them, from others."""
    if isinstance(model, SeveralModels):
        return SEVERAL
    if isinstance(model, StratifiedModel):
        return BY_STRATA[kind_of(model.inner).name]
    kind = kind_with(model.family)
    if kind.measured is not None and kind.measured.holds(model):
        return BY_PRIVATE_GROUPS[kind.name]
    return kind


def kind_with(family: str) -> Kind:
    return next(kind for kind in KINDS if family in kind.families)


def parse_mechanism(spec: Mapping[str, Any], model: ReleaseModel) -> ReleaseMechanism:
    """A mechanism for this model. Raises InvalidMechanism."""
    if isinstance(model, SeveralModels):
        return several_mechanisms(spec, model, parse_mechanism)
    return kind_of(model).parse_mechanism(spec)


_CHECK: TypeAdapter[CheckSpec] = TypeAdapter(CheckSpec)


def check_parsed(spec: Mapping[str, Any] | None, model: ReleaseModel) -> AnyCheck | None:
    """As stored: of several models, `{"parts": […]}` with null for a part that has none. Raises InvalidCheck, CheckNotOffered."""
    if spec is None or not isinstance(model, SeveralModels):
        return parse_check(spec, model)
    parts = spec.get(PARTS)
    if spec.keys() != {PARTS} or not isinstance(parts, list) or len(parts) != len(model.models):
        raise InvalidCheck("check", "one, or null, for each of several models")
    return several_checks(model, tuple(parse_check(part, own) for part, own in zip(parts, model.models, strict=True)))


def several_checks(model: SeveralModels, parts: tuple[FitCheck | None, ...]) -> SeveralChecks | None:
    """None where no part has one."""
    asked = [own for own, check in zip(model.models, parts, strict=True) if check is not None]
    return SeveralChecks(parts, tuple(check_of(own).request(own) for own in asked)) if asked else None


def check_request(model: ReleaseModel, check: AnyCheck) -> RowRequest[Any]:
    """What is counted for it."""
    return check.request if isinstance(check, SeveralChecks) else check_of(model).request(model)


def check_seconds(model: ReleaseModel, check: AnyCheck) -> float:
    """What measuring takes at most on the machine of reference."""
    if isinstance(check, SeveralChecks):
        return check.seconds
    return cast(FitCheck, check).work(check_of(model).request(model).bins)


def parse_check(spec: Mapping[str, Any] | None, model: ReleaseModel) -> FitCheck | None:
    """A check of fit of this model; None where none is asked for. Raises InvalidCheck, CheckNotOffered."""
    if spec is None:
        return None
    read = read_spec(_CHECK, spec, "check", InvalidCheck)
    check_of(model).request(model)
    return FitCheck(read.epsilon, read.delta)


def check_of(model: ReleaseModel) -> KindCheck:
    """Raises CheckNotOffered."""
    kind = kind_of(model)
    if kind.check is None:
        raise CheckNotOffered("check", f"nothing: there is no check of fit for {kind.name} models")
    return kind.check


def compile_question(
    body: object,
    parameters: Sequence[Parameter],
    model: ReleaseModel | None = None,
    others: Mapping[OtherName, tuple[Sequence[Parameter], ReleaseModel]] | None = None,
) -> question.Question:
    """With what can be asked of every release and of this kind of model; `others` are releases of the same dataset, or parts of
    them, that it may name too. Raises InvalidQuery or InvalidExpression."""
    beside = {
        name: Beside(name, own, other, _ASKABLE[kind_of(other).name]) for name, (own, other) in (others or {}).items()
    }
    askable = _ASKABLE[None if model is None else kind_of(model).name]
    return question.compile_question(body, parameters, model, askable, beside)


QuestionSpec = question.QuestionSpec
"""Complete here, where every kind is known."""

__all__ = [
    "CURRENT_LAW",
    "ESTIMANDS",
    "GROUPS",
    "KINDS",
    "PARTS",
    "FitCheck",
    "Kind",
    "QuestionSpec",
    "ReleaseMechanism",
    "ReleaseModel",
    "SeveralChecks",
    "SeveralMechanisms",
    "SeveralModels",
    "StratifiedModel",
    "check_of",
    "check_parsed",
    "check_request",
    "check_seconds",
    "compile_question",
    "drawn_by",
    "drawn_once",
    "group_columns",
    "kind_of",
    "kind_with",
    "mechanism_specs",
    "model_specs",
    "parse_check",
    "parse_mechanism",
    "parse_model",
    "read_where",
    "refuse_wide_budget",
    "several_checks",
    "split_columns",
    "split_groups",
]
