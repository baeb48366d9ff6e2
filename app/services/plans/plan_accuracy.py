"""A plan by accuracy: the cheapest mechanism, and the least of it, whose calibrated answers are as narrow as was asked."""

from dataclasses import replace
from typing import Any

from app.core.kinds import kind_of
from app.core.kinds.accuracy_goal import AccuracyQuestion, Goal, reached
from app.core.kinds.plan_figures import Figures, PlanQuestion
from app.core.kinds.protocols import ReleaseMechanism, ReleaseModel
from app.core.privacy.cost import Cost
from app.services.plans.accuracy_answers import precision_json, release_json, why
from app.services.plans.asked_groups import described
from app.services.plans.plan_questions import open_samples


def accuracy_figures(question: PlanQuestion, goal: Goal) -> tuple[Figures, dict[str, Any]]:
    """(figures of what was found, what else such a plan answers). `alternatives` reach the same accuracy, at their own ε.

    Raises InvalidMechanism, InvalidInput, AccuracyUnreachable.
    """
    samples = open_samples(question.mechanism, question.samples_max)
    planner = kind_of(question.model).planner
    asked = AccuracyQuestion(
        question.model, question.people, question.unit_rows, question.delta, samples, question.samples_max
    )
    search = planner.accuracy(asked)

    def price(cost: Cost) -> float:
        return cost.epsilon(question.delta)

    def stored(mechanism: ReleaseMechanism) -> ReleaseModel:
        return planner.settled_model(question.model, mechanism, question.people, question.unit_rows)

    offers = reached(search, goal, price, f"target.{goal.measure}").offers
    best, *rest = offers
    figures = planner.figures(replace(question, mechanism=best.mechanism.as_json(), target=None, compared=False))
    shown = replace(
        figures,
        alternatives=[
            {
                "model": described(stored(each.mechanism).as_json())["model"],
                "mechanism": each.mechanism.as_json(),
                "epsilon": price(each.cost.total),
                "accuracy": search.accuracy(each),
            }
            for each in rest
        ],
        advice=". ".join(each for each in (why(offers, price, "ε ="), figures.advice) if each),
    )
    epsilon = price(best.cost.total)
    target = {goal.measure: goal.value, "level": goal.level, "epsilon": epsilon, "delta": question.delta, "fits": True}
    precision = precision_json(search, goal.level, best.mechanism, best.sd)
    return shown, {"target": target, "precision": precision, "release": release_json(figures.model.as_json(), best)}
