"""Import of networks written as JSON with pgmpy's names: nodes, edges and one table a node.

    {"nodes": ["rain", "wet"], "edges": [["rain", "wet"]],
     "cpds": [{"variable": "rain", "variable_card": 2, "values": [[0.8], [0.2]]},
              {"variable": "wet", "variable_card": 2, "values": [[0.9, 0.2], [0.1, 0.8]],
               "evidence": ["rain"], "evidence_card": [2], "state_names": {"wet": ["no", "yes"], "rain": [0, 1]}}]}

`values` has a row a level and a column a configuration of `evidence`, the last one fastest. Levels without `state_names` are
0, 1, …; true and false become `true` and `false`. Edges, sizes and names that contradict each other are refused.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.networks.structure import CELLS_MAX, NODES_MAX, Network, Node, build_network
from app.core.schema import LEVELS_MAX, NAME_LENGTH_MAX
from app.errors import InvalidModel

CPD_FIELDS = frozenset({"variable", "variable_card", "values", "evidence", "evidence_card", "state_names"})
SUM_TOLERANCE = 1e-3
"""Files round their probabilities; within this of one they are divided by their sum."""


@dataclass(frozen=True)
class ImportedNetwork:
    """`probabilities` has one entry a cell, in the order of the network's columns."""

    network: Network
    probabilities: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows are configurations of the parents (last one fastest), columns the node's levels."""

    levels: tuple[str, ...]
    parents: tuple[str, ...]
    rows: NDArray[np.float64]


def assemble(tables: Mapping[str, Table], concentration: float, where: str) -> ImportedNetwork:
    """Every node's prior gets `concentration` a level. Raises InvalidModel for what is no network or no probability."""
    nodes = [Node(name, t.levels, t.parents, (concentration,) * len(t.levels)) for name, t in tables.items()]
    network = build_network(nodes, where)
    parts = []
    for i, node in enumerate(network.nodes):
        rows = tables[node.name].rows
        if rows.shape != (network.configurations(i), len(node.levels)):
            raise InvalidModel(f"{where}.{node.name}", "one probability a level and configuration of the parents")
        sums = rows.sum(axis=1, keepdims=True)
        # Written so that NaN fails too.
        if not ((rows >= 0) & (rows <= 1)).all() or not (np.abs(sums - 1) <= SUM_TOLERANCE).all():
            raise InvalidModel(
                f"{where}.{node.name}", "probabilities from 0 to 1 that sum to one under each configuration"
            )
        parts.append((rows / sums).ravel())
    return ImportedNetwork(network, np.concatenate(parts))


def network_from_json(spec: object, concentration: float = 1.0, where: str = "model.network") -> ImportedNetwork:
    """Raises InvalidModel(field, expected)."""
    if not isinstance(spec, Mapping) or set(spec) != {"nodes", "edges", "cpds"}:
        raise InvalidModel(where, "an object with exactly nodes, edges and cpds")
    names = _read_names(spec["nodes"], f"{where}.nodes", NODES_MAX)
    parents = _read_edges(spec["edges"], names, f"{where}.edges")
    if not isinstance(spec["cpds"], list) or len(spec["cpds"]) != len(names):
        raise InvalidModel(f"{where}.cpds", f"one table for each of the {len(names)} nodes")
    cpds: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for i, cpd in enumerate(spec["cpds"]):
        place = f"{where}.cpds.{i}"
        if not isinstance(cpd, Mapping) or not {"variable", "variable_card", "values"} <= set(cpd) <= CPD_FIELDS:
            raise InvalidModel(place, f"an object with fields among {', '.join(sorted(CPD_FIELDS))}")
        variable = cpd["variable"]
        if not isinstance(variable, str) or variable not in names or variable in cpds:
            raise InvalidModel(f"{place}.variable", "the name of a node, each once")
        cpds[variable] = (place, cpd)
    levels = {name: _read_levels(*cpds[name]) for name in names}
    tables = {name: _read_table(*cpds[name], levels, parents[name]) for name in names}
    return assemble(tables, concentration, f"{where}.nodes")


def _read_names(value: object, field: str, most: int) -> list[str]:
    expected = f"1 to {most} different texts of 1 to {NAME_LENGTH_MAX} printable characters"
    if not isinstance(value, list) or not 1 <= len(value) <= most:
        raise InvalidModel(field, expected)
    if not all(is_name(name) for name in value) or len(set(value)) != len(value):
        raise InvalidModel(field, expected)
    return value


def is_name(value: object) -> bool:
    return (
        isinstance(value, str) and 1 <= len(value) <= NAME_LENGTH_MAX and value.isprintable() and value == value.strip()
    )


def _read_edges(value: object, names: list[str], field: str) -> dict[str, set[str]]:
    known = set(names)
    parents: dict[str, set[str]] = {name: set() for name in names}
    if not isinstance(value, list):
        raise InvalidModel(field, "a list of pairs [parent, child]")
    for i, edge in enumerate(value):
        if not isinstance(edge, list) or len(edge) != 2 or not all(isinstance(e, str) and e in known for e in edge):
            raise InvalidModel(f"{field}.{i}", "a pair [parent, child] of nodes")
        if edge[0] in parents[edge[1]]:
            raise InvalidModel(f"{field}.{i}", "every edge once")
        parents[edge[1]].add(edge[0])
    return parents


def _read_levels(place: str, cpd: Mapping[str, Any]) -> tuple[str, ...]:
    card = cpd["variable_card"]
    if isinstance(card, bool) or not isinstance(card, int) or not 2 <= card <= LEVELS_MAX:
        raise InvalidModel(f"{place}.variable_card", f"a whole number from 2 to {LEVELS_MAX}")
    named = _state_names(place, cpd).get(cpd["variable"])
    if named is None:
        return tuple(str(k) for k in range(card))
    levels = _level_names(named, f"{place}.state_names.{cpd['variable']}")
    if len(levels) != card:
        raise InvalidModel(f"{place}.state_names", f"{card} levels, as variable_card says")
    return levels


def _state_names(place: str, cpd: Mapping[str, Any]) -> Mapping[str, Any]:
    given = cpd.get("state_names") or {}
    if not isinstance(given, Mapping):
        raise InvalidModel(f"{place}.state_names", "an object of lists of levels")
    return given


def _level_names(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidModel(field, "a list of levels")
    texts = [
        str(v).lower() if isinstance(v, bool) else str(v) if isinstance(v, int) and abs(v) < 2**53 else v for v in value
    ]
    return tuple(_read_names(texts, field, LEVELS_MAX))


def _read_table(place: str, cpd: Mapping[str, Any], levels: Mapping[str, tuple[str, ...]], parents: set[str]) -> Table:
    evidence = cpd.get("evidence") or []
    if not isinstance(evidence, list) or not all(isinstance(name, str) for name in evidence):
        raise InvalidModel(f"{place}.evidence", "a list of nodes")
    if set(evidence) != parents or len(set(evidence)) != len(evidence):
        raise InvalidModel(f"{place}.evidence", "the parents that the edges give, each once")
    if (cpd.get("evidence_card") or []) != [len(levels[name]) for name in evidence]:
        raise InvalidModel(f"{place}.evidence_card", "the number of levels of each node in evidence")
    for name, named in _state_names(place, cpd).items():
        if name not in {cpd["variable"], *evidence} or _level_names(named, f"{place}.state_names") != levels[name]:
            raise InvalidModel(f"{place}.state_names", "the levels each variable has in its own table, in that order")
    own = levels[cpd["variable"]]
    columns = math.prod(len(levels[name]) for name in evidence)
    rows = _read_values(cpd["values"], (len(own), columns), f"{place}.values")
    return Table(own, tuple(evidence), rows.T)


def _read_values(value: object, shape: tuple[int, int], field: str) -> NDArray[np.float64]:
    expected = f"{shape[0]} rows of {shape[1]} numbers"
    if shape[0] * shape[1] > CELLS_MAX or not isinstance(value, list) or len(value) != shape[0]:
        raise InvalidModel(field, expected)
    for row in value:
        if not isinstance(row, list) or len(row) != shape[1]:
            raise InvalidModel(field, expected)
        for number in row:
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
                raise InvalidModel(field, f"{expected} from 0 to 1")
    return np.array(value, dtype=np.float64)
