"""Whatever a release is calibrated to, an empty account of exactly that (ε, δ) admits it, in whole units too."""

from dataclasses import replace
from typing import Any

import pytest

from app.core.kinds import KINDS, kind_of, kind_with, parse_mechanism, parse_model
from app.core.kinds.regression.comparison import cooled
from app.core.privacy.cost import ORDERS, Cost
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.targets import Target, largest_samples
from app.core.schema import parse_columns
from app.ledger.account import admits, open_account
from app.ledger.amounts import ATTO, prefix_charge
from tests.deep import deep_unless

COLUMNS: dict[str, Any] = {
    "cured": {"type": "binary"},
    "sick": {"type": "binary"},
    "visits": {"type": "integer", "lower": 0, "upper": 20},
    "age": {"type": "real", "lower": 0, "upper": 100},
    "score": {"type": "real", "lower": 0, "upper": 20},
}
MODELS: dict[str, dict[str, Any]] = {
    "bernoulli": {"family": "bernoulli", "column": "cured"},
    "poisson": {"family": "poisson", "column": "visits"},
    "network": {"family": "network", "nodes": {"cured": {}, "sick": {"parents": ["cured"]}}, "trim": 0.05},
    "linear": {"family": "linear_regression", "target": "score", "features": ["age"], "noise_sd": 2.0, "radius": 4.0},
    "mean": {"family": "mvn_mean", "columns": ["age", "score"], "covariance": [[400.0, 0.0], [0.0, 4.0]]},
    "normal": {"family": "normal", "column": "age"},
    "precision": {"family": "normal_precision_matrix", "columns": ["age", "score"], "radius": 2.0},
}
BUDGETS = [(1.0, 1e-6), (0.7, 1e-5), (2.9017, 1e-9)]
PEOPLE = 900
NOT_FOR_ALL = {("precision", "baps"), ("normal", "baps")}


def calibrated(model: Any, kind: str, target: Target) -> ReleaseCost:
    """A mechanism that takes ε is asked for it; draws are as many, or as warm, as fit."""
    spec = kind_of(model).mechanisms[kind].spec
    values: dict[str, Any] = {"kind": kind, "epsilon": target.epsilon, "delta": target.delta, "samples": 5}
    given = {name: value for name, value in values.items() if name in spec.model_fields}
    mechanism = parse_mechanism(given if kind != "map" else given | {"score": "log_density"}, model)
    if kind != "baps":
        return mechanism.cost(model, PEOPLE, 1)
    if kind_of(model).name == "regression":
        return cooled(model, PEOPLE, 1, 3, target).cost(model, PEOPLE, 1)
    one = parse_mechanism({"kind": "baps", "samples": 1, "temperature": 0.01}, model).cost(model, PEOPLE, 1)
    return replace(one, samples=largest_samples(one, target))


def empty_account_admits(cost: ReleaseCost, target: Target) -> bool:
    """With as much of δ kept for an inexact sampler as this one takes."""
    charge = prefix_charge(cost.per_sample, cost.samples, cost.once)
    kept = charge.slack_atto / ATTO * (1 + 1e-12)
    account = open_account("ds_a", epsilon=target.epsilon, delta=target.delta, slack_delta=kept)
    return admits(account, charge, gaussian=cost.gaussian)


CASES = [
    (name, kind)
    for name, spec in MODELS.items()
    for each in KINDS
    if spec["family"] in each.families
    for kind in each.mechanisms
    if (name, kind) not in NOT_FOR_ALL
]


def test_the_models_above_leave_out_no_mechanism_of_any_kind() -> None:
    tried = {(kind_with(MODELS[name]["family"]).name, kind) for name, kind in CASES}
    assert tried == {(kind.name, mechanism) for kind in KINDS for mechanism in kind.mechanisms}


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    ("case", "budget"),
    deep_unless(lambda case, budget: CASES.index(case) % 3 == BUDGETS.index(budget), CASES, BUDGETS),
)
def test_an_empty_account_admits_what_was_calibrated_to_it(case: tuple[str, str], budget: tuple[float, float]) -> None:
    name, kind = case
    model = parse_model(MODELS[name], parse_columns(COLUMNS))
    target = Target(*budget)
    assert empty_account_admits(calibrated(model, kind, target), target)


@pytest.mark.parametrize("steps", range(1, 400, 7))
def test_a_cost_that_just_fits_a_target_fits_the_account_of_that_target(steps: int) -> None:
    """Curves bent so that the best order is rarely the account's own, scaled up to the last float that fits."""
    target = Target(1.0, 1e-6)
    shape = Cost(40.0, tuple(min(40.0, 1e-3 * order ** (1 + steps / 400)) for order in ORDERS))
    low, high = 0.0, 100.0
    for _ in range(80):
        middle = (low + high) / 2
        fits = target.fits(_of(_scaled(shape, middle)))
        low, high = (middle, high) if fits else (low, middle)
    assert low > 0
    assert empty_account_admits(_of(_scaled(shape, low)), target)


def _of(cost: Cost) -> ReleaseCost:
    return ReleaseCost(cost, 1, 0.0, 0.0, "certified: made up", 0)


def _scaled(cost: Cost, by: float) -> Cost:
    return Cost(cost.pure * by, tuple(value * by for value in cost.curve))
