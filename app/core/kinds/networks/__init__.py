"""Discrete Bayesian networks: a table for every node, a count for every cell (PRIVACY §4)."""

from dataclasses import replace

from app.core.kinds.kind import Kind, MeasuredKind
from app.core.kinds.networks import plan
from app.core.kinds.networks.audits.network import audit_network
from app.core.kinds.networks.by_groups import network_by_groups
from app.core.kinds.networks.card import CARD
from app.core.kinds.networks.estimands import NETWORK_ESTIMANDS
from app.core.kinds.networks.mechanisms import NETWORK_MECHANISMS
from app.core.kinds.networks.nobody import NobodysTables
from app.core.kinds.networks.parsing import (
    BayesianNetworkModel,
    NaiveBayesModel,
    build_naive_bayes,
    build_network_model,
)
from app.core.kinds.networks.synthetic import NETWORK_ROWS
from app.core.kinds.protocols import Family

NETWORKS = Kind(
    name="network",
    families={
        "network": Family(BayesianNetworkModel, build_network_model),
        "naive_bayes": Family(NaiveBayesModel, build_naive_bayes),
    },
    mechanisms=NETWORK_MECHANISMS,
    planner=plan.PLANNER,
    estimands=NETWORK_ESTIMANDS,
    card=CARD,
    audit=audit_network,
    nobody=NobodysTables(),
    private=network_by_groups,
    measured=MeasuredKind(lambda model: model.within is not None, lambda askable: _conditioned(), counted=False),
    rows=NETWORK_ROWS,
)


def _conditioned() -> Kind:
    """Of the rows that meet a condition, whose number is private: noise costs the same whatever that is, draws would have to be
    charged for tables of no rows, and characters count on knowing how many there are."""
    return replace(
        NETWORKS,
        name="network by a private condition",
        measured=None,
        mechanisms={name: NETWORK_MECHANISMS[name] for name in ("laplace", "gaussian")},
        planner=plan.CONDITION_PLANNER,
        groups=lambda model: [] if model.grouped_by else [((), None)],
    )
