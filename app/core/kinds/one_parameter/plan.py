"""Plans for one column and one parameter: calibrated, compared with the other mechanisms, chosen by `auto`."""

import math
from dataclasses import replace
from typing import cast

import numpy as np

from app.core.kinds.accuracy_goal import AccuracyQuestion
from app.core.kinds.one_parameter.accuracy_search import OneParameterSearch, accuracy_search
from app.core.kinds.one_parameter.calibration import largest_temperature, smallest_trim
from app.core.kinds.one_parameter.comparison import Alternative, Comparison, alternatives, best
from app.core.kinds.one_parameter.drawn_settings import best_drawn
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps, Gaussian, Laplace, MapPoint, Mechanism
from app.core.kinds.one_parameter.open_range import settled_model
from app.core.kinds.one_parameter.plan_curves import plan_curves
from app.core.kinds.one_parameter.plan_figures import (
    accuracy_json,
    advice,
    alternative_json,
    predictive_json,
    scores_json,
)
from app.core.kinds.one_parameter.trim_advice import trim_advice
from app.core.kinds.plan_figures import (
    COMPARED_FROM,
    COMPARED_TO,
    DRAWS,
    SAMPLES,
    Choice,
    Figures,
    Intervals,
    Planner,
    PlanQuestion,
    auto_samples,
    is_auto,
    written_mechanism,
)
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.noise.discrete_gaussian import DELTA_MAX, DELTA_MIN
from app.core.privacy.targets import Target, largest_samples
from app.errors import InvalidMechanism, NumericalFailure


def figures(question: PlanQuestion) -> Figures:
    own, rest, asked = _rated(question)
    mechanism, cost = own.mechanism, own.cost
    people, unit_rows, delta = question.people, question.unit_rows, question.delta
    model = settled_model(asked.model, mechanism, people, unit_rows)
    return Figures(
        model=model,
        mechanism=mechanism,
        cost=cost,
        accuracy=accuracy_json(own),
        alternatives=[
            alternative_json(other, delta, settled_model(asked.model, other.mechanism, people, unit_rows))
            for other in rest
        ],
        advice=_advice(question, asked, own, rest),
        curves=plan_curves(model, mechanism, cost, people, unit_rows, delta, question.samples_max),
        prior_predictive=predictive_json(model),
        scores=scores_json(model, mechanism, people, unit_rows),
        intervals=Intervals(
            OneParameterSearch(
                AccuracyQuestion(model, people, unit_rows, delta, None, question.samples_max), quick=True
            ),
            own.accuracy.calibrated_sd,
        ),
    )


def _advice(question: PlanQuestion, asked: Comparison, own: Alternative, rest: list[Alternative]) -> str | None:
    compared = advice(asked, own, rest) if rest or is_auto(question.mechanism) else None
    trimmed = trim_advice(asked.model, own.mechanism, question.people, question.unit_rows, question.delta)
    return ". ".join(each for each in (compared, trimmed) if each) or None


def choose(choice: Choice) -> ReleaseMechanism:
    model = cast(Model, choice.model)
    asked = Comparison(model, choice.people, choice.unit_rows, choice.target, choice.samples, choice.samples_max)
    return best(asked).mechanism


def settled(mechanism: ReleaseMechanism, model: ReleaseModel, people: int, unit_rows: int) -> ReleaseMechanism:
    """A `map` with its score named."""
    if isinstance(mechanism, MapPoint):
        return mechanism.settled(cast(Model, model), people, unit_rows)
    return mechanism


def _rated(question: PlanQuestion) -> tuple[Alternative, list[Alternative], Comparison]:
    """(the mechanism asked for on the model as it would be stored, others at the same cost, what they were compared by)."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if is_auto(question.mechanism):
            asked = _auto(question)
            first, *rest = alternatives(asked)
            own = _stored(asked, first)
        else:
            model, mechanism = _calibrated(question)
            cost = mechanism.cost(model, question.people, question.unit_rows)
            target = Target(cost.total.alone(question.delta) * (1 + 1e-9), question.delta)
            asked = Comparison(model, question.people, question.unit_rows, target, samples_max=question.samples_max)
            own = _stored(asked, asked.rated(mechanism))
            rest = _compared(asked, mechanism) if question.compared else []
    if not all(math.isfinite(each.accuracy.total_sd) for each in (own, *rest)):
        raise NumericalFailure("the accuracy of this release cannot be computed: the trim is too wide")
    return own, rest, asked


def _stored(asked: Comparison, rated: Alternative) -> Alternative:
    """The same on the range that would be stored, where that was left open."""
    model = settled_model(asked.model, rated.mechanism, asked.people, asked.unit_rows)
    return rated if model == asked.model else replace(asked, model=model).rated(rated.mechanism)


def _calibrated(question: PlanQuestion) -> tuple[Model, Mechanism]:
    model, target = cast(Model, question.model), question.target
    people, unit_rows = question.people, question.unit_rows
    if question.calibrate is None or target is None:
        written = settled(written_mechanism(question), model, people, unit_rows)
        return model, cast(Mechanism, written)
    if question.calibrate == DRAWS:
        return model, best_drawn(model, people, unit_rows, target, question.samples_max)
    if question.calibrate == SAMPLES:
        one = cast(Mechanism, written_mechanism(question, samples=1))
        most = largest_samples(one.cost(model, people, unit_rows), target)
        return model, one.with_samples(min(most, question.samples_max))
    if question.calibrate == "temperature":
        samples = written_mechanism(question, temperature=1.0).samples
        return model, Baps(samples, largest_temperature(model, people, unit_rows, samples, target))
    fixed = written_mechanism(question)
    if not isinstance(fixed, Baps):
        raise InvalidMechanism("mechanism.kind", "baps, to calibrate")
    return smallest_trim(model, people, unit_rows, fixed, target), fixed


def _auto(question: PlanQuestion) -> Comparison:
    target = question.auto_target
    samples = auto_samples(question.mechanism, question.samples_max)
    model = cast(Model, question.model)
    return Comparison(model, question.people, question.unit_rows, target, samples, question.samples_max)


def _compared(asked: Comparison, mechanism: Mechanism) -> list[Alternative]:
    """The other mechanisms at this one's own cost, where they exist; `baps` only where a sample of it fits uncooled."""
    if not COMPARED_FROM <= asked.target.epsilon <= COMPARED_TO:
        return []
    found = []
    if not isinstance(mechanism, Baps) and asked.target.fits(Baps(1).cost(asked.model, asked.people, asked.unit_rows)):
        found.append(asked.baps())
    if not isinstance(mechanism, Laplace):
        found.append(asked.laplace())
    if not isinstance(mechanism, Gaussian) and DELTA_MIN <= asked.target.delta <= DELTA_MAX:
        found.append(asked.gaussian())
    if not isinstance(mechanism, MapPoint):
        found.append(asked.point())
    return found


PLANNER = Planner(figures, choose, settled, settled_model, accuracy_search)
