"""A discrete Bayesian network with Dirichlet priors, each table a set of Bernoulli splits trimmed to [ω, 1−ω]."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from app.core.grids.bernoulli import TRIM_DEFAULT
from app.core.kinds.networks.splits import Split, Splits, level_splits, path
from app.core.kinds.networks.statistic import counts_request
from app.core.kinds.networks.structure import Network, Node
from app.core.kinds.private_groups import PrivateGroups
from app.core.parameters import Parameter
from app.core.statistics.counts import CountsRequest
from app.core.statistics.groups import GroupedRequest


@dataclass(frozen=True)
class NetworkModel:
    """Pure data, validated by the parser that made it. Neighbours: one person's rows replaced."""

    family: str
    network: Network
    trim: float = TRIM_DEFAULT
    splits: Splits = "tree"
    target: str | None = None
    """The class of a naive Bayes model."""
    grouped_by: tuple[str, ...] = ()
    """Columns of private groups, which are nodes of it (`by_groups.py`)."""
    within: PrivateGroups | None = None
    """A private condition: the network is of the rows that meet it, and how many those are is private too."""
    trim_open: bool = field(default=False, compare=False, kw_only=True)
    """Nobody declared it: a mechanism that it costs nothing may make it smaller before anything is stored."""

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """One a cell: a product of as many split probabilities in [ω, 1−ω] as the level's path is long."""
        return tuple(
            Parameter(name, self.trim**steps, (1 - self.trim) ** steps)
            for name, steps in zip(self.network.cell_names(), self._path_lengths(), strict=True)
        )

    @property
    def pooled(self) -> bool:
        return any(self.network.pooled(i) for i in range(len(self.network.nodes)))

    @property
    def statistic(self) -> CountsRequest | GroupedRequest:
        counts = counts_request(self.network)
        return counts if self.within is None else self.within.request(counts)

    def as_json(self) -> dict[str, Any]:
        if self.family == "naive_bayes":
            features = [node.name for node in self.network.nodes if node.name != self.target]
            body: dict[str, Any] = {"family": self.family, "class": self.target, "features": features}
            body["priors"] = {node.name: _prior_json(node) for node in self.network.nodes}
        else:
            body = {"family": self.family, "nodes": {node.name: _node_json(node) for node in self.network.nodes}}
        return body | {"trim": self.trim, "splits": self.splits} | self._groups_json()

    def _groups_json(self) -> dict[str, Any]:
        asked = None if self.within is None else self.within.asked
        if not self.grouped_by and asked is None:
            return {}
        return {"groups": {"by": list(self.grouped_by)} | ({} if asked is None else {"where": asked})}

    def node_splits(self, i: int) -> tuple[Split, ...]:
        return level_splits(len(self.network.nodes[i].levels), self.splits)

    def split_prior(self, i: int, split: Split) -> tuple[float, float]:
        """The Beta parameters of one split of node i, the same under every configuration."""
        weights = self.network.nodes[i].concentration
        return float(sum(weights[split.low : split.middle])), float(sum(weights[split.middle : split.high]))

    def _path_lengths(self) -> Iterator[int]:
        for i, node in enumerate(self.network.nodes):
            splits = self.node_splits(i)
            lengths = [len(path(splits, level)) for level in range(len(node.levels))]
            for _ in range(self.network.configurations(i)):
                yield from lengths


def _node_json(node: Node) -> Mapping[str, Any]:
    return {"parents": list(node.parents), "prior": _prior_json(node)}


def _prior_json(node: Node) -> dict[str, Any]:
    found: dict[str, Any] = {"concentration": list(node.concentration)}
    by = {"pooled_by": list(node.pooled_by)} if node.pooled_by else {}
    return found | ({"pooled": True} | by if node.pooled else {})
