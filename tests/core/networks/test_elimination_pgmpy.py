"""A network of 37 nodes and 500 probabilities, 1,000 samples, against pgmpy. All 1,000: benchmarks/bench_networks.py."""

import numpy as np
import pytest

from app.core.kinds.networks.evidence.compiled import compile_evidence, compile_law
from tests.core.networks.network_cases import Array, clinical_network, draw_samples, leaves
from tests.core.networks.pgmpy_peer import pgmpy_engine, pgmpy_law

NETWORK = clinical_network()
# Loading pgmpy takes seconds in each process that runs tests; in `make test` enumeration is the reference
# (`test_elimination.py`).
pytestmark = pytest.mark.deep
COMPARED = (0, 1, 499, 998, 999)


@pytest.fixture(scope="module")
def cells() -> Array:
    return draw_samples(NETWORK, 1000, np.random.default_rng(5))


@pytest.mark.parametrize("seed", range(4))
def test_a_law_given_every_leaf_is_pgmpys_on_each_sample_compared(cells: Array, seed: int) -> None:
    rng = np.random.default_rng(seed)
    evidence = {name: str(rng.choice(NETWORK.nodes[NETWORK.index(name)].levels)) for name in leaves(NETWORK)}
    inner = [node.name for node in NETWORK.nodes if node.name not in evidence]
    variable = str(rng.choice(inner))
    law = compile_law(NETWORK, variable=variable, evidence=evidence)
    ours = law.probabilities(cells)
    event = compile_evidence(NETWORK, event={variable: law.levels[0]}, evidence=evidence).values(cells)
    for sample in COMPARED:
        theirs = pgmpy_law(pgmpy_engine(NETWORK, cells[sample]), variable, evidence, law.levels)
        np.testing.assert_allclose(ours[:, sample], theirs, rtol=0, atol=1e-9)
        assert event[sample] == pytest.approx(theirs[0], abs=1e-9)


def test_a_law_given_causes_and_effects_is_pgmpys(cells: Array) -> None:
    evidence = {"v0": "l1", "v20": "l0", leaves(NETWORK)[0]: "l1"}
    law = compile_law(NETWORK, variable="v10", evidence=evidence)
    theirs = pgmpy_law(pgmpy_engine(NETWORK, cells[7]), "v10", evidence, law.levels)
    np.testing.assert_allclose(law.probabilities(cells)[:, 7], theirs, rtol=0, atol=1e-9)
