"""The sampler's tables against the exact posterior, its draws by chi-square, and its speed."""

import os
import time
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.grids.bernoulli import bernoulli
from app.core.kinds.networks.blocks.block_grid import BlockShape, block_grid
from app.core.kinds.networks.blocks.block_sampler import (
    LOWEST,
    TOTAL_BITS,
    UNIFORM_SHARE,
    bisected,
    cumulative_table,
    largest_error,
    weight_error,
    whole_weights,
)
from app.core.kinds.networks.cost import range_units, record_cost
from app.core.kinds.networks.mechanisms import NetworkBaps, NetworkMap
from app.core.kinds.networks.mechanisms.map_point import sharpener
from app.core.kinds.networks.shapes import block_shapes
from app.core.kinds.networks.statistic import count_records
from app.core.numerics.fixed_point import LOG_BITS
from app.core.statistics.counts import ExactCounts
from tests.core.networks.test_block_costs import alarm_sized_network
from tests.core.networks.test_record_costs import model_of
from tests.processor_seconds import allowed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "s", "f", "temperature"),
    [(3, 0, 0, 1.0), (50, 3, 40, 0.7), (10_000, 5_000, 5_000, 1.0), (10**6, 20, 999_000, 1.0), (10**6, 10**5, 3, 0.01)],
)
def test_weights_are_within_the_stated_error_of_the_mixed_posterior(
    rows: int, s: int, f: int, temperature: float
) -> None:
    """Exact arithmetic on the model's constants, the doubles of the grid."""
    shape = BlockShape(1.0, 2.0, 0.05, rows, temperature)
    grid = block_grid(shape)
    weights = whole_weights(grid, np.array([float(s)]), np.array([float(f)]))[0]
    assert weights.sum() == 1 << TOTAL_BITS
    assert weights.min() > 0
    with mpmath.workdps(60):
        columns = zip(grid.log_prior.tolist(), grid.success.tolist(), grid.failure.tolist(), strict=True)
        logs = [mpmath.mpf(g) + s * mpmath.mpf(x) + f * mpmath.mpf(y) for g, x, y in columns]
        assert furthest(weights, logs) <= weight_error(shape)


@pytest.mark.cases(2)
@pytest.mark.parametrize(("rows", "s"), [(3, 1), (10_000, 2_000), (10**6, 999_000), (10**6, 500_000)])
def test_weights_of_a_full_block_are_as_near_the_law_that_was_analysed(rows: int, s: int) -> None:
    """It is charged as the one-parameter family, so: against that family's constants, whole numbers of 2⁻⁸⁰."""
    shape = BlockShape(1.0, 2.0, 0.05, rows, 0.7, full=True)
    weights = whole_weights(block_grid(shape), np.array([float(s)]), np.array([float(rows - s)]))[0]
    family = bernoulli("block", 1.0, 2.0, 0.05)
    exact = family.constants(family.grid(rows, 0.7))
    with mpmath.workdps(60):
        columns = zip(exact.log_prior, exact.eta, exact.partition, strict=True)
        logs = [mpmath.mpf(g + s * eta - rows * partition) / 2**LOG_BITS for g, eta, partition in columns]
        assert furthest(weights, logs) <= weight_error(shape)


def furthest(weights: NDArray[np.int64], logs: list[mpmath.mpf]) -> mpmath.mpf:
    """The largest log-ratio of whole weights to the exact mixed table of these log-weights."""
    top = max(logs)
    masses = [mpmath.exp(log - top) for log in logs]
    total, share = mpmath.fsum(masses), mpmath.mpf(UNIFORM_SHARE)
    mixed = [(1 - share) * mass / total + share / len(masses) for mass in masses]
    return max(abs(mpmath.log(mpmath.mpf(int(w)) / (1 << TOTAL_BITS) / m)) for w, m in zip(weights, mixed, strict=True))


@pytest.mark.parametrize("points", [1, 2, 3, 4, 7, 8, 65, 951])
def test_bisection_by_a_fixed_number_of_steps_finds_what_a_search_finds(points: int) -> None:
    """Draws at, just below and just above every running sum, and at both ends."""
    rng = np.random.default_rng(points)
    weights = np.stack([rng.multinomial(1 << 40, rng.dirichlet(np.full(points, 0.3))) << 22 for _ in range(3)])
    table = cumulative_table(weights)
    assert table.shape[1] == (1 << points.bit_length()) - 1 >= points
    sums = np.cumsum(weights, axis=1)
    edges = np.concatenate([sums - 1, sums, sums + 1, np.tile([0, (1 << TOTAL_BITS) - 1], (3, 1))], axis=1)
    draws = np.clip(edges, 0, (1 << TOTAL_BITS) - 1)
    wanted = [np.searchsorted(row, drawn, side="right") for row, drawn in zip(sums, draws, strict=True)]
    assert (bisected(table, draws) == wanted).all()


class _Counted(np.ndarray):
    compared = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        _Counted.compared += ufunc in (np.less_equal, np.greater_equal)
        plain = [np.asarray(each) for each in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)


def test_every_draw_takes_the_same_number_of_comparisons() -> None:
    grid = block_grid(BlockShape(1.0, 1.0, 0.05, 5_000, 1.0))
    taken = set()
    for s in (0.0, 40.0, 2_500.0, 5_000.0):
        table = cumulative_table(whole_weights(grid, np.array([s]), np.array([5_000 - s])))
        for drawn in (0, 1 << 61, (1 << 62) - 1):
            _Counted.compared = 0
            bisected(table, np.full((1, 4), drawn, dtype=np.int64).view(_Counted))
            taken.add(_Counted.compared)
    assert taken == {grid.size.bit_length()}


def test_sharpened_weights_are_never_so_small_that_they_take_longer() -> None:
    """Unheld, e⁻⁷²⁰ is a subnormal number and e⁻⁵⁰⁰⁰ none at all."""
    peaked = np.array([[0.9, 0.1 - 1e-9, 1e-9], [0.4, 0.3, 0.3]])
    sharp = sharpener(900.0)(peaked)
    assert sharp.min() == np.exp(LOWEST)
    assert (sharp.max(axis=1) == 1).all()
    assert np.allclose(sharpener(3.0)(peaked)[1], np.exp([0, -0.3, -0.3]))


def test_draws_follow_the_tables() -> None:
    """Chi-square of 30,000 draws of one block over its 65 points, those expected under 20 times pooled, 70 degrees at most:
    above 150 with probability under 10⁻⁶."""
    model = model_of((2,), ((),), 1.0, "tree", 0.05)
    counts = ExactCounts(np.array([2, 1]), 3)
    rng = np.random.default_rng(12)
    samples = NetworkBaps(30_000).draw(model, 3, 1, counts, rng.bytes)
    grid = block_grid(BlockShape(1.0, 1.0, 0.05, 3, 1.0, full=True))
    p = grid.theta**2.5 * (1 - grid.theta) ** 1.5
    p = (1 - UNIFORM_SHARE) * p / p.sum() + UNIFORM_SHARE / grid.size
    observed = np.bincount(np.searchsorted(grid.theta, samples[:, 0] - 1e-12), minlength=grid.size)
    common = 30_000 * p >= 20
    expected = np.append(30_000 * p[common], 30_000 * p[~common].sum())
    found = np.append(observed[common], observed[~common].sum())
    keep = expected > 0
    assert ((found - expected)[keep] ** 2 / np.maximum(expected[keep], 1)).sum() < 150
    assert np.allclose(samples.sum(axis=1), 1)


def test_means_of_levels_are_those_of_the_dirichlet_posterior() -> None:
    """20,000 draws, 30 means against their exact values in units of 6 standard errors plus what trimming moves."""
    model = model_of((2, 5), ((), (0,)), 2.0, "tree", 0.001)
    rng = np.random.default_rng(3)
    records = np.column_stack([rng.integers(0, 2, 300), rng.integers(0, 5, 300)])
    counts = count_records(model.network, records)
    samples = NetworkBaps(20_000).draw(model, 300, 1, counts, rng.bytes)
    cells = counts.cells[model.network.cells(1)].reshape(2, 5) + 2.0
    wanted = cells / cells.sum(axis=1, keepdims=True)
    found = samples[:, model.network.cells(1)].reshape(-1, 2, 5)
    errors = found.std(axis=0) / np.sqrt(20_000)
    assert (np.abs(found.mean(axis=0) - wanted) < 6 * errors + 2e-4).all()


@pytest.mark.slow
def test_samples_stay_inside_the_public_ranges_of_their_parameters() -> None:
    model = alarm_sized_network()
    rng = np.random.default_rng(5)
    records = np.column_stack([rng.integers(0, len(node.levels), 200) for node in model.network.nodes])
    counts = count_records(model.network, records)
    lower, upper = (np.array([getattr(p, side) for p in model.parameters]) for side in ("lower", "upper"))
    for mechanism in (NetworkBaps(20), NetworkBaps(20, 0.1), NetworkMap(1.0), NetworkMap(3.0, "probability")):
        samples = mechanism.draw(model, 200, 1, counts, rng.bytes)
        assert samples.shape == (mechanism.samples, model.network.cell_count)
        assert (samples >= lower * (1 - 1e-9)).all()
        assert (samples <= upper * (1 + 1e-9)).all()


def test_thousand_samples_of_500_parameters_take_well_under_a_second() -> None:
    model = alarm_sized_network()
    rng = np.random.default_rng(5)
    records = np.column_stack([rng.integers(0, len(node.levels), 5_000) for node in model.network.nodes])
    counts = count_records(model.network, records)
    NetworkBaps(1).draw(model, 5_000, 1, counts, os.urandom)
    started = time.process_time()
    NetworkBaps(1_000).draw(model, 5_000, 1, counts, os.urandom)
    spent = time.process_time() - started
    print(f"{model.network.cell_count} cells, 1,000 samples: {spent:.3f} s")  # noqa: T201
    assert spent < allowed(2)


@pytest.mark.slow
def test_map_costs_at_most_its_epsilon_and_units_follow_the_structure() -> None:
    naive = model_of((2,) * 5, ((), (0,), (0,), (0,), (0,)), 1.0, "tree", 0.05)
    assert range_units(naive) == 2 * 5
    assert range_units(model_of((2, 5), ((), (0,)), 1.0, "tree", 0.05)) == 2 + 2 * 3
    assert range_units(model_of((2, 5), ((), (0,)), 1.0, "chain", 0.05)) == 2 + 2 * 4
    for score, people in (("log_density", 200), ("probability", 200), ("log_density", 3)):
        cost = NetworkMap(0.9, score).cost(naive, people, 1)
        assert 0.3 < cost.total.pure <= 0.9
    assert record_cost(naive, 10**5, 1, 1.0).cost.pure <= 10 * np.log(19)


def test_counts_that_no_rows_could_give_are_drawn_as_if_they_could() -> None:
    model = model_of((2, 3), ((), (0,)), 1.0, "tree", 0.05)
    wild = ExactCounts(np.array([10**12, -5, 7, 7, 7, 10**9, 0, 0]), 10**12)
    samples = NetworkBaps(5).draw(model, 20, 1, wild, np.random.default_rng(1).bytes)
    assert np.isfinite(samples).all()
    assert "7" not in repr(wild)


@pytest.mark.cases(2)
@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [NetworkBaps(3), NetworkMap(0.9), NetworkMap(0.9, "probability")])
def test_robustness_counts_the_samplers_slack(mechanism: NetworkBaps | NetworkMap) -> None:
    model = model_of((2,) * 5, ((), (0,), (0,), (0,), (0,)), 1.0, "tree", 0.05)
    temperature = mechanism.temperature if isinstance(mechanism, NetworkBaps) else mechanism.temperature(model, 1)
    record = record_cost(model, 10**5, 1, temperature)
    ideal = 0.9**2 / 8 if mechanism == NetworkMap(0.9, "probability") else record.kl_sup
    error = largest_error(block_shapes(model, 10**5, 1, temperature))
    assert mechanism.cost(model, 10**5, 1).kl_sup >= ideal + 6 * record.touched * error
