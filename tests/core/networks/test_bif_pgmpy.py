"""BIF text exchanged with pgmpy in both directions, and tables in its JSON form."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.core.kinds.networks.exchange.bif import network_from_bif, network_to_bif
from app.core.kinds.networks.exchange.network_json import network_from_json
from app.core.kinds.networks.structure import Network
from tests.core.networks.network_cases import Array, clinical_network, draw_samples
from tests.core.networks.pgmpy_peer import load_pgmpy, pgmpy_engine, pgmpy_tables

# Loading pgmpy alone takes about ten seconds.
pytestmark = pytest.mark.slow
NETWORK = clinical_network()
CELLS = draw_samples(NETWORK, 1, np.random.default_rng(2))[0]


def in_our_columns(network: Network, tables: list[Any]) -> Array:
    """pgmpy may order levels and parents otherwise; every probability is looked up by name."""
    by_name = {table.variable: table for table in tables}
    found = []
    for cell in network.cell_names():
        own, _, condition = cell.partition("|")
        states = dict(part.split("=") for part in [own, *filter(None, condition.split(","))])
        found.append(by_name[own.split("=")[0]].get_value(**states))
    return np.array(found, dtype=np.float64)


@pytest.mark.deep
def test_pgmpy_reads_what_we_write(tmp_path: Path) -> None:
    path = tmp_path / "network.bif"
    path.write_text(network_to_bif(NETWORK, CELLS))
    load_pgmpy()
    from pgmpy.readwrite import BIFReader

    model = BIFReader(str(path)).get_model()
    np.testing.assert_allclose(in_our_columns(NETWORK, model.get_cpds()), CELLS, rtol=0, atol=1e-15)


@pytest.mark.deep
def test_we_read_what_pgmpy_writes(tmp_path: Path) -> None:
    path = tmp_path / "network.bif"
    load_pgmpy()
    from pgmpy.readwrite import BIFWriter

    BIFWriter(pgmpy_engine(NETWORK, CELLS).model).write(str(path))
    read = network_from_bif(path.read_text())
    theirs = in_our_columns(read.network, pgmpy_tables(NETWORK, CELLS))
    assert {node.name for node in read.network.nodes} == {node.name for node in NETWORK.nodes}
    np.testing.assert_allclose(read.probabilities, theirs, rtol=0, atol=1e-9)


@pytest.mark.deep
def test_tables_named_as_pgmpy_names_them_are_read_into_the_same_columns() -> None:
    tables = pgmpy_tables(NETWORK, CELLS)
    spec = {
        "nodes": [node.name for node in NETWORK.nodes],
        "edges": [[parent, node.name] for node in NETWORK.nodes for parent in node.parents],
        "cpds": [
            {
                "variable": table.variable,
                "variable_card": int(table.variable_card),
                "values": table.get_values().tolist(),
                "evidence": table.variables[1:],
                "evidence_card": [int(size) for size in table.cardinality[1:]],
                "state_names": {name: list(levels) for name, levels in table.state_names.items()},
            }
            for table in tables
        ],
    }
    read = network_from_json(spec)
    assert read.network == NETWORK
    np.testing.assert_allclose(read.probabilities, CELLS, rtol=1e-15, atol=0)
