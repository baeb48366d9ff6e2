"""Plans: what is found for a target really fits it, and a plan is what the release would be."""

import subprocess
import sys
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app.core.kinds import parse_model
from app.core.kinds.one_parameter import ONE_PARAMETER
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.privacy import Cost
from app.core.schema import parse_columns
from app.errors import InvalidInput, InvalidMechanism, InvalidModel, InvalidSchema
from app.services.plans.plan_release import plan_release
from app.services.runtime.runtime import Runtime
from tests.conftest import Backend
from tests.deep import deep_unless
from tests.services.world import services, settings_for

BERNOULLI = {"family": "bernoulli", "column": "cured"}
BAPS = {"kind": "baps", "samples": 20}
CALIBRATED = "samples", "temperature", "trim"
TARGET = {"epsilon": 1.0, "delta": 1e-6}
COUNT = {"type": "integer", "lower": 0, "upper": 20}
SIZE = {"type": "real", "lower": 1, "upper": 50}
EVERY_FAMILY: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bernoulli": ({}, {"type": "binary"}),
    "binomial": ({"trials": 20}, COUNT),
    "geometric": ({}, COUNT),
    "negative_binomial": ({"successes": 2}, COUNT),
    "poisson": ({}, COUNT),
    "exponential": ({}, SIZE),
    "gamma": ({"shape": 2}, SIZE),
    "weibull": ({"shape": 1.5}, SIZE),
    "pareto": ({"scale": 1}, SIZE),
    "laplace": ({"location": 20}, SIZE),
    "normal_precision": ({"mean": 20}, SIZE),
    "normal_mean": ({"sd": 8}, SIZE),
}


@pytest.fixture
async def runtime(sqlite_backend: Backend, tmp_path: Path) -> AsyncIterator[Runtime]:
    """Plans read no database: one backend is enough."""
    async with services(settings_for(sqlite_backend, tmp_path, samples_max=5_000)) as opened:
        yield opened


async def plan(runtime: Runtime, **spec: Any) -> dict[str, Any]:
    return await plan_release(runtime, spec={"model": BERNOULLI, "mechanism": BAPS, "n": 1_000} | spec)


def epsilon_of(planned: dict[str, Any], columns: dict[str, Any] | None = None, **changes: Any) -> float:
    """What is charged for what a plan proposes, with changes, converted and computed without the plan."""
    return total_of(planned, columns, **changes).epsilon(planned["cost"]["delta"])


def total_of(planned: dict[str, Any], columns: dict[str, Any] | None = None, **changes: Any) -> Cost:
    model = parse_model(planned["model"], parse_columns(columns or {"cured": {"type": "binary"}}))
    mechanism = ONE_PARAMETER.parse_mechanism(planned["mechanism"] | changes)
    return mechanism.cost(model, planned["n"], planned["privacy_unit_rows"]).total


def test_every_family_is_planned_here():
    assert set(EVERY_FAMILY) == set(FAMILIES)


@pytest.mark.cases(1)
@pytest.mark.parametrize("family", deep_unless(lambda family: [*EVERY_FAMILY].index(family) % 3 == 0, EVERY_FAMILY))
async def test_a_family_is_planned_with_falling_error_and_rising_cost(runtime: Runtime, family: str):
    known, column = EVERY_FAMILY[family]
    columns = {"x": column}
    model = {"family": family, "column": "x", **known}
    planned = await plan(runtime, model=model, columns=columns, n=2_000)
    assert planned["cost"]["epsilon"] == total_of(planned, columns).alone(planned["cost"]["delta"])
    curve = planned["curves"]["by_samples"]
    assert [point["samples"] for point in curve][-1] == 5_000
    for fewer, more in pairwise(curve):
        assert fewer["epsilon"] < more["epsilon"]
        assert fewer["total_sd"] > more["total_sd"]
    (own,) = [point for point in curve if point["samples"] == 20]
    assert own["epsilon"] == pytest.approx(planned["cost"]["epsilon"], rel=1e-12)
    assert own["total_sd"] == planned["accuracy"]["total_sd"]


async def test_each_point_over_epsilon_is_the_largest_number_that_fits(runtime: Runtime):
    planned = await plan(runtime, n=100_000)
    points = [point for point in planned["curves"]["by_epsilon"] if point["samples"] < 5_000]
    assert len(points) >= 4
    for point in points:
        assert epsilon_of(planned, samples=point["samples"]) <= point["epsilon"]
        assert epsilon_of(planned, samples=point["samples"] + 1) > point["epsilon"]


async def test_an_epsilon_that_pays_for_no_sample_is_left_out(runtime: Runtime):
    planned = await plan(runtime, n=20)
    shown = [point["epsilon"] for point in planned["curves"]["by_epsilon"]]
    assert shown == [epsilon for epsilon in (2.0, 5.0, 10.0, 20.0) if epsilon_of(planned, samples=1) <= epsilon] != []


@pytest.mark.parametrize("kind", ["laplace", "map"])
async def test_where_samples_are_free_the_error_falls_with_epsilon(runtime: Runtime, kind: str):
    spec = {"kind": kind, "epsilon": 1.0} | ({"samples": 100} if kind == "laplace" else {})
    planned = await plan(runtime, mechanism=spec)
    errors = [point["total_sd"] for point in planned["curves"]["by_epsilon"]]
    assert len(errors) == 11
    assert errors == sorted(errors, reverse=True)
    assert len({point["epsilon"] for point in planned["curves"]["by_samples"]}) <= 1


async def test_the_samples_found_for_a_target_are_the_most_that_fit(runtime: Runtime):
    planned = await plan(runtime, mechanism={"kind": "baps", "temperature": 1.0}, n=20_000, target=TARGET)
    found = planned["mechanism"]["samples"]
    assert planned["target"] == TARGET | {"fits": True}
    assert epsilon_of(planned, samples=found) <= 1.0 < epsilon_of(planned, samples=found + 1)


async def test_draws_of_which_nothing_is_fixed_are_many_and_cool(runtime: Runtime):
    """What three warm draws would tell at the same cost is .0152 wide, noise .0132."""
    planned = await plan(runtime, mechanism={"kind": "baps"}, n=1_000, target=TARGET)
    warm = await plan(runtime, mechanism={"kind": "baps", "temperature": 1.0}, n=1_000, target=TARGET)
    assert planned["target"] == TARGET | {"fits": True}
    assert planned["mechanism"]["temperature"] < 0.1
    assert planned["accuracy"]["calibrated_sd"] < 0.9 * warm["accuracy"]["calibrated_sd"]
    assert "many and cool" in planned["advice"]


@pytest.mark.deep
async def test_no_more_samples_are_proposed_than_may_be_stored(runtime: Runtime):
    for mechanism in ({"kind": "baps"}, {"kind": "auto"}):
        planned = await plan(runtime, mechanism=mechanism, n=10**6, target={"epsilon": 10.0, "delta": 1e-6})
        assert planned["mechanism"]["samples"] == 5_000 or planned["mechanism"]["kind"] == "laplace"


async def test_the_temperature_found_is_the_highest_that_fits(runtime: Runtime):
    planned = await plan(runtime, calibrate="temperature", target=TARGET)
    found = planned["mechanism"]["temperature"]
    assert planned["mechanism"]["samples"] == 20
    assert epsilon_of(planned) <= 1.0 < epsilon_of(planned, temperature=found * 1.01)


async def test_a_target_that_is_met_anyway_is_not_cooled_for(runtime: Runtime):
    planned = await plan(runtime, calibrate="temperature", n=10**6, target=TARGET)
    assert planned["mechanism"]["temperature"] == 1.0


@pytest.mark.deep
async def test_the_trim_found_is_the_smallest_that_fits(runtime: Runtime):
    planned = await plan(runtime, calibrate="trim", n=3_000, target=TARGET)
    trim = planned["model"]["trim"]
    assert planned["parameters"] == [{"name": "theta", "lower": trim, "upper": 1 - trim}]
    wider = planned | {"model": planned["model"] | {"trim": trim * 0.98}}
    assert epsilon_of(planned) <= 1.0 < epsilon_of(wider)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"mechanism": {"kind": "baps", "temperature": 1.0}, "n": 10}, "a single sample costs"),
        ({"calibrate": "temperature", "n": 2, "target": {"epsilon": 1e-7, "delta": 1e-12}}, "lowest temperature"),
        ({"calibrate": "trim", "n": 10, "target": {"epsilon": 0.01, "delta": 1e-6}}, "narrowest range"),
    ],
)
async def test_an_impossible_target_is_explained_in_one_sentence(runtime: Runtime, spec: dict[str, Any], words: str):
    with pytest.raises(InvalidMechanism) as refusal:
        await plan(runtime, **({"target": TARGET} | spec))
    (problem,) = refusal.value.problems
    assert problem.field == "target.epsilon"
    assert problem.expected.startswith("at least ")
    assert words in problem.expected


async def test_auto_ranks_what_fits_by_expected_error(runtime: Runtime):
    planned = await plan(runtime, mechanism={"kind": "auto"}, target=TARGET)
    *others, point = planned["alternatives"]
    assert [planned["mechanism"]["kind"], *(each["mechanism"]["kind"] for each in others)] == [
        "laplace",
        "gaussian",
        "baps",
    ]
    assert point["mechanism"]["kind"] == "map"
    errors = [each["accuracy"]["calibrated_sd"] for each in (planned, *others)]
    assert errors == sorted(errors)
    assert max(planned["cost"]["epsilon"], *(each["epsilon"] for each in planned["alternatives"])) <= 1.0
    assert len({each["accuracy"]["measure"] for each in (planned, *others, point)}) == 1
    assert planned["advice"].startswith(planned["mechanism"]["kind"])


async def test_a_plan_by_epsilon_shows_how_often_intervals_hold(runtime: Runtime):
    """200 simulated releases: 0.1 is nearly five standard errors. The trim that was left open is named."""
    planned = await plan(runtime, mechanism={"kind": "auto"}, target=TARGET)
    precision = planned["precision"]
    assert precision["level"] == 0.9
    assert abs(precision["coverage"]["share"] - 0.9) < 0.1
    assert precision["coverage"]["releases"] == 200
    assert precision["half_width"] == pytest.approx(1.645 * planned["accuracy"]["calibrated_sd"], rel=0.1)
    assert planned["model"]["trim"] == 1e-6
    drawn = next(each for each in planned["alternatives"] if each["mechanism"]["kind"] == "baps")
    assert drawn["model"]["trim"] == 0.05
    assert (await plan(runtime))["precision"]["coverage"]["share"] is None


@pytest.mark.deep
async def test_auto_prefers_noise_whatever_the_number_of_samples(runtime: Runtime):
    """What calibrated answers show counts, and free samples take nothing from it; drawn ones come near for many people."""
    for samples, n in ((1, 500), (20, 500), (20, 10**6)):
        planned = await plan(runtime, mechanism={"kind": "auto", "epsilon": 1.0, "samples": samples}, n=n)
        assert planned["mechanism"]["kind"] == "laplace"
        assert planned["mechanism"]["samples"] == samples
        drawn = next(each for each in planned["alternatives"] if each["mechanism"]["kind"] == "baps")
        assert drawn["accuracy"]["calibrated_sd"] > planned["accuracy"]["calibrated_sd"]
        assert drawn["mechanism"]["samples"] == samples


@pytest.mark.parametrize("spec", [{}, {"score": "auto"}])
async def test_a_plan_names_the_score_it_chose_and_shows_both_errors(runtime: Runtime, spec: dict[str, Any]):
    planned = await plan(runtime, mechanism={"kind": "map", "epsilon": 2.0, **spec}, n=10**6)
    shown = {each["score"]: each for each in planned["scores"]}
    assert set(shown) == {"log_density", "probability"}
    (best,) = [each for each in planned["scores"] if each["chosen"]]
    assert best["score"] == planned["mechanism"]["score"] == "probability"
    assert best["total_sd"] == planned["accuracy"]["total_sd"] == min(each["total_sd"] for each in shown.values())
    worse = await plan(runtime, mechanism={"kind": "map", "epsilon": 2.0, "score": "log_density"}, n=10**6)
    assert worse["accuracy"]["total_sd"] == shown["log_density"]["total_sd"] > best["total_sd"]
    assert [each["chosen"] for each in worse["scores"]] == [True, False]


async def test_only_a_point_has_scores(runtime: Runtime):
    assert (await plan(runtime))["scores"] is None


async def test_two_points_of_a_curve_may_be_chosen_by_different_scores(runtime: Runtime):
    """By ε, whichever score is better there: the error does not rise with ε, but for the grid's own per cent."""
    planned = await plan(runtime, mechanism={"kind": "map", "epsilon": 1.0, "score": "log_density"}, n=10**6)
    errors = [point["total_sd"] for point in planned["curves"]["by_epsilon"]]
    assert all(more < 1.01 * less for less, more in pairwise(errors))
    assert errors[-1] < planned["accuracy"]["total_sd"] / 2


async def test_a_plan_compares_with_the_other_mechanism_at_its_own_cost(runtime: Runtime):
    drawn = await plan(runtime)
    noisy, gaussian, point = drawn["alternatives"]
    assert point["mechanism"]["kind"] == "map"
    assert (noisy["mechanism"]["kind"], gaussian["mechanism"]["kind"]) == ("laplace", "gaussian")
    assert drawn["cost"]["epsilon"] * 0.99 <= noisy["epsilon"] <= drawn["cost"]["epsilon"] * (1 + 1e-6)
    back = await plan(runtime, mechanism=noisy["mechanism"])
    again = back["alternatives"][0]
    assert again["mechanism"]["kind"] == "baps"
    assert again["mechanism"]["temperature"] < 1, "many cool samples tell more than twenty warm ones at the same cost"
    assert again["accuracy"]["calibrated_sd"] < drawn["accuracy"]["calibrated_sd"]


async def test_people_with_several_rows_are_offered_every_mechanism(runtime: Runtime):
    unit = {"max_rows": 3}
    planned = await plan(runtime, mechanism={"kind": "auto", "epsilon": 5.0}, privacy_unit=unit, n=3_000)
    assert planned["mechanism"]["kind"] == "laplace"
    assert {each["mechanism"]["kind"] for each in planned["alternatives"]} == {"gaussian", "baps", "map"}
    assert planned["advice"].startswith("laplace: expected error")


async def test_a_plan_asked_again_is_not_computed_again(runtime: Runtime):
    first = await plan(runtime, delta=1e-6)
    turned = {"delta": 1e-6, "n": 1_000, "mechanism": dict(reversed(BAPS.items())), "model": BERNOULLI}
    assert await plan_release(runtime, spec=turned) is first
    assert await plan(runtime, delta=1e-7) is not first


@pytest.mark.parametrize(
    ("changes", "error", "field"),
    [
        ({"model": {"family": "poisson", "column": "x"}}, InvalidModel, "columns"),
        ({"model": {"family": "poisson", "column": "x"}, "columns": {"y": COUNT}}, InvalidModel, "model.column"),
        ({"columns": {"cured": {"type": "nothing"}}}, InvalidSchema, "columns.cured.type"),
        ({"calibrate": "samples"}, InvalidInput, "target"),
        ({"calibrate": "everything", "target": TARGET}, InvalidInput, "calibrate"),
        ({"calibrate": "trim", "target": TARGET, "mechanism": {"kind": "auto"}}, InvalidMechanism, "mechanism.kind"),
        ({"mechanism": {"kind": "auto"}}, InvalidInput, "target"),
        ({"mechanism": {"kind": "auto", "epsilon": 2}, "target": TARGET}, InvalidMechanism, "mechanism.epsilon"),
        ({"mechanism": {"kind": "auto", "samples": 5_001, "epsilon": 1}}, InvalidMechanism, "mechanism.samples"),
        ({"delta": 1e-5, "target": TARGET}, InvalidInput, "delta"),
        ({"mechanism": {"kind": "laplace", "samples": 5}}, InvalidMechanism, "mechanism.epsilon"),
    ],
)
async def test_a_plan_that_cannot_be_read_names_the_field(
    runtime: Runtime, changes: dict[str, Any], error: type[InvalidInput], field: str
):
    with pytest.raises(error) as refusal:
        await plan(runtime, **changes)
    assert type(refusal.value) is error
    assert refusal.value.problems[0].field == field


def in_turn(family: str, calibrate: str) -> bool:
    """Every way of calibrating, each with a family of another support."""
    return [*EVERY_FAMILY].index(family) == 4 * CALIBRATED.index(calibrate)


@pytest.mark.cases(1)
@pytest.mark.parametrize(("family", "calibrate"), deep_unless(in_turn, EVERY_FAMILY, CALIBRATED))
async def test_every_family_is_calibrated_to_fit_and_what_is_found_can_be_planned_again(
    runtime: Runtime, family: str, calibrate: str
):
    known, column = EVERY_FAMILY[family]
    model = {"family": family, "column": "x", **known}
    target = {"epsilon": 2.0, "delta": 1e-6}
    mechanism: dict[str, Any] = {"kind": "baps", "samples": 2}
    if calibrate == "samples":
        mechanism = {"kind": "baps", "temperature": 0.01}
    spec = {"columns": {"x": column}, "n": 2_000}
    found = await plan(runtime, model=model, mechanism=mechanism, calibrate=calibrate, target=target, **spec)
    assert found["target"]["fits"] is True
    again = await plan(runtime, model=found["model"], mechanism=found["mechanism"], **spec)
    assert again["cost"] == found["cost"]
    assert again["cost"]["epsilon"] <= 2.0


@pytest.mark.slow
def test_serving_and_planning_never_load_the_sampler_of_noise():
    """It takes most of a second to import; only a process that draws a noisy release needs it."""
    script = (
        "import sys, app.main, app.api.application, app.services.plans.plan_release; print('opendp' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
