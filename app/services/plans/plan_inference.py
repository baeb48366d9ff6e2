"""What correlated people would lose by a release that does not exist."""

from typing import Any

from app.core.dependence.inference import Question, epsilon_for, infer, samples_for
from app.core.kinds.fit_check import FitCheck
from app.core.kinds.group_costs import ReleaseLosses
from app.core.kinds.plan_figures import Figures, PlanQuestion
from app.core.privacy.release_cost import SAMPLES_MAX, ReleaseCost


def inference_json(
    asked: Question, plan: PlanQuestion, found: Figures, cost: ReleaseCost, check: FitCheck | None
) -> dict[str, Any]:
    """Of all samples together, a check of fit included. A target says which ε, or how many samples, would keep odds so close."""
    losses = ReleaseLosses(
        model=found.model,
        mechanism=found.mechanism,
        cost=cost,
        people=plan.people,
        unit_rows=plan.unit_rows,
        samples=cost.samples,
        check=check,
    )
    answer = infer(losses, asked) | {"samples": cost.samples}
    if asked.target is not None:
        samples = None
        if cost.per_sample.pure > 0:
            most = min(plan.samples_max, SAMPLES_MAX)
            samples = samples_for(asked.target, asked.exception, asked.structure, losses.with_samples, most)
        answer["target"] = {
            "nu": asked.target,
            "epsilon": epsilon_for(asked.structure, asked.target),
            "samples": samples,
            "basis": "certified",
            "assumption": "`epsilon`: pure, of one person; `samples`: how many keep probable odds within it",
        }
    return answer
