"""The figures of a plan as JSON: accuracies with what they measure, other mechanisms, the scores of `map`."""

from typing import Any

from app.core.kinds.mechanism_fields import SCORES
from app.core.kinds.one_parameter.comparison import Alternative, Comparison, ranked, reason
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import MapPoint, Mechanism
from app.core.kinds.one_parameter.mechanisms.map_point import score_errors
from app.core.kinds.one_parameter.predictive import prior_predictive
from app.core.kinds.plan_figures import finite

LEVELS_SHOWN = (0.05, 0.5, 0.95)
MEASURE = "root mean squared error of the mean answer as an estimate of the parameter, over prior and data"
LARGE_SAMPLE = "averaged over the prior, large-sample form; no data"
SIMULATED = "simulated at quantiles of the prior and of the sum's law, tables summed exactly; no data"


def accuracy_json(rated: Alternative) -> dict[str, Any]:
    accuracy = rated.accuracy
    return {
        "posterior_sd": accuracy.posterior_sd,
        "sampling_sd": accuracy.sampling_sd,
        "total_sd": accuracy.total_sd,
        "limit_sd": accuracy.limit_sd,
        "calibrated_sd": accuracy.calibrated_sd,
        "measure": MEASURE,
        "method": SIMULATED if isinstance(rated.mechanism, MapPoint) else LARGE_SAMPLE,
    }


def alternative_json(rated: Alternative, delta: float, model: Model) -> dict[str, Any]:
    """`model` as it would be stored with that mechanism."""
    return {
        "model": model.as_json(),
        "mechanism": rated.mechanism.as_json(),
        "epsilon": rated.cost.total.alone(delta),
        "accuracy": accuracy_json(rated),
    }


def scores_json(model: Model, mechanism: Mechanism, people: int, unit_rows: int) -> list[dict[str, Any]] | None:
    """Both scores of `map` with their simulated errors, the one of this plan marked; None for other mechanisms."""
    if not isinstance(mechanism, MapPoint):
        return None
    errors = score_errors(model, mechanism.epsilon, people, unit_rows)
    return [
        {"score": score, "total_sd": errors[score].total_sd, "chosen": score == mechanism.score} for score in SCORES
    ]


def advice(asked: Comparison, own: Alternative, others: list[Alternative]) -> str:
    """Which is the most accurate, and why; single samples come last."""
    best, *rest = ranked(asked, [own, *others])
    return reason(asked, best, rest)


def predictive_json(model: Model) -> dict[str, Any]:
    """A record of the model before any data is seen: what the prior and the trim amount to."""
    predictive = prior_predictive(model)
    quantiles = [{"level": level, "value": finite(predictive.quantile(level))} for level in LEVELS_SHOWN]
    return {"mean": finite(predictive.mean()), "quantiles": quantiles}
