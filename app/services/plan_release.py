"""A what-if: cost and accuracy of a release that does not exist, from public numbers only. Free."""

import math
from collections.abc import Mapping
from typing import Any

from app.core.families import Model, parse_model
from app.core.mechanisms import SAMPLES_MAX, Mechanism, ReleaseCost, parse_mechanism
from app.core.privacy.accuracy import Accuracy, expected_accuracy
from app.core.schema import Column, parse_unit
from app.errors import InvalidInput, InvalidMechanism
from app.services.budgets import cost_view
from app.services.computed_costs import compute, release_cost
from app.services.runtime import Runtime

DELTA_DEFAULT = 1e-6


async def plan_release(runtime: Runtime, *, spec: Mapping[str, Any]) -> dict[str, Any]:
    """With `target` instead of `samples`, the largest number of samples whose cost fits the target.

    Raises InvalidModel, InvalidMechanism, InvalidInput, NumericalFailure, TooBusy.
    """
    model = parse_model(spec["model"], _assumed_columns(spec["model"]))
    unit = _plan_unit(spec.get("privacy_unit"))
    target = spec.get("target")
    delta = _read_delta(spec, target)
    people: int = spec["n"]
    wanted = dict(spec["mechanism"])
    search = wanted.get("samples") is None and target is not None
    mechanism = parse_mechanism(wanted | {"samples": 1} if search else wanted)
    cost = await release_cost(runtime, model, mechanism, people, unit)
    if search and target is not None:
        mechanism = mechanism.with_samples(_largest_count(cost, float(target["epsilon"]), delta))
        cost = await release_cost(runtime, model, mechanism, people, unit)
    accuracy = await compute(
        runtime, lambda: expected_accuracy(model, people, unit, mechanism.temperature, mechanism.samples)
    )
    return _plan(runtime, model, mechanism, people, unit, cost, delta, target, accuracy)


def _assumed_columns(model: object) -> dict[str, Column]:
    """A plan has no dataset: the column is taken to be of the type the family needs."""
    name = model.get("column") if isinstance(model, Mapping) else None
    return {name: Column(name, "binary")} if isinstance(name, str) else {}


def _plan_unit(spec: Mapping[str, Any] | None) -> int:
    if isinstance(spec, Mapping) and set(spec) == {"max_rows"}:
        spec = {"column": "person", **spec}
    return parse_unit(spec, {}).max_rows


def _read_delta(spec: Mapping[str, Any], target: Mapping[str, Any] | None) -> float:
    own = spec.get("delta")
    if target is None:
        return DELTA_DEFAULT if own is None else float(own)
    if own is not None and own != target["delta"]:
        raise InvalidInput("delta", "the same value as target.delta, or nothing")
    return float(target["delta"])


def _largest_count(cost: ReleaseCost, epsilon: float, delta: float) -> int:
    """Costs grow with N, so bisection finds the largest; none at all is a refusal with the reason."""
    one = cost.per_sample.epsilon(delta)
    if one > epsilon:
        raise InvalidMechanism(
            "target.epsilon",
            f"at least {math.ceil(one * 1e6) / 1e6:g}, what a single sample costs here; "
            "more people, a wider trim, a lower temperature or a stronger prior make it cheaper",
        )
    low, high = 1, SAMPLES_MAX
    while low < high:
        middle = (low + high + 1) // 2
        if cost.per_sample.times(middle).epsilon(delta) <= epsilon:
            low = middle
        else:
            high = middle - 1
    return low


def _plan(
    runtime: Runtime,
    model: Model,
    mechanism: Mechanism,
    people: int,
    unit_rows: int,
    cost: ReleaseCost,
    delta: float,
    target: Mapping[str, Any] | None,
    accuracy: Accuracy,
) -> dict[str, Any]:
    view = cost_view(cost.total, delta, cost.per_sample)
    plan = {
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
        "vacuous": not view.epsilon <= runtime.settings.epsilon_max,
        "accuracy": {
            "posterior_sd": accuracy.posterior_sd,
            "sampling_sd": accuracy.sampling_sd,
            "total_sd": accuracy.total_sd,
            "method": "averaged over the prior; no data",
        },
        "grid_points": cost.grid_points,
    }
    if target is not None:
        plan["target"] = dict(target) | {"fits": view.epsilon <= target["epsilon"]}
    return plan
