"""Plans for regression and multivariate normal models: noise on the moments against draws from the ball."""

from dataclasses import dataclass, replace
from typing import Any, cast

from app.core.kinds.mechanism_fields import TEMPERATURE_MIN
from app.core.kinds.plan_figures import (
    COMPARED_FROM,
    COMPARED_TO,
    Choice,
    Figures,
    Planner,
    PlanQuestion,
    auto_samples,
    is_auto,
    written_mechanism,
)
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel, refuse_wide_budget
from app.core.kinds.regression.accuracy import expected_error
from app.core.kinds.regression.mechanisms import (
    PerturbedStatistics,
    RegressionBaps,
    RegressionMechanism,
    RegressionModel,
)
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.targets import Target, impossible, largest_samples
from app.errors import InvalidMechanism, InvalidModel

MEASURE = "root mean squared error of a coefficient's mean, as a share of its public range"
METHOD = "simulated from the prior with a fixed seed, features spread over their public ranges; no data"
FREE_SAMPLES = 1_000
SAMPLES_SHOWN = (1, 10, 100, 1_000)
EPSILONS_SHOWN = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
STEP = 1.05
"""Temperatures tried are powers of this."""


@dataclass(frozen=True, slots=True)
class _Rated:
    mechanism: RegressionMechanism
    cost: ReleaseCost
    error: float | None

    @property
    def rank(self) -> float:
        """Noise on the moments first where nothing can be simulated."""
        return (0.0 if isinstance(self.mechanism, PerturbedStatistics) else 1.0) if self.error is None else self.error


def figures(question: PlanQuestion) -> Figures:
    model, people, unit_rows = cast(RegressionModel, question.model), question.people, question.unit_rows
    if is_auto(question.mechanism):
        samples = auto_samples(question.mechanism, question.samples_max)
        own, *rest = _fitting(model, people, unit_rows, question.auto_target, samples)
    else:
        own = _rated(_calibrated(question, model), model, people, unit_rows)
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
    best = _fitting(model, choice.people, choice.unit_rows, choice.target, choice.samples)[0].mechanism
    return best.with_samples(min(best.samples, choice.samples_max))


def settled(mechanism: ReleaseMechanism, model: ReleaseModel, people: int, unit_rows: int) -> ReleaseMechanism:
    return mechanism


def _calibrated(question: PlanQuestion, model: RegressionModel) -> RegressionMechanism:
    people, unit_rows, target = question.people, question.unit_rows, question.target
    if question.calibrate is None or target is None:
        return cast(RegressionMechanism, written_mechanism(question))
    if question.calibrate == "samples":
        one = cast(RegressionMechanism, written_mechanism(question, samples=1))
        return one.with_samples(min(largest_samples(one.cost(model, people, unit_rows), target), question.samples_max))
    if question.calibrate == "temperature":
        samples = written_mechanism(question, temperature=1.0).samples
        return _cooled(model, people, unit_rows, samples, target)
    raise InvalidMechanism(
        "calibrate", "samples or temperature: a regression is restricted by its radius, not by a trim"
    )


def _rated(mechanism: RegressionMechanism, model: RegressionModel, people: int, unit_rows: int) -> _Rated:
    return _Rated(
        mechanism, mechanism.cost(model, people, unit_rows), expected_error(model, mechanism, people, unit_rows)
    )


def _fitting(model: RegressionModel, people: int, unit_rows: int, target: Target, samples: int | None) -> list[_Rated]:
    """Those that fit the target, most accurate first. Raises InvalidMechanism if none does."""
    found: list[_Rated] = []
    refusal: InvalidMechanism | InvalidModel | None = None
    for fit in (_noisy, _drawn):
        try:
            found.append(_rated(fit(model, people, unit_rows, target, samples), model, people, unit_rows))
        except (InvalidMechanism, InvalidModel) as refused:
            refusal = refusal or refused
    if not found and refusal is not None:
        raise refusal
    return sorted(found, key=lambda each: each.rank)


def _noisy(
    model: RegressionModel, people: int, unit_rows: int, target: Target, samples: int | None
) -> PerturbedStatistics:
    fitted = PerturbedStatistics(FREE_SAMPLES if samples is None else samples, target.epsilon, target.delta)
    cost = fitted.cost(model, people, unit_rows)
    if not target.fits(cost):
        raise impossible("even with the most noise this release costs", cost.total.epsilon(target.delta))
    return fitted


def _drawn(model: RegressionModel, people: int, unit_rows: int, target: Target, samples: int | None) -> RegressionBaps:
    """Raises InvalidMechanism also where a release from a budget of the target would be refused."""
    refuse_wide_budget(RegressionBaps(1), target.epsilon)
    return _cooled(model, people, unit_rows, 1 if samples is None else samples, target)


def _cooled(model: RegressionModel, people: int, unit_rows: int, samples: int, target: Target) -> RegressionBaps:
    """The hottest temperature, a power of `STEP`, at which they fit."""
    temperature = 1.0
    while temperature >= TEMPERATURE_MIN:
        tried = RegressionBaps(samples, temperature)
        cost = tried.cost(model, people, unit_rows)
        if target.fits(cost):
            return tried
        temperature /= STEP
    raise impossible("even at the lowest temperature these samples cost", cost.total.epsilon(target.delta))


def _compared(question: PlanQuestion, model: RegressionModel, own: _Rated) -> list[_Rated]:
    epsilon = own.cost.total.epsilon(question.delta)
    if not COMPARED_FROM <= epsilon <= COMPARED_TO:
        return []
    target = Target(epsilon * (1 + 1e-9), question.delta)
    try:
        found = _fitting(model, question.people, question.unit_rows, target, None)
    except InvalidMechanism:
        return []
    return [each for each in found if each.mechanism.kind != own.mechanism.kind]


def _advice(rated: list[_Rated]) -> str:
    best, *rest = sorted(rated, key=lambda each: each.rank)
    kind = best.mechanism.kind
    if not rest or best.error is None or rest[0].error is None:
        return f"{kind}: the only mechanism that fits, or the only one that can be compared"
    ratio = rest[0].error / best.error
    return f"{kind}: expected error {ratio:.3g} times smaller than with {rest[0].mechanism.kind} at the same cost"


def _curves(question: PlanQuestion, model: RegressionModel, own: _Rated) -> dict[str, list[dict[str, Any]]]:
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


def _at_epsilon(own: _Rated, epsilon: float, delta: float, samples_max: int) -> RegressionMechanism | None:
    if isinstance(own.mechanism, PerturbedStatistics):
        return replace(own.mechanism, epsilon=epsilon)
    try:
        most = largest_samples(own.cost, Target(epsilon, delta))
    except InvalidMechanism:
        return None
    return own.mechanism.with_samples(min(most, samples_max))


def _accuracy_json(rated: _Rated) -> dict[str, Any]:
    return {"total_sd": rated.error, "measure": MEASURE, "method": METHOD}


PLANNER = Planner(figures, choose, settled)
