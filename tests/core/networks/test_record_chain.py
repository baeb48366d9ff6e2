"""Beliefs from noisy tables against sums over every table there can be; and what they may and may not depend on."""

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.kinds.belief import Evidence
from app.core.kinds.networks.beliefs.block_posterior import block_posterior
from app.core.kinds.networks.beliefs.measurement import NoisyTables
from app.core.kinds.networks.beliefs.pace import pace
from app.core.kinds.networks.beliefs.posterior import held, posterior_samples
from app.core.kinds.networks.beliefs.record_chain import RecordChain
from app.core.kinds.networks.beliefs.table_shifts import TableShifts
from app.core.kinds.networks.mechanisms import NetworkFourier, NetworkGaussian, NetworkLaplace
from app.core.kinds.protocols import MeasuringMechanism
from app.errors import CalibratedUnavailable
from tests.core.networks.enumerated_tables import cells_of, enumerated
from tests.core.networks.network_cases import clinical_network
from tests.core.networks.test_noise_mechanisms import random_network
from tests.core.networks.test_record_costs import model_of
from tests.deep import deep

Array = NDArray[np.float64]
Noisy = NetworkLaplace | NetworkGaussian | NetworkFourier

ARROW = model_of((2, 2), ((), (0,)), 1.0, "tree", 0.05)
EDGE = 0.4
NOTHING = np.zeros((0, 6))


def characters_of(cells: Array) -> Array:
    """Of {}, {first}, {second}, {first, second}, in the order the mechanism has them: ∅, first, then those of the second."""
    a, b, c, d = cells[2:]
    return np.array([a + b + c + d, a + b - c - d, a - b + c - d, a - b - c + d])


def by_records(measured: NoisyTables) -> Array:
    """As for networks too wide for tables of counts."""
    generator = np.random.default_rng(2)
    steps = pace(ARROW.network, measured.rows, measured.scale, measured.moved, 2_048)
    start = block_posterior(ARROW.network, measured, 1, generator)[1]
    return RecordChain(ARROW.network, measured, steps, generator).samples(start, 2_048)


def test_a_share_that_doubles_round_to_one_is_not_shifted() -> None:
    """Of a weak prior: its logit is infinite."""
    near = np.array([6.0, 0.0, 5.0, -1.0, 1.0, 0.0])
    measured = NoisyTables(near, 1.5, True, (5, 5), 4.0, near, np.full(6, 1.5))
    shifts = TableShifts(ARROW.network, measured, np.random.default_rng(1))
    tables = np.array([1.0, 1e-290, 0.5, 0.5, 0.5, 0.5])
    assert shifts.propose(tables, np.array([[0] * 5, [2] * 5]), np.full(6, 1e-3)) is None
    assert shifts.propose(tables, np.array([[0] * 5, [2] * 5]), np.full(6, 1e-3)) is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "unit_rows", "records"),
    [
        deep(NetworkLaplace(5, 1.0), 1, False),
        deep(NetworkLaplace(5, 4.0), 2, False),
        deep(NetworkGaussian(5, 4.0, 1e-3), 1, False),
        (NetworkGaussian(5, 12.0, 1e-3), 2, False),
        (NetworkFourier(5, 2.0), 1, False),
        deep(NetworkFourier(5, 6.0), 2, False),
        deep(NetworkLaplace(5, 4.0), 2, True),
        (NetworkGaussian(5, 12.0, 1e-3), 2, True),
        deep(NetworkFourier(5, 2.0), 1, True),
    ],
)
def test_beliefs_are_the_sum_over_every_table(mechanism: Noisy, unit_rows: int, records: bool) -> None:
    """Six people, by chains over tables or over records. 2,000 points, neighbours alike: sds under 0.02, so 0.07 is 3.5 of them
    for 36 figures."""
    cells = cells_of((2, 1, 0, 3)).astype(np.int64)
    scale = mechanism.roughness(ARROW, unit_rows)[0]
    if isinstance(mechanism, NetworkFourier):
        measured = characters_of(cells.astype(np.float64)).astype(np.int64) + np.array([0, 3, -4, 2])
    else:
        factor = mechanism.scale(ARROW, unit_rows)[1] if isinstance(mechanism, NetworkGaussian) else 1
        measured = (cells + np.array([2, -1, -3, 2, 1, -2])) * factor
        observed = measured / factor

    def log_noise(seen: Array) -> float:
        if isinstance(mechanism, NetworkFourier):
            return float(-np.abs(measured - characters_of(seen)).sum() / scale)
        if isinstance(mechanism, NetworkLaplace):
            return float(-np.abs(observed - seen).sum() / scale)
        return float(-((observed - seen) ** 2).sum() / (2 * scale**2))

    means, below = enumerated(range(6, 6 * unit_rows + 1), log_noise, EDGE)
    if records:
        points = by_records(mechanism.noisy_tables_of(ARROW, 6, unit_rows, measured))[:, ::2]
    else:
        points = mechanism.belief(ARROW, 6, unit_rows, Evidence(NOTHING, measured, b"seed")).points[:, ::2]
    print(np.abs(points.mean(axis=0) - means).max(), np.abs((points < EDGE).mean(axis=0) - below).max())  # noqa: T201
    assert np.abs(points.mean(axis=0) - means).max() < 0.04
    assert np.abs((points < EDGE).mean(axis=0) - below).max() < 0.07


@pytest.mark.slow
def test_a_belief_is_a_function_of_what_was_measured_and_its_seed() -> None:
    mechanism = NetworkLaplace(5, 1.0)
    measured = np.array([5, 5, -3, 4, 2, 6])
    points = [
        mechanism.belief(ARROW, 10, 1, Evidence(samples, measured, seed)).points
        for samples, seed in ((NOTHING, b"a"), (np.ones((3, 6)), b"a"), (NOTHING, b"b"))
    ]
    assert np.array_equal(points[0], points[1])
    assert not np.array_equal(points[0], points[2])
    assert np.abs(points[0].mean(axis=0) - points[2].mean(axis=0)).max() < 0.06
    assert [each.lower for each in mechanism.calibrated_parameters(ARROW, 10, 1)] == [0.0] * 6
    with pytest.raises(CalibratedUnavailable):
        mechanism.belief(ARROW, 10, 1, Evidence(NOTHING, None, b"a"))


def test_samples_are_held_to_the_public_range_and_beliefs_are_not() -> None:
    """A hundred rows, none of the second level: without a trim P(second level) is about 1 %."""
    model = model_of((2, 3), ((), (0,)), 1.0, "chain", 0.05)
    mechanism = NetworkLaplace(300, 50.0)
    assert isinstance(mechanism, MeasuringMechanism)
    measured = np.array([100, 0, 100, 0, 0, 0, 0, 0])
    samples = mechanism.infer(model, 100, 1, measured, np.random.default_rng(1).bytes)
    lower, upper = (np.array([getattr(each, side) for each in model.parameters]) for side in ("lower", "upper"))
    assert ((lower <= samples) & (samples <= upper)).all()
    assert np.allclose(samples[:, 2:5].sum(axis=1), 1)
    points = mechanism.belief(model, 100, 1, Evidence(NOTHING, measured, b"a")).points
    assert np.allclose(points[:, 2:5].sum(axis=1), 1)
    assert (points[:, 1] < 0.05).mean() > 0.9
    assert 0.004 < points[:, 1].mean() < 0.025


@pytest.mark.slow
def test_blocks_by_themselves_agree_with_all_together_where_noise_is_small() -> None:
    model = random_network(4, 1, 3)
    rng = np.random.default_rng(5)
    mechanism = NetworkLaplace(400, 4.0)
    tables = mechanism.noisy_tables_of(model, 5_000, 1, rng.multinomial(5_000, np.full(14, 1 / 14)).astype(np.int64))
    drawn, mean = block_posterior(model.network, tables, 400, rng)
    assert np.abs(drawn.mean(axis=0) - mean).max() < 0.01
    assert np.abs(drawn.sum(axis=1) - 7).max() < 1e-9
    assert pace(model.network, (5_000, 5_000), 1e-2, 8.0, 100).chain is False
    assert posterior_samples(model, tables, 40, rng).shape == (40, 14)
    assert np.allclose(held(model, drawn, 1e-12), drawn)


def test_thirty_seven_nodes_are_said_to_take_under_ten_seconds() -> None:
    network = clinical_network()
    for rows in ((100, 100), (10_000, 10_000), (1_000_000, 1_000_000), (5_000, 15_000)):
        for scale in (1.0, 15.0, 250.0):
            assert pace(network, rows, scale, 2.0 * len(network.nodes), 2_000).seconds < 10
