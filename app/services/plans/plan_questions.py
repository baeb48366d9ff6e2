"""What a plan's body asks, read: accuracy targets, who is asked about, what a mechanism leaves open."""

from collections.abc import Mapping
from typing import Any

from app.core.kinds.accuracy_goal import LEVEL_DEFAULT, Goal
from app.core.kinds.plan_figures import AUTO, auto_samples, is_auto
from app.core.schema import Column, parse_columns, parse_unit
from app.errors import InvalidInput, InvalidMechanism, InvalidModel, VacuousGuarantee

DELTA_DEFAULT = 1e-6
MEASURES = ("half_width", "sd")


def read_goal(target: Mapping[str, Any] | None, field: str = "target") -> Goal | None:
    """None for a target by ε, or none at all. Raises InvalidInput."""
    if target is None:
        return None
    asked = [measure for measure in MEASURES if target.get(measure) is not None]
    if not asked:
        return None
    if len(asked) > 1 or target.get("epsilon") is not None:
        raise InvalidInput(field, "one of epsilon, half_width, sd; several models on one ε have a target each")
    value, level = target[asked[0]], target.get("level")
    if not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise InvalidInput(f"{field}.{asked[0]}", "a number above 0")
    if level is not None and not (isinstance(level, int | float) and 0 < level < 1):
        raise InvalidInput(f"{field}.level", "a number above 0 and below 1")
    return Goal("half_width" if asked[0] == "half_width" else "sd", float(value), float(level or LEVEL_DEFAULT))


def read_delta(own: float | None, targets: float | None) -> float:
    """Raises VacuousGuarantee, and InvalidInput where the two differ."""
    for field, delta in (("delta", own), ("target.delta", targets)):
        if delta is not None and not delta < 1:
            raise VacuousGuarantee(field, "a number below 1: at δ = 1 nothing is promised")
    if own is not None and targets is not None and own != targets:
        raise InvalidInput("delta", "the same value as target.delta, or nothing")
    return float(next((delta for delta in (targets, own) if delta is not None), DELTA_DEFAULT))


def mechanism_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """`auto` where none is named; fields left out or null are left open."""
    given = spec.get("mechanism") or {"kind": AUTO}
    return {name: value for name, value in given.items() if value is not None}


def open_samples(mechanism: Mapping[str, Any], samples_max: int, field: str = "mechanism") -> int | None:
    """How many samples a plan by accuracy has to give, if that is fixed. Raises InvalidMechanism."""
    if not is_auto(mechanism):
        raise InvalidMechanism(f"{field}.kind", "auto, or no mechanism: a target by accuracy finds it")
    if "epsilon" in mechanism:
        raise InvalidMechanism(f"{field}.epsilon", "nothing: a target by accuracy finds it")
    return auto_samples(mechanism, samples_max)


def read_unit_rows(spec: Mapping[str, Any]) -> int:
    unit = spec.get("privacy_unit")
    if isinstance(unit, Mapping) and unit.get("column") is None and "max_rows" in unit:
        unit = {**unit, "column": "person"}
    return parse_unit(unit, {}).max_rows


def plan_columns(spec: Mapping[str, Any]) -> dict[str, Column]:
    """As given; a plan for a yes/no column needs none."""
    if spec.get("columns") is not None:
        return parse_columns(spec["columns"])
    model = spec["model"]
    name = model.get("column") if isinstance(model, Mapping) else None
    if isinstance(name, str) and model.get("family") == "bernoulli":
        return {name: Column(name, "binary")}
    raise InvalidModel("columns", "the public bounds of the model's column, as in a dataset")
