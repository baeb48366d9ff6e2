"""Plans for private groups: the noise that ε buys, and what a group of average size may expect of it.

How many people a group has is not known, so figures are those of groups of equal size.
"""

from typing import Any, cast

from app.core.kinds.accuracy_goal import AccuracyQuestion, AccuracySearch
from app.core.kinds.one_parameter.calibrated_accuracy import measured_calibrated_sd
from app.core.kinds.one_parameter.mechanisms import Gaussian
from app.core.kinds.one_parameter.open_range import settled_range
from app.core.kinds.one_parameter.private.gaussian import GroupGaussian
from app.core.kinds.one_parameter.private.model import MeasuredGroups
from app.core.kinds.plan_figures import Choice, Figures, Planner, PlanQuestion, auto_samples, is_auto, written_mechanism
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.noise.discrete_gaussian import DELTA_MAX, DELTA_MIN
from app.core.privacy.targets import Target
from app.errors import InvalidInput, InvalidMechanism

SAMPLES = 1_000
EPSILONS_SHOWN = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
MEASURE = "sd of a group's parameter given what would be measured of it, averaged over the prior"
METHOD = "large-sample form, for a group of {people} of the {all} people, an equal share; no data"


def figures(question: PlanQuestion) -> Figures:
    model, people, unit_rows = cast(MeasuredGroups, question.model), question.people, question.unit_rows
    if is_auto(question.mechanism):
        samples = auto_samples(question.mechanism, question.samples_max)
        mechanism = _gaussian(question.auto_target, samples, question.samples_max)
    else:
        mechanism = cast(GroupGaussian, written_mechanism(question))
    stored = settled_model(model, mechanism, people, unit_rows)
    return Figures(
        model=stored,
        mechanism=mechanism,
        cost=mechanism.cost(stored, people, unit_rows),
        accuracy=_accuracy(stored, mechanism, people, unit_rows),
        alternatives=[],
        advice=(
            f"{model.count} private groups: gaussian noise on each one's rows and sum, which hides who is in which for nothing. "
            "Columns declared public would give strata"
        ),
        curves={
            "by_samples": [],
            "by_epsilon": [
                {
                    "epsilon": epsilon,
                    "samples": mechanism.samples,
                    "total_sd": _sd(
                        stored, GroupGaussian(mechanism.samples, epsilon, mechanism.delta), people, unit_rows
                    ),
                }
                for epsilon in EPSILONS_SHOWN
            ],
        },
    )


def choose(choice: Choice) -> ReleaseMechanism:
    return _gaussian(choice.target, choice.samples, choice.samples_max)


def settled(mechanism: ReleaseMechanism, model: ReleaseModel, people: int, unit_rows: int) -> ReleaseMechanism:
    return mechanism


def settled_model(model: ReleaseModel, mechanism: ReleaseMechanism, people: int, unit_rows: int) -> MeasuredGroups:
    """As wide a range as noise gives every model of one column."""
    groups, noise = cast(MeasuredGroups, model), cast(GroupGaussian, mechanism)
    like = Gaussian(noise.samples, noise.epsilon, noise.delta)
    return MeasuredGroups(settled_range(groups.inner, like, people * unit_rows), groups.groups)


def accuracy(question: AccuracyQuestion) -> AccuracySearch:
    raise InvalidInput("target", "an (ε, δ): how wide a private group's answers are depends on how many people it has")


def _gaussian(target: Target, samples: int | None, samples_max: int) -> GroupGaussian:
    if not DELTA_MIN <= target.delta <= DELTA_MAX:
        raise InvalidMechanism("mechanism.kind", "gaussian noise, for private groups, which needs a δ above 0")
    return GroupGaussian(samples or min(SAMPLES, samples_max), target.epsilon, target.delta)


def _accuracy(model: MeasuredGroups, mechanism: GroupGaussian, people: int, unit_rows: int) -> dict[str, Any]:
    sd = _sd(model, mechanism, people, unit_rows)
    method = METHOD.format(people=_share(model, people), all=people)
    return {"total_sd": sd, "limit_sd": sd, "calibrated_sd": sd, "measure": MEASURE, "method": method}


def _sd(model: MeasuredGroups, mechanism: GroupGaussian, people: int, unit_rows: int) -> float:
    scales, factors = mechanism.scales(model, unit_rows)
    variances = [(scale / factor) ** 2 for scale, factor in zip(scales, factors, strict=True)]
    return measured_calibrated_sd(model.inner, (variances[0], variances[1]), _share(model, people))


def _share(model: MeasuredGroups, people: int) -> int:
    return max(1, people // model.count)


PLANNER = Planner(figures, choose, settled, settled_model, accuracy)
