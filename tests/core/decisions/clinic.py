"""A small network, arm → cured → visits, with samples of it and its joint law written out."""

from itertools import product

import numpy as np

from app.core.decisions import SampleSet
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.structure import Node, build_network

ARMS, CURED, VISITS = ("drug", "placebo", "none"), ("false", "true"), ("0", "1", "2")
MODEL = NetworkModel(
    "network",
    build_network(
        [
            Node("arm", ARMS, (), (1.0,) * 3),
            Node("cured", CURED, ("arm",), (1.0,) * 2),
            Node("visits", VISITS, ("cured",), (1.0,) * 3),
        ]
    ),
    trim=0.01,
)
RECORDS = list(product(ARMS, CURED, VISITS))


def network_samples(size: int, seed: int = 3, width: float = 4.0) -> SampleSet:
    """Tables near one network, the nearer the larger `width`."""
    rng = np.random.default_rng(seed)
    network, parts = MODEL.network, []
    for i, node in enumerate(network.nodes):
        centre = np.random.default_rng(i).dirichlet(np.full(len(node.levels), 2.0), size=network.configurations(i))
        # A share of the uniform law keeps every probability inside its public range.
        tables = [0.94 * rng.dirichlet(width * row + 0.5, size=size) + 0.06 / len(row) for row in centre]
        parts.append(np.concatenate(tables, axis=1))
    return SampleSet(MODEL.parameters, np.concatenate(parts, axis=1))


def joint(samples: SampleSet) -> dict[tuple[str, str, str], np.ndarray]:
    """P(record) at each sample, from the cells' names alone."""
    column = {parameter.name: samples.columns[i] for i, parameter in enumerate(samples.parameters)}
    return {
        (arm, cured, visits): column[f"arm={arm}"]
        * column[f"cured={cured}|arm={arm}"]
        * column[f"visits={visits}|cured={cured}"]
        for arm, cured, visits in RECORDS
    }
