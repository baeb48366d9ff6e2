"""A what-if: cost and accuracy of a release that does not exist, from public numbers only. Free."""

import hashlib
from collections.abc import Mapping
from typing import Any

from app.core.dependence.inference import Question
from app.core.dependence.questions import question_within
from app.core.kinds import FitCheck, check_of, kind_of, parse_check, parse_model
from app.core.kinds.accuracy_goal import LEVEL_DEFAULT, Goal
from app.core.kinds.fit_check import NOTICED_SHARE, with_check
from app.core.kinds.plan_figures import DRAWS, SAMPLES, Figures, PlanQuestion, finite
from app.core.parameters import parameters_json
from app.core.privacy.targets import Target
from app.errors import InvalidInput, InvalidMechanism
from app.ledger.canonical import canonical_json
from app.services.budgets import cost_view, once_view
from app.services.plans.accuracy_answers import precision_json
from app.services.plans.asked_groups import described, planned_spec
from app.services.plans.plan_accuracy import accuracy_figures
from app.services.plans.plan_inference import inference_json
from app.services.plans.plan_questions import mechanism_of, plan_columns, read_delta, read_goal, read_unit_rows
from app.services.runtime.cost_cache import check_people, compute
from app.services.runtime.runtime import Runtime

CALIBRATIONS = (SAMPLES, "temperature", "trim")


async def plan_release(runtime: Runtime, *, spec: Mapping[str, Any]) -> dict[str, Any]:
    """With a `target`, what is missing is found: samples, or by `calibrate` the temperature or the trim; with
    `mechanism.kind` `auto`, the mechanism itself; for a half width or an sd its ε too. Plans are remembered by a hash of what
    was asked.

    Raises InvalidModel, InvalidMechanism, InvalidCheck, CheckNotOffered, InvalidInput, AccuracyUnreachable, VacuousGuarantee
    for δ ≥ 1, NumericalFailure, TooBusy.
    """
    memo = hashlib.sha256(canonical_json(spec).encode()).digest()
    known = runtime.warm.plans.get(memo)
    if known is not None:
        return known
    question, goal = _read(runtime, spec)
    check = parse_check(spec.get("check"), question.model)
    check_people(question.people, question.unit_rows)
    asked = None if spec.get("inference") is None else question_within(spec, "inference", question.delta)
    plan = await compute(runtime, lambda: _plan(question, goal, check, asked))
    runtime.warm.plans.put(memo, plan, 1)
    return plan


def _read(runtime: Runtime, spec: Mapping[str, Any]) -> tuple[PlanQuestion, Goal | None]:
    goal = read_goal(spec.get("target"))
    target, delta = _read_target(spec, goal)
    mechanism = mechanism_of(spec)
    columns = plan_columns(spec)
    model = parse_model(planned_spec(spec, columns, spec["n"]), columns)
    question = PlanQuestion(
        model=model,
        mechanism=mechanism,
        read_mechanism=kind_of(model).parse_mechanism,
        people=spec["n"],
        unit_rows=read_unit_rows(spec),
        delta=delta,
        target=target,
        calibrate=_read_calibrate(spec.get("calibrate"), mechanism, target),
        epsilon_max=runtime.settings.epsilon_max,
        samples_max=runtime.settings.samples_max,
    )
    return question, goal


def _read_target(spec: Mapping[str, Any], goal: Goal | None) -> tuple[Target | None, float]:
    target, own = spec.get("target") or {}, spec.get("delta")
    delta = read_delta(own, target.get("delta"))
    if goal is not None or not target:
        return None, delta
    return Target(float(target["epsilon"]), delta), delta


def _read_calibrate(asked: object, mechanism: Mapping[str, Any], target: Target | None) -> str | None:
    if asked is None:
        open_ended = target is not None and mechanism.get("kind") == "baps" and "samples" not in mechanism
        return (SAMPLES if "temperature" in mechanism else DRAWS) if open_ended else None
    if not isinstance(asked, str) or asked not in CALIBRATIONS:
        raise InvalidInput("calibrate", "one of " + ", ".join(CALIBRATIONS))
    if target is None:
        raise InvalidInput("target", "an (ε, δ) to calibrate for")
    if mechanism.get("kind") != "baps":
        raise InvalidMechanism("mechanism.kind", "baps, to calibrate: the others take their ε directly")
    return asked


def _plan(question: PlanQuestion, goal: Goal | None, check: FitCheck | None, asked: Question | None) -> dict[str, Any]:
    if goal is None:
        figures = kind_of(question.model).planner.figures(question)
        return (
            _plan_json(question, figures, check)
            | _intervals_json(figures)
            | _inference_json(question, figures, check, asked)
        )
    found, more = accuracy_figures(question, goal)
    if check is not None:
        more["release"]["check"] = check.as_json()
    return _plan_json(question, found, check) | more | _inference_json(question, found, check, asked)


def _inference_json(
    question: PlanQuestion, found: Figures, check: FitCheck | None, asked: Question | None
) -> dict[str, Any]:
    if asked is None:
        return {}
    cost = with_check(found.cost, check, question.unit_rows)
    return {"inference": inference_json(asked, question, found, cost, check)}


def _intervals_json(found: Figures) -> dict[str, Any]:
    """What 90 % intervals of it will be, where a kind can tell: a plan that promises one shows how often it holds."""
    if found.intervals is None:
        return {}
    search, sd = found.intervals.search, found.intervals.sd
    return {"precision": precision_json(search, LEVEL_DEFAULT, found.mechanism, sd)}


def _check_json(question: PlanQuestion, found: Figures, check: FitCheck) -> dict[str, Any]:
    """Its part of the cost, and what it could notice in the middle of the public range."""
    kind, model, unit_rows = check_of(found.model), found.model, question.unit_rows
    return check.as_json() | {
        "cost": once_view(check.cost(unit_rows), question.delta),
        "bins": kind.request(model).bins,
        "noise_sd": check.sd(unit_rows),
        "noticed": {"ratio": kind.noticed(model, question.people, unit_rows, check), "share": NOTICED_SHARE},
    }


def _alternative(found: dict[str, Any]) -> dict[str, Any]:
    """Its groups are those of the plan, which names them once."""
    return found | {"model": described(found["model"])["model"]} if "model" in found else found


def _plan_json(question: PlanQuestion, found: Figures, check: FitCheck | None) -> dict[str, Any]:
    """A check comes on top of what was asked for or found; the cost is that of both."""
    cost, delta = with_check(found.cost, check, question.unit_rows), question.delta
    view = cost_view(cost, cost.samples, delta)
    plan: dict[str, Any] = {
        **described(found.model.as_json()),
        "mechanism": found.mechanism.as_json(),
        "n": question.people,
        "privacy_unit_rows": question.unit_rows,
        "parameters": parameters_json(found.model.parameters),
        "cost": {
            "epsilon": view.epsilon,
            "charged_epsilon": view.charged_epsilon,
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
        "alternatives": [_alternative(each) for each in found.alternatives],
        "advice": found.advice,
        "check": None if check is None else _check_json(question, found, check),
    }
    if question.target is not None:
        fits = view.charged_epsilon <= question.target.epsilon
        plan["target"] = {"epsilon": question.target.epsilon, "delta": delta, "fits": fits}
    return plan
