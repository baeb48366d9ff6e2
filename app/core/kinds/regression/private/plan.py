"""Plans for regressions in private groups: the noise that ε buys, and what a group of average size may expect of it.

How many rows a group has is not known, so figures are those of groups of equal size, and as if that were known.
"""

from typing import Any, cast

from app.core.kinds.accuracy_goal import AccuracyQuestion, AccuracySearch
from app.core.kinds.plan_figures import Choice, Figures, Planner, PlanQuestion, auto_samples, is_auto, written_mechanism
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.kinds.regression.accuracy import expected_error
from app.core.kinds.regression.mechanisms import PerturbedStatistics
from app.core.kinds.regression.plan import MEASURE
from app.core.kinds.regression.private.mechanism import GroupPerturbedStatistics
from app.core.kinds.regression.private.model import MeasuredRegressions
from app.core.noise.discrete_gaussian import DELTA_MAX, DELTA_MIN
from app.core.privacy.targets import Target
from app.errors import InvalidInput, InvalidMechanism

SAMPLES = 1_000
EPSILONS_SHOWN = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
METHOD = (
    "simulated from the prior with a fixed seed, for a group of {people} of the {all} people, an equal share, and as if that "
    "number were public; no data"
)


def figures(question: PlanQuestion) -> Figures:
    model, people, unit_rows = cast(MeasuredRegressions, question.model), question.people, question.unit_rows
    if is_auto(question.mechanism):
        samples = auto_samples(question.mechanism, question.samples_max)
        mechanism = _noise(question.auto_target, samples, question.samples_max)
    else:
        mechanism = cast(GroupPerturbedStatistics, written_mechanism(question))
    method = METHOD.format(people=_share(model, people), all=people)
    by_epsilon = [
        {
            "epsilon": epsilon,
            "samples": mechanism.samples,
            "total_sd": _error(
                model, GroupPerturbedStatistics(mechanism.samples, epsilon, mechanism.delta), people, unit_rows
            ),
        }
        for epsilon in EPSILONS_SHOWN
    ]
    return Figures(
        model=model,
        mechanism=mechanism,
        cost=mechanism.cost(model, people, unit_rows),
        accuracy={"total_sd": _error(model, mechanism, people, unit_rows), "measure": MEASURE, "method": method},
        alternatives=[],
        advice=(
            f"{model.count} private groups: noise on the moments of each and on its number of rows, which hides who is in which "
            "for nothing. Columns declared public would give strata"
        ),
        curves={"by_samples": [], "by_epsilon": by_epsilon},
    )


def choose(choice: Choice) -> ReleaseMechanism:
    return _noise(choice.target, choice.samples, choice.samples_max)


def settled(mechanism: ReleaseMechanism, model: ReleaseModel, people: int, unit_rows: int) -> ReleaseMechanism:
    return mechanism


def settled_model(model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int) -> ReleaseModel:
    """A ball or bounds are always declared."""
    return model


def accuracy(question: AccuracyQuestion) -> AccuracySearch:
    raise InvalidInput("target", "an (ε, δ): how wide a private group's answers are depends on how many people it has")


def _noise(target: Target, samples: int | None, samples_max: int) -> GroupPerturbedStatistics:
    if not DELTA_MIN <= target.delta <= DELTA_MAX:
        raise InvalidMechanism("mechanism.kind", "noise on moments, for private groups, which needs a δ above 0")
    return GroupPerturbedStatistics(samples or min(SAMPLES, samples_max), target.epsilon, target.delta)


def _error(
    model: MeasuredRegressions, mechanism: GroupPerturbedStatistics, people: int, unit_rows: int
) -> float | None:
    like: Any = PerturbedStatistics(mechanism.samples, mechanism.epsilon, mechanism.delta)
    return expected_error(model.inner, like, _share(model, people), unit_rows)


def _share(model: MeasuredRegressions, people: int) -> int:
    return max(1, people // model.count)


PLANNER = Planner(figures, choose, settled, settled_model, accuracy)
