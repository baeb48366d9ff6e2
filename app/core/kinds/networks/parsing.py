"""Reading networks from JSON.

{"family": "network", "nodes": {name: {"parents": […], "prior": {"concentration": […]} | {"strength": a}}},
 "prior": {"strength": 1}, "trim": 0.05, "splits": "tree"}
{"family": "naive_bayes", "class": name, "features": […], "prior": …, "priors": {name: …}, "trim": …, "splits": …}

Names are columns. `strength` gives every level the same concentration. Nodes are taken in alphabetical order before parents
are put first, so that the order of an object's fields, which stores do not keep, never decides where a probability goes.
"""

from collections.abc import Mapping
from typing import Any

from app.core.grids.bernoulli import TRIM_DEFAULT, read_probability_trim
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.splits import SPLITS, Splits
from app.core.kinds.networks.structure import Node, build_network
from app.core.reading import read_number, read_object
from app.core.schema import Column
from app.errors import InvalidModel

INTEGER_LEVELS_MAX = 64
CONCENTRATION_MIN = 1e-3
CONCENTRATION_TOTAL_MAX = 1e5
"""All levels of a node together: a stronger prior would need a finer grid than its blocks are given."""


def parse_network(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NetworkModel:
    fields = read_object("model", spec, required={"family", "nodes"}, optional={"prior", "trim", "splits"})
    given = fields["nodes"]
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidModel("model.nodes", "an object of nodes, each named after a column")
    nodes = []
    for name in sorted(given):
        where = f"model.nodes.{name}"
        levels = column_levels(where, name, columns)
        body = read_object(where, given[name], required=set(), optional={"parents", "prior"})
        parents = _read_names(f"{where}.parents", body.get("parents", []))
        nodes.append(Node(name, levels, parents, _read_prior(where, body.get("prior"), fields, len(levels))))
    return NetworkModel("network", build_network(nodes), _trim(fields), _splits(fields))


def parse_naive_bayes(spec: Mapping[str, Any], columns: Mapping[str, Column]) -> NetworkModel:
    fields = read_object(
        "model", spec, required={"family", "class", "features"}, optional={"prior", "priors", "trim", "splits"}
    )
    target = fields["class"]
    if not isinstance(target, str):
        raise InvalidModel("model.class", "the name of a column")
    features = _read_names("model.features", fields["features"])
    if not features or len(set(features)) != len(features) or target in features:
        raise InvalidModel("model.features", "one or more different columns other than the class")
    priors = read_object("model.priors", fields.get("priors", {}), required=set(), optional={target, *features})
    nodes = []
    for name in (target, *features):
        levels = column_levels("model.class" if name == target else "model.features", name, columns)
        prior = _read_prior(f"model.priors.{name}", priors.get(name), fields, len(levels))
        nodes.append(Node(name, levels, () if name == target else (target,), prior))
    return NetworkModel("naive_bayes", build_network(nodes, "model.features"), _trim(fields), _splits(fields), target)


def column_levels(where: str, name: str, columns: Mapping[str, Column]) -> tuple[str, ...]:
    """Categories as declared; false, true; whole numbers as their decimal texts."""
    if name not in columns:
        raise InvalidModel(where, f"the name of a column; {name!r} is none")
    column = columns[name]
    if column.type == "categorical":
        return column.levels
    if column.type == "binary":
        return ("false", "true")
    if column.type == "integer" and column.lower is not None and column.upper is not None:
        low, high = int(column.lower), int(column.upper)
        if high - low < INTEGER_LEVELS_MAX:
            return tuple(str(value) for value in range(low, high + 1))
    raise InvalidModel(where, f"a categorical, binary or integer column of at most {INTEGER_LEVELS_MAX} values")


def _read_names(field: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise InvalidModel(field, "a list of names of columns")
    return tuple(value)


def _read_prior(where: str, own: object, fields: Mapping[str, Any], levels: int) -> tuple[float, ...]:
    """A node's own prior, or the network's."""
    field = "model.prior" if own is None else f"{where}.prior"
    body = fields.get("prior", {"strength": 1}) if own is None else own
    if own is not None and isinstance(body, Mapping) and "concentration" in body:
        given = read_object(field, body, required={"concentration"}, optional=set())["concentration"]
        if not isinstance(given, list | tuple) or len(given) != levels:
            raise InvalidModel(f"{field}.concentration", f"a list of {levels} numbers, one a level")
        weights = tuple(read_number(f"{field}.concentration", value) for value in given)
    else:
        strength = read_object(field, body, required={"strength"}, optional=set())["strength"]
        weights = (read_number(f"{field}.strength", strength),) * levels
    if not min(weights) >= CONCENTRATION_MIN or not sum(weights) <= CONCENTRATION_TOTAL_MAX:
        raise InvalidModel(
            field, f"numbers of at least {CONCENTRATION_MIN:g} that sum to at most {CONCENTRATION_TOTAL_MAX:g}"
        )
    return weights


def _trim(fields: Mapping[str, Any]) -> float:
    return read_probability_trim(fields.get("trim", TRIM_DEFAULT))


def _splits(fields: Mapping[str, Any]) -> Splits:
    kind = fields.get("splits", "tree")
    for known in SPLITS:
        if kind == known:
            return known
    raise InvalidModel("model.splits", "one of " + ", ".join(SPLITS))
