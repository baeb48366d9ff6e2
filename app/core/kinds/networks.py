"""Discrete Bayesian networks: a table for every node, a count for every cell."""

from app.core.kinds.kind import Kind
from app.core.networks.mechanisms import NETWORK_MECHANISMS
from app.core.networks.parsing import parse_naive_bayes, parse_network

NETWORKS = Kind("network", {"network": parse_network, "naive_bayes": parse_naive_bayes}, NETWORK_MECHANISMS)
