"""`{"kind": "expectation", "variable": "visits", "evidence": {…}, "scores": {…}}`: E[score(variable) | evidence].

Levels that are whole numbers, or false and true, score themselves unless `scores` gives a number for each. The range is
from the least to the greatest score of a level the evidence leaves.
"""

from collections.abc import Mapping
from typing import Any

from app.core.decisions.estimands.estimand import Context
from app.core.decisions.estimands.network_estimand import NetworkEstimand, require_network
from app.core.decisions.strict_fields import refuse_unknown
from app.core.networks.evidence import compile_expectation


def parse(spec: Mapping[str, Any], context: Context) -> NetworkEstimand:
    refuse_unknown(context.where, spec, {"kind", "variable", "evidence", "scores"})
    network = require_network(context, "expectation").network
    compiled = compile_expectation(
        network,
        variable=spec.get("variable"),
        evidence=spec.get("evidence"),
        scores=spec.get("scores"),
        where=context.where,
    )
    return NetworkEstimand(compiled, context.where)
