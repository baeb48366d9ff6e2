"""Discrete Bayesian networks: a table for every node, a count for every cell (PRIVACY §4)."""

from app.core.kinds.kind import Kind
from app.core.kinds.networks import plan
from app.core.kinds.networks.card import CARD
from app.core.kinds.networks.estimands import NETWORK_ESTIMANDS
from app.core.kinds.networks.mechanisms import NETWORK_MECHANISMS
from app.core.kinds.networks.parsing import parse_naive_bayes, parse_network

NETWORKS = Kind(
    name="network",
    families={"network": parse_network, "naive_bayes": parse_naive_bayes},
    mechanisms=NETWORK_MECHANISMS,
    planner=plan.PLANNER,
    estimands=NETWORK_ESTIMANDS,
    card=CARD,
)
