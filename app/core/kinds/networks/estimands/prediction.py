"""`{"kind": "prediction", "features": {…}}`: P(variable = level | features), in [0, 1].

`variable` is a naive Bayes model's class unless named, `level` true for a binary variable unless named.
"""

from collections.abc import Mapping
from typing import Any

from app.core.decisions.estimands.estimand import Context
from app.core.decisions.strict_fields import refuse_unknown, renaming
from app.core.kinds.networks.estimands.classification import class_of
from app.core.kinds.networks.estimands.network_estimand import NetworkEstimand, network_of
from app.core.kinds.networks.evidence.compiled import compile_evidence
from app.errors import InvalidQuery


def parse(spec: Mapping[str, Any], context: Context) -> NetworkEstimand:
    where, model = context.where, network_of(context)
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
