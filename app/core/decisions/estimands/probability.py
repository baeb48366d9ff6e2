"""`{"kind": "probability", "event": {"cured": true}, "evidence": {"arm": "drug"}}`: P(event | evidence) in a network.

Several variables in the event mean all of them at once; a list of levels means any of them. Its range is [0, 1].
"""

from collections.abc import Mapping
from typing import Any

from app.core.decisions.estimands.estimand import Context
from app.core.decisions.estimands.network_estimand import NetworkEstimand, require_network
from app.core.decisions.strict_fields import refuse_unknown
from app.core.networks.evidence import compile_evidence


def parse(spec: Mapping[str, Any], context: Context) -> NetworkEstimand:
    refuse_unknown(context.where, spec, {"kind", "event", "evidence"})
    network = require_network(context, "probability").network
    event, evidence = spec.get("event"), spec.get("evidence")
    compiled = compile_evidence(network, event=event, evidence=evidence, where=context.where)
    return NetworkEstimand(compiled, context.where)
