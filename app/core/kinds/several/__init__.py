"""A release of several models of the same people: one charge, one reading, parts with names (ADR 32)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Never

from app.core.audits.own_mechanism import Effort
from app.core.audits.verdict import Findings, together
from app.core.decisions.estimands import Askable
from app.core.kinds.kind import CardWords, Kind
from app.core.kinds.plan_figures import Planner
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.kinds.several.checks import SeveralChecks
from app.core.kinds.several.estimand import in_part_estimand
from app.core.kinds.several.mechanism import SeveralMechanisms, part_measured, part_values, stored_values
from app.core.kinds.several.model import (
    FAMILY,
    NAME_PATTERN,
    PARTS,
    PARTS_MAX,
    SeveralModels,
    check_names,
    default_name,
)
from app.errors import InvalidMechanism, InvalidModel

Audit = Callable[[ReleaseModel], Callable[[Any, Any, int, int, Effort], Findings] | None]


def several_kind(askable_of: Callable[[ReleaseModel], Askable], audit_of: Audit) -> Kind:
    """Costs and draws are the parts' own, and so are plans, which are made before there is a whole."""
    return Kind(
        name="several",
        families={},
        mechanisms={},
        planner=Planner(_by_part, _by_part, _by_part, _by_part, _by_part),
        audit=partial(_audited, audit_of),
        estimands={"part": in_part_estimand(askable_of)},
        card=CardWords(
            papers_assumption=lambda model, rows: "as for each part; never charged",
            records=lambda model, rows: None,
            assumes=lambda model, rows: None,
            noisy=lambda model, rows: "the noisy numbers of its parts",
        ),
    )


def _audited(
    audit_of: Audit, model: SeveralModels, mechanism: SeveralMechanisms, people: int, unit_rows: int, effort: Effort
) -> Findings:
    """Costs of parts add, so that each is held against its own."""
    share, found = replace(effort, points=effort.points // len(mechanism.parts)), []
    for own, part in zip(model.models, mechanism.parts, strict=True):
        audit = audit_of(own)
        if audit is None:
            return Findings(reasons=("nothing audits one of these models",))
        found.append(audit(own, part, people, unit_rows, share))
    return together(found)


def _by_part(*asked: object) -> Never:
    raise InvalidModel("models", "plans of several models as POST /v1/plans makes them")


def several_models(spec: Mapping[str, Any], parse: Callable[[Mapping[str, Any]], ReleaseModel]) -> SeveralModels:
    """As stored. Raises InvalidModel."""
    parts = spec.get(PARTS)
    if spec.keys() != {"family", PARTS} or spec["family"] != FAMILY or not isinstance(parts, list) or not parts:
        raise InvalidModel("model", "the parts of several models, as they are stored")
    if not all(isinstance(part, Mapping) and part.keys() == {"name", "model"} for part in parts):
        raise InvalidModel("model.parts", "parts of a name and a model each")
    if any(not isinstance(part["model"], Mapping) or PARTS in part["model"] for part in parts):
        raise InvalidModel("model.parts", "a model in every part, without parts of its own")
    names = tuple(part["name"] for part in parts)
    check_names(names)
    return SeveralModels(names, tuple(parse(part["model"]) for part in parts))


def several_mechanisms(
    spec: Mapping[str, Any], model: SeveralModels, parse: Callable[[Any, ReleaseModel], ReleaseMechanism]
) -> SeveralMechanisms:
    """As stored. Raises InvalidMechanism."""
    parts = spec.get(PARTS)
    if spec.keys() != {"kind", PARTS} or not isinstance(parts, list) or len(parts) != len(model.models):
        raise InvalidMechanism("mechanism", "one for each of several models")
    return SeveralMechanisms(tuple(parse(part, own) for part, own in zip(parts, model.models, strict=True)))


__all__ = [
    "FAMILY",
    "NAME_PATTERN",
    "PARTS",
    "PARTS_MAX",
    "SeveralChecks",
    "SeveralMechanisms",
    "SeveralModels",
    "check_names",
    "default_name",
    "part_measured",
    "part_values",
    "several_kind",
    "several_mechanisms",
    "several_models",
    "stored_values",
]
