"""A what-if: cost and accuracy of a release that does not exist, from public numbers only. Free."""

import hashlib
from collections.abc import Mapping
from typing import Any

from app.core.kinds import kind_of, parse_model
from app.core.kinds.plan_figures import PlanQuestion, finite
from app.core.parameters import parameters_json
from app.core.privacy.targets import Target
from app.core.schema import Column, parse_columns, parse_unit
from app.errors import InvalidInput, InvalidMechanism, InvalidModel, VacuousGuarantee
from app.ledger.canonical import canonical_json
from app.services.budgets import cost_view
from app.services.runtime.cost_cache import check_people, compute
from app.services.runtime.runtime import Runtime

DELTA_DEFAULT = 1e-6
CALIBRATIONS = ("samples", "temperature", "trim")


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


def _read(runtime: Runtime, spec: Mapping[str, Any]) -> PlanQuestion:
    unit = spec.get("privacy_unit")
    if isinstance(unit, Mapping) and unit.get("column") is None and "max_rows" in unit:
        unit = {**unit, "column": "person"}
    target, delta = _read_target(spec)
    mechanism = {name: value for name, value in spec["mechanism"].items() if value is not None}
    model = parse_model(spec["model"], plan_columns(spec))
    return PlanQuestion(
        model=model,
        mechanism=mechanism,
        read_mechanism=kind_of(model).parse_mechanism,
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


def _plan(question: PlanQuestion) -> dict[str, Any]:
    found = kind_of(question.model).planner.figures(question)
    cost, delta = found.cost, question.delta
    view = cost_view(cost, cost.samples, delta)
    plan: dict[str, Any] = {
        "model": found.model.as_json(),
        "mechanism": found.mechanism.as_json(),
        "n": question.people,
        "privacy_unit_rows": question.unit_rows,
        "parameters": parameters_json(found.model.parameters),
        "cost": {
            "epsilon": view.epsilon,
            "delta": view.delta,
            "pure_epsilon": view.pure_epsilon,
            "best_order": cost.total.best_order(delta)[1],
            "per_sample": view.per_sample,
            "method": cost.method,
            "papers_pure_epsilon": finite(cost.papers_pure),
        },
        "vacuous": not view.epsilon <= min(question.epsilon_max, found.mechanism.budget_epsilon_max),
        "accuracy": found.accuracy,
        "prior_predictive": found.prior_predictive,
        "grid_points": cost.grid_points,
        "curves": found.curves,
        "scores": found.scores,
        "bounds": found.bounds,
        "alternatives": found.alternatives,
        "advice": found.advice,
    }
    if question.target is not None:
        fits = view.epsilon <= question.target.epsilon
        plan["target"] = {"epsilon": question.target.epsilon, "delta": delta, "fits": fits}
    return plan
