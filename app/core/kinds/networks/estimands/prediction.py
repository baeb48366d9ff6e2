"""`{"kind": "prediction", "features": {…}}`: P(variable = level | features), in [0, 1].

`variable` is a naive Bayes model's class unless named, `level` true for a binary variable unless named.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from app.core.decisions.estimands.estimand import Context, NumberSpec
from app.core.decisions.strict_fields import renaming
from app.core.kinds.networks.estimands.classification import class_of
from app.core.kinds.networks.estimands.network_estimand import Levels, NetworkEstimand, network_of
from app.core.kinds.networks.evidence.compiled import Level, compile_evidence
from app.core.specs import Maybe, ReadInItsPlace
from app.errors import InvalidQuery


class NetworkPredictionSpec(NumberSpec):
    """P(variable = level | features) in a network, in [0, 1]."""

    kind: Literal["prediction"] = Field(description="The name of the estimand.")
    variable: Maybe[str] = Field(default=None, description="Unless given, a naive Bayes model's class.")
    level: Annotated[Maybe[Level], ReadInItsPlace()] = Field(
        default=None, description="Of the variable; true unless given, if it is binary."
    )
    features: Levels | None = Field(default=None, description="Levels by variable: what is known.")


def parse(spec: NetworkPredictionSpec, context: Context) -> NetworkEstimand:
    where, model = context.where, network_of(context)
    variable = class_of(model, spec.variable, where)
    if variable not in {node.name for node in model.network.nodes}:
        raise InvalidQuery(f"{where}.variable", "the name of a variable of this network")
    levels = model.network.nodes[model.network.index(variable)].levels
    # Where none is given and none is meant, the refusal lists them: null is no level.
    binary = levels == ("false", "true") and "level" not in spec.model_fields_set
    level: Any = True if binary else spec.level
    fields = {
        f"{where}.event.{variable}": f"{where}.level",
        f"{where}.event": f"{where}.level",
        f"{where}.evidence": f"{where}.features",
    }
    with renaming(fields):
        compiled = compile_evidence(model.network, event={variable: level}, evidence=spec.features, where=where)
    return NetworkEstimand(compiled, where, "features")
