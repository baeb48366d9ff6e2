"""What discrete Gaussian noise on a network's counts is charged, against every pair of people there can be."""

import math

import mpmath
import numpy as np
import pytest

from app.core.kinds.networks.mechanisms import NetworkGaussian
from app.core.kinds.networks.mechanisms.gaussian import squared_sensitivity
from app.core.kinds.networks.statistic import count_records
from app.core.privacy import ORDERS
from app.core.privacy.gaussian import SCALE_MIN
from tests.core.networks.noise_oracle import cell_counts, persons, shifts
from tests.core.networks.test_noise_mechanisms import random_network
from tests.core.networks.test_record_costs import Graph, all_graphs, model_of, plain_network

CHECKED = (0, 5, 12, 20)


def gaussian_divergence(shift: int, scale: float, order: float) -> float:
    """Rényi divergence of discrete Gaussian noise `shift` apart, by its definition over twelve sds and more."""
    with mpmath.workdps(40):
        reach = range(-int(14 * scale) - shift * 40, int(14 * scale) + shift * 40 + 1)
        s, a = mpmath.mpf(scale), mpmath.mpf(order)
        whole = mpmath.fsum(mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * s**2)) for z in reach)
        moved = mpmath.fsum(
            mpmath.exp(-(a * z**2 + (1 - a) * (z - shift) ** 2) / (2 * s**2)) for z in map(mpmath.mpf, reach)
        )
        return float(mpmath.log(moved / whole) / (a - 1))


@pytest.mark.parametrize("unit_rows", [1, 2, 3])
def test_squared_sensitivity_is_the_largest_over_all_pairs_of_people(unit_rows: int) -> None:
    """A pair of nodes suffices to reach it; three nodes where there are few enough people."""
    graphs: list[tuple[tuple[int, ...], Graph]] = [((2, 2), graph) for graph in all_graphs(2)] + [((3,), ((),))]
    if unit_rows == 1:
        graphs += [((2, 2, 2), graph) for graph in all_graphs(3)]
    for levels, graph in graphs:
        network = plain_network(levels, graph, "tree")
        counts = [cell_counts(network, rows) for rows in persons(network, unit_rows)]
        largest = max(sum(m * m for m in shifts(a, b)) for a in counts for b in counts)
        assert largest == squared_sensitivity(model_of(levels, graph, 1.0, "tree", 0.05), unit_rows)


@pytest.mark.parametrize("unit_rows", [1, 3])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 8.0])
def test_charge_covers_every_pair_of_people_and_stays_within_its_epsilon(unit_rows: int, epsilon: float) -> None:
    """D_α of noise on a lattice of `factor` steps a row, by its definition: a coarse one is checked by summing."""
    graph: Graph = ((), (0,))
    model = model_of((2, 2), graph, 1.0, "tree", 0.05)
    mechanism = NetworkGaussian(5, epsilon, 1e-6)
    cost = mechanism.cost(model, 50, unit_rows)
    assert epsilon * (1 - 1e-6) < cost.total.epsilon(1e-6) <= epsilon
    scale, factor = mechanism.scale(model, unit_rows)
    assert scale * factor >= SCALE_MIN
    network = plain_network((2, 2), graph, "tree")
    counts = [cell_counts(network, rows) for rows in persons(network, unit_rows)]
    for moved in {shifts(a, b) for a in counts for b in counts}:
        for at in CHECKED:
            owed = sum(ORDERS[at] * m * m / (2 * scale**2) for m in moved)
            assert owed <= cost.total.curve[at] * (1 + 1e-12)
    for shift in (1, unit_rows):
        for at in CHECKED[:3]:
            exact = gaussian_divergence(shift, 3.0, ORDERS[at])
            assert exact <= ORDERS[at] * shift**2 / 18 * (1 + 1e-9)


def test_noise_has_the_stated_size() -> None:
    """1,200 numbers: their sd within 6 standard errors of σ."""
    model = random_network(10, 2, 1)
    mechanism = NetworkGaussian(5, 1.0, 1e-6)
    counts = count_records(model.network, np.zeros((50, 10), dtype=np.int64))
    scale, factor = mechanism.scale(model, 1)
    times = 1 + 1_200 // model.network.cell_count
    found = np.concatenate([mechanism.measure(model, 50, 1, counts) / factor - counts.cells for _ in range(times)])
    assert abs(found.std() / scale - 1) < 6 / math.sqrt(2 * len(found))
    assert abs(found.mean()) < 6 * scale / math.sqrt(len(found))
