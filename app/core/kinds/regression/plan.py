"""Plans for regression and multivariate normal models: noise on the moments against draws from the ball."""

from dataclasses import replace
from typing import Any, cast

from app.core.kinds.plan_figures import (
    COMPARED_FROM,
    COMPARED_TO,
    DRAWS,
    SAMPLES,
    Choice,
    Figures,
    Planner,
    PlanQuestion,
    auto_samples,
    is_auto,
    written_mechanism,
)
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.kinds.regression.accuracy import expected_error
from app.core.kinds.regression.accuracy_search import accuracy_search
from app.core.kinds.regression.comparison import RatedRegression, cooled, fitting, rate
from app.core.kinds.regression.mechanisms import (
    PerturbedStatistics,
    RegressionMechanism,
    RegressionModel,
)
from app.core.privacy.targets import Target, largest_samples
from app.errors import InvalidMechanism

MEASURE = "root mean squared error of a coefficient's mean, as a share of its public range"
METHOD = "simulated from the prior with a fixed seed, features spread over their public ranges; no data"
SAMPLES_SHOWN = (1, 10, 100, 1_000)
EPSILONS_SHOWN = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)


def figures(question: PlanQuestion) -> Figures:
    model, people, unit_rows = cast(RegressionModel, question.model), question.people, question.unit_rows
    if is_auto(question.mechanism):
        samples = auto_samples(question.mechanism, question.samples_max)
        own, *rest = fitting(model, people, unit_rows, question.auto_target, samples)
    else:
        own = rate(_calibrated(question, model), model, people, unit_rows)
        rest = _compared(question, model, own)
    return Figures(
        model=model,
        mechanism=own.mechanism,
        cost=own.cost,
        accuracy=_accuracy_json(own),
        alternatives=[
            {
                "mechanism": other.mechanism.as_json(),
                "epsilon": other.cost.total.epsilon(question.delta),
                "accuracy": _accuracy_json(other),
            }
            for other in rest
        ],
        advice=_advice([own, *rest]) if rest or is_auto(question.mechanism) else None,
        curves=_curves(question, model, own),
    )


def choose(choice: Choice) -> ReleaseMechanism:
    model = cast(RegressionModel, choice.model)
    best = fitting(model, choice.people, choice.unit_rows, choice.target, choice.samples)[0].mechanism
    return best.with_samples(min(best.samples, choice.samples_max))


def settled(mechanism: ReleaseMechanism, model: ReleaseModel, people: int, unit_rows: int) -> ReleaseMechanism:
    return mechanism


def settled_model(model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int) -> ReleaseModel:
    """A ball or bounds are always declared."""
    return model


def _calibrated(question: PlanQuestion, model: RegressionModel) -> RegressionMechanism:
    people, unit_rows, target = question.people, question.unit_rows, question.target
    if question.calibrate is None or target is None:
        return cast(RegressionMechanism, written_mechanism(question))
    if question.calibrate in (SAMPLES, DRAWS):
        one = cast(RegressionMechanism, written_mechanism(question, samples=1))
        return one.with_samples(min(largest_samples(one.cost(model, people, unit_rows), target), question.samples_max))
    if question.calibrate == "temperature":
        samples = written_mechanism(question, temperature=1.0).samples
        return cooled(model, people, unit_rows, samples, target)
    raise InvalidMechanism(
        "calibrate", "samples or temperature: a regression is restricted by its radius, not by a trim"
    )


def _compared(question: PlanQuestion, model: RegressionModel, own: RatedRegression) -> list[RatedRegression]:
    epsilon = own.cost.total.epsilon(question.delta)
    if not question.compared or not COMPARED_FROM <= epsilon <= COMPARED_TO:
        return []
    target = Target(epsilon * (1 + 1e-9), question.delta)
    try:
        found = fitting(model, question.people, question.unit_rows, target, None)
    except InvalidMechanism:
        return []
    return [each for each in found if each.mechanism.kind != own.mechanism.kind]


def _advice(rated: list[RatedRegression]) -> str:
    best, *rest = sorted(rated, key=lambda each: each.rank)
    kind = best.mechanism.kind
    if not rest or best.error is None or rest[0].error is None:
        return f"{kind}: the only mechanism that fits, or the only one that can be compared"
    ratio = rest[0].error / best.error
    return f"{kind}: expected error {ratio:.3g} times smaller than with {rest[0].mechanism.kind} at the same cost"


def _curves(question: PlanQuestion, model: RegressionModel, own: RatedRegression) -> dict[str, list[dict[str, Any]]]:
    people, unit_rows, delta = question.people, question.unit_rows, question.delta

    def error(mechanism: RegressionMechanism) -> float | None:
        return expected_error(model, mechanism, people, unit_rows)

    by_samples = [
        {
            "samples": samples,
            "epsilon": own.cost.prefix(samples).epsilon(delta),
            "total_sd": error(own.mechanism.with_samples(samples)),
        }
        for samples in SAMPLES_SHOWN
        if samples <= question.samples_max and own.cost.prefix(samples).slack_delta < delta
    ]
    by_epsilon = []
    for epsilon in EPSILONS_SHOWN:
        each = _at_epsilon(own, epsilon, delta, question.samples_max)
        if each is not None:
            by_epsilon.append({"epsilon": epsilon, "samples": each.samples, "total_sd": error(each)})
    return {"by_samples": by_samples, "by_epsilon": by_epsilon}


def _at_epsilon(own: RatedRegression, epsilon: float, delta: float, samples_max: int) -> RegressionMechanism | None:
    if isinstance(own.mechanism, PerturbedStatistics):
        return replace(own.mechanism, epsilon=epsilon)
    try:
        most = largest_samples(own.cost, Target(epsilon, delta))
    except InvalidMechanism:
        return None
    return own.mechanism.with_samples(min(most, samples_max))


def _accuracy_json(rated: RatedRegression) -> dict[str, Any]:
    return {"total_sd": rated.error, "measure": MEASURE, "method": METHOD}


PLANNER = Planner(figures, choose, settled, settled_model, accuracy_search)
