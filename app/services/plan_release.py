"""A what-if: cost and accuracy of a release that does not exist, from public numbers only. Free."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.core.families import Model, parse_model
from app.core.mechanisms import Baps, Laplace, MapPoint, Mechanism, parse_mechanism
from app.core.mechanisms.accuracy import expected_accuracy
from app.core.mechanisms.calibration import (
    Target,
    largest_samples,
    largest_temperature,
    smallest_trim,
)
from app.core.mechanisms.comparison import Alternative, Comparison, alternatives
from app.core.mechanisms.mechanism import read_epsilon
from app.core.schema import Column, parse_columns, parse_unit
from app.errors import InvalidInput, InvalidMechanism, InvalidModel, NumericalFailure, VacuousGuarantee
from app.ledger.canonical import canonical_json
from app.services.budgets import cost_view
from app.services.chosen_mechanism import auto_samples, is_auto
from app.services.computed_costs import check_people, compute
from app.services.plan_curves import plan_curves
from app.services.plan_figures import accuracy_json, advice, alternative_json, predictive_json, scores_json
from app.services.runtime import Runtime

DELTA_DEFAULT = 1e-6
CALIBRATIONS = ("samples", "temperature", "trim")
COMPARED_FROM, COMPARED_TO = 1e-5, 1e3


@dataclass(frozen=True, slots=True)
class _Question:
    """What was asked, parsed. `target` is None for a plain cost."""

    model: Model
    mechanism: Mapping[str, Any]
    people: int
    unit_rows: int
    delta: float
    target: Target | None
    calibrate: str | None
    epsilon_max: float
    samples_max: int


async def plan_release(runtime: Runtime, *, spec: Mapping[str, Any]) -> dict[str, Any]:
    """With a `target`, what is missing is found: samples, or by `calibrate` the temperature or the trim; with
    `mechanism.kind` `auto`, the mechanism itself. Plans are remembered by a hash of what was asked.

    Raises InvalidModel, InvalidMechanism, InvalidInput, VacuousGuarantee for δ ≥ 1, NumericalFailure, TooBusy.
    """
    memo = hashlib.sha256(canonical_json(spec).encode()).digest()
    known = runtime.warm.plans.get(memo)
    if known is not None:
        return known
    question = _read(runtime, spec)
    check_people(question.people, question.unit_rows)
    plan = await compute(runtime, lambda: _plan(question))
    runtime.warm.plans.put(memo, plan, 1)
    return plan


def _read(runtime: Runtime, spec: Mapping[str, Any]) -> _Question:
    unit = spec.get("privacy_unit")
    if isinstance(unit, Mapping) and unit.get("column") is None and "max_rows" in unit:
        unit = {**unit, "column": "person"}
    target, delta = _read_target(spec)
    mechanism = {name: value for name, value in spec["mechanism"].items() if value is not None}
    return _Question(
        model=parse_model(spec["model"], plan_columns(spec)),
        mechanism=mechanism,
        people=spec["n"],
        unit_rows=parse_unit(unit, {}).max_rows,
        delta=delta,
        target=target,
        calibrate=_read_calibrate(spec.get("calibrate"), mechanism, target),
        epsilon_max=runtime.settings.epsilon_max,
        samples_max=runtime.settings.samples_max,
    )


def _read_target(spec: Mapping[str, Any]) -> tuple[Target | None, float]:
    target, own = spec.get("target"), spec.get("delta")
    for field, delta in (("delta", own), ("target.delta", target["delta"] if target else None)):
        if delta is not None and not delta < 1:
            raise VacuousGuarantee(field, "a number below 1: at δ = 1 nothing is promised")
    if target is None:
        return None, DELTA_DEFAULT if own is None else float(own)
    if own is not None and own != target["delta"]:
        raise InvalidInput("delta", "the same value as target.delta, or nothing")
    return Target(float(target["epsilon"]), float(target["delta"])), float(target["delta"])


def _read_calibrate(asked: object, mechanism: Mapping[str, Any], target: Target | None) -> str | None:
    if asked is None:
        open_ended = target is not None and mechanism.get("kind") == "baps" and "samples" not in mechanism
        return "samples" if open_ended else None
    if not isinstance(asked, str) or asked not in CALIBRATIONS:
        raise InvalidInput("calibrate", "one of " + ", ".join(CALIBRATIONS))
    if target is None:
        raise InvalidInput("target", "an (ε, δ) to calibrate for")
    if mechanism.get("kind") != "baps":
        raise InvalidMechanism("mechanism.kind", "baps, to calibrate: the others take their ε directly")
    return asked


def plan_columns(spec: Mapping[str, Any]) -> dict[str, Column]:
    """As given; a plan for a yes/no column needs none."""
    if spec.get("columns") is not None:
        return parse_columns(spec["columns"])
    model = spec["model"]
    name = model.get("column") if isinstance(model, Mapping) else None
    if isinstance(name, str) and model.get("family") == "bernoulli":
        return {name: Column(name, "binary")}
    raise InvalidModel("columns", "the public bounds of the model's column, as in a dataset")


def _plan(question: _Question) -> dict[str, Any]:
    model, own, rest, asked = _rated(question)
    mechanism, cost = own.mechanism, own.cost
    people, unit_rows, delta = question.people, question.unit_rows, question.delta
    view = cost_view(cost, cost.samples, delta)
    plan: dict[str, Any] = {
        "model": model.as_json(),
        "mechanism": mechanism.as_json(),
        "n": people,
        "privacy_unit_rows": unit_rows,
        "parameters": [{"name": p.name, "lower": p.lower, "upper": p.upper} for p in model.parameters],
        "cost": {
            "epsilon": view.epsilon,
            "delta": view.delta,
            "pure_epsilon": view.pure_epsilon,
            "best_order": cost.total.best_order(delta)[1],
            "per_sample": view.per_sample,
            "method": cost.method,
            "papers_pure_epsilon": cost.papers_pure,
        },
        "vacuous": not view.epsilon <= question.epsilon_max,
        "accuracy": accuracy_json(own),
        "prior_predictive": predictive_json(model),
        "grid_points": cost.grid_points,
        "curves": plan_curves(model, mechanism, cost, people, unit_rows, delta, question.samples_max),
        "scores": scores_json(model, mechanism, people, unit_rows),
        "alternatives": [alternative_json(other, delta) for other in rest],
        "advice": advice(asked, own, rest) if rest or is_auto(question.mechanism) else None,
    }
    if question.target is not None:
        fits = view.epsilon <= question.target.epsilon
        plan["target"] = {"epsilon": question.target.epsilon, "delta": delta, "fits": fits}
    return plan


def _rated(question: _Question) -> tuple[Model, Alternative, list[Alternative], Comparison]:
    """(model, the mechanism asked for, others at the same cost, what they were compared by)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if is_auto(question.mechanism):
            asked = _auto(question)
            own, *rest = alternatives(asked)
        else:
            model, mechanism = _calibrated(question)
            cost = mechanism.cost(model, question.people, question.unit_rows)
            accuracy = expected_accuracy(model, mechanism, question.people, question.unit_rows)
            own = Alternative(mechanism, cost, accuracy)
            target = Target(cost.total.epsilon(question.delta) * (1 + 1e-9), question.delta)
            asked = Comparison(model, question.people, question.unit_rows, target, samples_max=question.samples_max)
            rest = _compared(asked, mechanism)
    if not all(math.isfinite(each.accuracy.total_sd) for each in (own, *rest)):
        raise NumericalFailure("the accuracy of this release cannot be computed: the trim is too wide")
    return asked.model, own, rest, asked


def _calibrated(question: _Question) -> tuple[Model, Mechanism]:
    model, target = question.model, question.target
    people, unit_rows = question.people, question.unit_rows
    if question.calibrate is None or target is None:
        written = parse_mechanism(question.mechanism)
        return model, written.settled(model, people, unit_rows) if isinstance(written, MapPoint) else written
    if question.calibrate == "samples":
        one = parse_mechanism({**question.mechanism, "samples": 1})
        most = largest_samples(one.cost(model, people, unit_rows), target)
        return model, one.with_samples(min(most, question.samples_max))
    if question.calibrate == "temperature":
        samples = parse_mechanism({**question.mechanism, "temperature": 1.0}).samples
        return model, Baps(samples, largest_temperature(model, people, unit_rows, samples, target))
    fixed = parse_mechanism(question.mechanism)
    if not isinstance(fixed, Baps):
        raise InvalidMechanism("mechanism.kind", "baps, to calibrate")
    return smallest_trim(model, people, unit_rows, fixed, target), fixed


def _auto(question: _Question) -> Comparison:
    target = question.target
    if "epsilon" in question.mechanism:
        own = Target(read_epsilon(question.mechanism), question.delta)
        if target is not None and target != own:
            raise InvalidMechanism("mechanism.epsilon", "the same value as target.epsilon, or nothing")
        target = own
    if target is None:
        raise InvalidInput("target", "an (ε, δ) to choose a mechanism for, or `mechanism.epsilon`")
    samples = auto_samples(question.mechanism, question.samples_max)
    return Comparison(question.model, question.people, question.unit_rows, target, samples, question.samples_max)


def _compared(asked: Comparison, mechanism: Mechanism) -> list[Alternative]:
    """The other mechanisms at this one's own cost, where they exist; `baps` only where a sample of it fits uncooled."""
    if not COMPARED_FROM <= asked.target.epsilon <= COMPARED_TO:
        return []
    found = []
    one = Baps(1).cost(asked.model, asked.people, asked.unit_rows)
    if not isinstance(mechanism, Baps) and asked.target.fits(one):
        found.append(asked.baps())
    if not isinstance(mechanism, Laplace) and asked.unit_rows == 1:
        found.append(asked.laplace())
    if not isinstance(mechanism, MapPoint):
        found.append(asked.point())
    return found
