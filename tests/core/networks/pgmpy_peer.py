"""The same network in pgmpy, an independent library, one model a sample."""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from app.core.kinds.networks.structure import Network
from tests.core.networks.network_cases import Array


@lru_cache(maxsize=1)
def load_pgmpy() -> tuple[Any, Any, Any]:
    """Loaded when first needed: it takes seconds, which collecting the tests should not."""
    with warnings.catch_warnings():
        # It still loads a module of its own that it deprecates.
        warnings.filterwarnings(
            "ignore", r"`pgmpy\.estimators\.StructureScore` is deprecated", FutureWarning, r"pgmpy\."
        )
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.inference import VariableElimination
        from pgmpy.models import DiscreteBayesianNetwork
    return TabularCPD, DiscreteBayesianNetwork, VariableElimination


def pgmpy_tables(network: Network, cells: Array) -> list[Any]:
    """pgmpy writes a table as (own levels, configurations of the parents)."""
    table, _, _ = load_pgmpy()
    tables = []
    for i, node in enumerate(network.nodes):
        values = cells[network.cells(i)].reshape(network.configurations(i), len(node.levels)).T
        names = {name: list(network.nodes[network.index(name)].levels) for name in (node.name, *node.parents)}
        parents = [network.nodes[p] for p in network.parents(i)]
        given = {"evidence": list(node.parents), "evidence_card": [len(p.levels) for p in parents]} if parents else {}
        tables.append(table(node.name, len(node.levels), np.array(values), state_names=names, **given))
    return tables


def pgmpy_engine(network: Network, cells: Array) -> Any:
    _, network_model, elimination = load_pgmpy()
    model = network_model()
    model.add_nodes_from([node.name for node in network.nodes])
    model.add_edges_from([(parent, node.name) for node in network.nodes for parent in node.parents])
    model.add_cpds(*pgmpy_tables(network, cells))
    return elimination(model)


def pgmpy_law(engine: Any, variable: str, evidence: dict[str, str], levels: tuple[str, ...]) -> list[float]:
    found = engine.query([variable], evidence=evidence, show_progress=False)
    return [float(found.get_value(**{variable: level})) for level in levels]
