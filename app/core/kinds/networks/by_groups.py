"""A network by private groups: the columns it is grouped by become nodes, and parents of every other node.

A person who belongs to another group changes one count of every table, as with any other change: the sensitivity is that of a
network, with one table more for every column. The columns among themselves are a chain, so that nothing is assumed about how
they go together.

By a private condition, or with cells that may be missing, it is a network of the rows that meet it, any number from none to
all. Who enters or leaves changes one count of every table by one, and who stays inside changes two: the
sensitivity is that of a network of all rows, which needs no count of those outside.
"""

from dataclasses import replace

from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.structure import Node, build_network
from app.core.kinds.private_groups import PrivateGroups
from app.errors import InvalidModel


def network_by_groups(model: NetworkModel, groups: PrivateGroups) -> NetworkModel:
    """Of one that is by these columns already, as it is stored, itself. Raises InvalidModel."""
    if groups.by and model.family != "network":
        raise InvalidModel("by", f"public columns, for {model.family}; a network can be by others too")
    if groups.where is not None or groups.present:
        model = replace(model, within=replace(groups, by=(), inputs=()))
    names, nodes = groups.columns, {node.name: node for node in model.network.nodes}
    if _is_by(nodes, names):
        return replace(model, grouped_by=names)
    taken = [name for name in names if name in nodes]
    if taken:
        raise InvalidModel("by", f"columns that are no nodes; {taken[0]!r} is one, and can be a parent")
    added = [
        Node(column.name, column.levels, names[:place], (1.0,) * len(column.levels))
        for place, column in enumerate(groups.by)
    ]
    below = [replace(node, parents=(*names, *node.parents)) for node in model.network.nodes]
    return replace(model, network=build_network([*added, *below], "by"), grouped_by=names)


def _is_by(nodes: dict[str, Node], names: tuple[str, ...]) -> bool:
    chained = all(name in nodes and nodes[name].parents == names[:place] for place, name in enumerate(names))
    return chained and all(node.parents[: len(names)] == names for name, node in nodes.items() if name not in names)
