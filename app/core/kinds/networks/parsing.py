"""Networks as they are described, and as they are built from a description and the columns.

Names are columns. `strength` gives every level the same concentration. Nodes are taken in alphabetical order before parents
are put first, so that the order of an object's fields, which stores do not keep, never decides where a probability goes.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from app.core.grids.bernoulli import TRIM_DEFAULT, TRIM_WORDS, Trim
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.splits import Splits
from app.core.kinds.networks.structure import NODES_MAX, Network, Node, build_network
from app.core.schema import LEVELS_MAX, NAME_LENGTH_MAX, Column, ColumnNames
from app.core.specs import Expects, Maybe, OneOf, Spec
from app.core.statistics.groups import INTEGER_LEVELS_MAX, declared_levels
from app.errors import InvalidModel

CONCENTRATION_MIN = 1e-3
CONCENTRATION_TOTAL_MAX = 1e5
"""All levels of a node together: a stronger prior would need a finer grid than its blocks are given."""

_Concentration = Annotated[float, Field(ge=CONCENTRATION_MIN, le=CONCENTRATION_TOTAL_MAX)]
_ColumnName = Annotated[str, Field(min_length=1, max_length=NAME_LENGTH_MAX)]


_Pooled = Annotated[
    bool,
    Field(
        exclude_if=lambda pooled: not pooled,
        description="Whether tables under different configurations of the parents come from one Dirichlet law, whose mean has "
        "this prior and whose strength is unknown: nearly empty configurations are then believed to be like the others, as far "
        "as those are alike. For noise mechanisms.",
    ),
]


_PooledBy = Annotated[
    list[_ColumnName],
    Field(
        max_length=NODES_MAX,
        exclude_if=lambda by: not by,
        description="Of a pooled prior: some of the parents. Tables under configurations in which these are equal are more alike "
        "than others: their common mean is one of a law of means.",
    ),
]


class StrengthPrior(Spec):
    """A Dirichlet prior with the same concentration for every level."""

    strength: _Concentration = Field(description="The concentration of a level; 1 is uniform.")
    pooled: _Pooled = False
    pooled_by: _PooledBy = Field(default=[])


class ConcentrationPrior(Spec):
    """A Dirichlet prior, level by level."""

    concentration: Annotated[
        list[_Concentration],
        Field(min_length=2, max_length=LEVELS_MAX),
        Expects(f"a list of numbers from {CONCENTRATION_MIN:g} to {CONCENTRATION_TOTAL_MAX:g}, one a level"),
    ] = Field(description="One number a level, in the order of the column's levels.")
    pooled: _Pooled = False
    pooled_by: _PooledBy = Field(default=[])


NodePrior = TypeAliasType(
    "NodePrior",
    Annotated[Spec, OneOf(None, {"concentration": ConcentrationPrior, "strength": StrengthPrior})],
)


class NetworkNode(Spec):
    """A variable: a categorical or binary column, or an integer one of few values."""

    parents: list[_ColumnName] = Field(default=[], max_length=NODES_MAX, description="The nodes it depends on.")
    prior: Maybe[NodePrior] = Field(default=None, description="Of its levels, whatever its parents are.")


class _TrimmedTables(Spec):
    family: str
    prior: StrengthPrior = Field(
        default=StrengthPrior(strength=1.0),
        exclude_if=lambda prior: prior.strength == 1 and not prior.pooled,
        description="Of the nodes without one of their own.",
    )
    trim: Maybe[Trim] = Field(default=None, description=TRIM_WORDS)
    splits: Splits = Field(
        default="tree",
        description="How a table of more than two levels is split into yes and no: in halves, or in turn.",
    )


class BayesianNetworkModel(_TrimmedTables):
    """A discrete Bayesian network: a table of probabilities for every node, given its parents."""

    family: Literal["network"] = Field(description="The name of the family.")
    nodes: dict[_ColumnName, NetworkNode] = Field(
        min_length=1, max_length=NODES_MAX, description="Nodes by the names of their columns."
    )


class NaiveBayesModel(_TrimmedTables):
    """A class that every feature depends on, and nothing else."""

    family: Literal["naive_bayes"] = Field(description="The name of the family.")
    target: str = Field(alias="class", min_length=1, max_length=NAME_LENGTH_MAX, description="The column of the class.")
    features: Annotated[ColumnNames, Field(max_length=NODES_MAX)] = Field(description="The columns of the features.")
    priors: dict[_ColumnName, NodePrior] = Field(
        default={}, max_length=NODES_MAX, description="Of the class and of features, by column."
    )


def build_network_model(spec: BayesianNetworkModel, columns: Mapping[str, Column]) -> NetworkModel:
    nodes = []
    for name in sorted(spec.nodes):
        where, node = f"model.nodes.{name}", spec.nodes[name]
        levels = column_levels(where, name, columns)
        prior = _prior(f"{where}.prior", node.prior, spec.prior, len(levels))
        parents = tuple(node.parents)
        nodes.append(Node(name, levels, parents, prior, *_pooled(f"{where}.prior", node.prior, spec.prior, parents)))
    return _model(spec, "network", build_network(nodes))


def build_naive_bayes(spec: NaiveBayesModel, columns: Mapping[str, Column]) -> NetworkModel:
    target, features = spec.target, tuple(spec.features)
    if target in features:
        raise InvalidModel("model.features", "columns other than the class")
    for name in sorted(set(spec.priors) - {target, *features}):
        raise InvalidModel(f"model.priors.{name}", "the class or a feature")
    nodes = []
    for name in (target, *features):
        levels = column_levels("model.class" if name == target else "model.features", name, columns)
        own = spec.priors.get(name)
        prior = _prior(f"model.priors.{name}", own, spec.prior, len(levels))
        parents = () if name == target else (target,)
        nodes.append(Node(name, levels, parents, prior, *_pooled(f"model.priors.{name}", own, spec.prior, parents)))
    return _model(spec, "naive_bayes", build_network(nodes, "model.features"), target)


def _model(spec: _TrimmedTables, family: str, network: Network, target: str | None = None) -> NetworkModel:
    trim = TRIM_DEFAULT if spec.trim is None else spec.trim
    return NetworkModel(family, network, trim, spec.splits, target, trim_open=spec.trim is None)


def column_levels(where: str, name: str, columns: Mapping[str, Column]) -> tuple[str, ...]:
    """Categories as declared; false, true; whole numbers as their decimal texts."""
    if name not in columns:
        raise InvalidModel(where, f"the name of a column; {name!r} is none")
    levels = declared_levels(columns[name])
    if levels is not None:
        return levels
    raise InvalidModel(where, f"a categorical, binary or integer column of at most {INTEGER_LEVELS_MAX} values")


def _prior(where: str, own: Spec | None, shared: StrengthPrior, levels: int) -> tuple[float, ...]:
    """A node's own prior, or the network's."""
    if isinstance(own, ConcentrationPrior):
        if len(own.concentration) != levels:
            raise InvalidModel(f"{where}.concentration", f"a list of {levels} numbers, one a level")
        weights = tuple(own.concentration)
    else:
        weights = ((own if isinstance(own, StrengthPrior) else shared).strength,) * levels
    if not sum(weights) <= CONCENTRATION_TOTAL_MAX:
        field = "model.prior" if own is None else where
        raise InvalidModel(field, f"numbers that sum to at most {CONCENTRATION_TOTAL_MAX:g}")
    return weights


def _pooled(
    where: str, own: Spec | None, shared: StrengthPrior, parents: tuple[str, ...]
) -> tuple[bool, tuple[str, ...]]:
    """Whether it is, and by which parents; those that the network's prior names are by those of them that a node has."""
    stated = isinstance(own, StrengthPrior | ConcentrationPrior)
    prior, where = (own, where) if isinstance(own, StrengthPrior | ConcentrationPrior) else (shared, "model.prior")
    by = tuple(name for name in parents if name in prior.pooled_by)
    if prior.pooled_by and not prior.pooled:
        raise InvalidModel(f"{where}.pooled_by", "parents of a pooled prior; this one is not pooled")
    if stated and set(prior.pooled_by) - set(parents):
        raise InvalidModel(f"{where}.pooled_by", "parents of the node")
    if len(by) == len(parents) and stated and by:
        raise InvalidModel(f"{where}.pooled_by", "fewer than all parents, so that some configurations are alike")
    return prior.pooled, () if len(by) == len(parents) else by
