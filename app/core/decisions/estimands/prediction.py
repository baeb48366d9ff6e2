"""`{"kind": "prediction", "features": {…}}`: what a model predicts for a record with these features.

networks, naive Bayes   `variable` (a naive Bayes model's class unless named) and `level` (true for a binary variable
                        unless named): P(variable = level | features), in [0, 1].
linear regression       by `what`: the `mean` of the target, unless said; the `probability` that a new observation is
                        `at_most` a value; the `quantile` of a `level` of a new observation; or the `observation`
                        itself, whose law mixes all samples: under `interval` a posterior predictive interval.
"""

from collections.abc import Mapping
from typing import Any

from app.core.decisions.estimands.classification import class_of
from app.core.decisions.estimands.estimand import Context, Estimand, Observed
from app.core.decisions.estimands.linear import parse_linear_prediction
from app.core.decisions.estimands.network_estimand import NetworkEstimand, renaming
from app.core.decisions.strict_fields import refuse_unknown
from app.core.networks.evidence import compile_evidence
from app.core.networks.model import NetworkModel
from app.core.regression.model import LinearModel
from app.errors import InvalidQuery


def parse(spec: Mapping[str, Any], context: Context) -> Estimand | Observed:
    if isinstance(context.model, NetworkModel):
        return _parse_class(spec, context, context.model)
    if isinstance(context.model, LinearModel):
        return parse_linear_prediction(spec, context, context.model)
    expected = "an estimand for this release's model; prediction is for networks, naive Bayes and linear regression"
    raise InvalidQuery(f"{context.where}.kind", expected)


def _parse_class(spec: Mapping[str, Any], context: Context, model: NetworkModel) -> NetworkEstimand:
    where = context.where
    refuse_unknown(where, spec, {"kind", "variable", "level", "features"})
    variable = class_of(model, spec, where)
    if not isinstance(variable, str) or variable not in {node.name for node in model.network.nodes}:
        raise InvalidQuery(f"{where}.variable", "the name of a variable of this network")
    levels = model.network.nodes[model.network.index(variable)].levels
    level = spec.get("level", True if levels == ("false", "true") else None)
    fields = {
        f"{where}.event.{variable}": f"{where}.level",
        f"{where}.event": f"{where}.level",
        f"{where}.evidence": f"{where}.features",
    }
    with renaming(fields):
        features = spec.get("features")
        compiled = compile_evidence(model.network, event={variable: level}, evidence=features, where=where)
    return NetworkEstimand(compiled, where)
