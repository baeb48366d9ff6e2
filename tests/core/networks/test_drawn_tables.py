"""Beliefs from draws of tables against sums over every table there can be; and what they may and may not depend on."""

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.kinds.belief import Evidence
from app.core.kinds.networks.beliefs.drawn_chains import Size
from app.core.kinds.networks.beliefs.drawn_law import log_sums, places_of, step_for
from app.core.kinds.networks.beliefs.drawn_posterior import (
    VARIABLES_MOST,
    DrawnTables,
    chain_size,
    drawn_points,
)
from app.core.kinds.networks.blocks.block_grid import BlockShape, block_grid
from app.core.kinds.networks.blocks.block_sampler import whole_weights
from app.core.kinds.networks.cost import node_shapes
from app.core.kinds.networks.mechanisms import NetworkBaps, NetworkMap
from app.core.kinds.networks.mechanisms.map_point import sharpener
from app.core.kinds.networks.statistic import count_records
from app.core.statistics.counts import ExactCounts
from tests.core.networks.enumerated_tables import cells_of, enumerated
from tests.core.networks.network_cases import clinical_network
from tests.core.networks.test_record_costs import model_of
from tests.deep import deep

Array = NDArray[np.float64]

ARROW = model_of((2, 2), ((), (0,)), 1.0, "tree", 0.05)
RING = model_of((2, 2, 2, 2), ((), (0,), (0,), (1, 2)), 1.0, "tree", 0.05)
PEOPLE = 6
COUNTS = ExactCounts(cells_of((2, 1, 0, 3)).astype(np.int64), PEOPLE)
EDGE = 0.4


@pytest.mark.slow
@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("mechanism", "unit_rows"),
    [
        (NetworkBaps(1), 1),
        (NetworkBaps(20), 1),
        (NetworkBaps(200, 0.1), 1),
        (NetworkBaps(20), 2),
        deep(NetworkBaps(1), 3),
        (NetworkMap(5.0, "log_density"), 1),
        (NetworkMap(5.0, "probability"), 1),
        (NetworkMap(50.0, "probability"), 1),
        deep(NetworkMap(50.0, "probability"), 2),
    ],
    ids=str,
)
def test_beliefs_are_the_sum_over_every_table(mechanism: NetworkBaps | NetworkMap, unit_rows: int) -> None:
    """Six people, by records and by counts of them. 2,048 points, most of them independent: sds under 0.012 and 0.02, so 0.04 and
    0.07 are 3.5 of them for 108 figures; seeds are fixed."""
    drawn = mechanism.draw(ARROW, PEOPLE, unit_rows, COUNTS, np.random.default_rng(3).bytes)
    settings = mechanism.drawn_tables(ARROW, PEOPLE, unit_rows)
    rows = PEOPLE * unit_rows
    nodes = [node_shapes(ARROW, i, rows, unit_rows, settings.temperature)[0] for i in (0, 1, 1)]
    grids = [block_grid(shape) for shape in nodes]
    places = [places_of(grid, drawn[:, 2 * b]) for b, grid in enumerate(grids)]
    sharpen = None if settings.gain is None else sharpener(settings.gain)

    def log_law(seen: Array) -> float:
        """With the whole weights that are really drawn from."""
        weights = [whole_weights(grid, *seen[2 * b : 2 * b + 2, None], sharpen)[0] for b, grid in enumerate(grids)]
        return float(sum(np.log(weights[b][places[b]] / 2.0**62).sum() for b in range(3)))

    means, below = enumerated(range(PEOPLE, rows + 1), log_law, EDGE)
    points = mechanism.belief(ARROW, PEOPLE, unit_rows, Evidence(drawn, None, b"seed")).points[:, ::2]
    size = Size((PEOPLE, rows), 64, by_tables=True)  # of so few people no network keeps counts by itself
    counted = drawn_points(ARROW, settings, drawn, 2_048, np.random.default_rng(7), size)[:, ::2]
    for found in (points, counted):
        print(np.abs(found.mean(axis=0) - means).max(), np.abs((found < EDGE).mean(axis=0) - below).max())  # noqa: T201
        assert np.abs(found.mean(axis=0) - means).max() < 0.04
        assert np.abs((found < EDGE).mean(axis=0) - below).max() < 0.07


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", [NetworkBaps(2), deep(NetworkBaps(40)), deep(NetworkMap(9.0, "probability"))], ids=str
)
@pytest.mark.parametrize("unit_rows", [1, deep(3)])
def test_counts_of_records_tell_what_records_do(mechanism: NetworkBaps | NetworkMap, unit_rows: int) -> None:
    """A node whose table has to keep more than its parents; 2,048 points of either, most of them independent: means within four
    sds of their difference, .036, shares within .05."""
    own, rows = np.random.default_rng(5), (40, 40 * unit_rows)
    counts = count_records(RING.network, own.integers(0, 2, (rows[1], 4)))
    drawn = mechanism.draw(RING, 40, unit_rows, counts, own.bytes)
    settings = mechanism.drawn_tables(RING, 40, unit_rows)
    records, counted = (
        drawn_points(RING, settings, drawn, 2_048, own, Size(rows, 64, by_tables=by_tables))
        for by_tables in (False, True)
    )
    assert np.abs(records.mean(axis=0) - counted.mean(axis=0)).max() < 0.036
    assert np.abs((records < EDGE).mean(axis=0) - (counted < EDGE).mean(axis=0)).max() < 0.05


@pytest.mark.slow
def test_a_belief_is_a_function_of_the_samples_a_reader_has_and_its_seed() -> None:
    mechanism = NetworkBaps(40, 0.5)
    drawn = mechanism.draw(ARROW, 200, 1, ExactCounts(COUNTS.cells * 33, 198), np.random.default_rng(1).bytes)
    points = [
        mechanism.belief(ARROW, 200, 1, Evidence(samples, None, seed)).points
        for samples, seed in ((drawn[:7], b"a"), (drawn[:7].copy(), b"a"), (drawn[:7], b"b"), (drawn, b"a"))
    ]
    assert points[0].tobytes() == points[1].tobytes()
    assert not np.array_equal(points[0], points[2])
    assert not np.array_equal(points[0], points[3])
    assert np.abs(points[0].mean(axis=0) - points[2].mean(axis=0)).max() < 0.06
    assert points[3].std(axis=0).max() < points[0].std(axis=0).max()
    assert [each.lower for each in mechanism.calibrated_parameters(ARROW, 200, 1)] == [0.0] * 6


@pytest.mark.slow
def test_beliefs_leave_the_trim_behind() -> None:
    """A thousand rows, 1 % of the first level: draws lie at the end of their range, 0.05, and beliefs beyond it."""
    counts = ExactCounts(np.array([10, 990, 5, 5, 495, 495]), 1_000)
    mechanism = NetworkBaps(100)
    drawn = mechanism.draw(ARROW, 1_000, 1, counts, np.random.default_rng(2).bytes)
    points = drawn_points(ARROW, DrawnTables(1_000, 1, 1.0), drawn, 512, np.random.default_rng(1))
    assert drawn[:, 0].min() >= 0.05
    assert points[:, 0].mean() < 0.035


@pytest.mark.slow
def test_one_stray_among_twenty_draws_hardly_moves_a_belief() -> None:
    """Twenty draws near 0.3, or nineteen and one of the uniform share at 0.9: without it 20·log-odds would move by 3."""
    grid = block_grid(node_shapes(ARROW, 0, 1_000, 1, 1.0)[0])
    near = np.repeat(grid.theta[places_of(grid, np.array([0.29, 0.3, 0.3, 0.31]))], 5)
    strayed = np.append(near[:-1], grid.theta[places_of(grid, np.array([0.9]))])
    found = []
    for first in (near, strayed):
        drawn = np.stack([first, 1 - first, *(np.full(20, 0.5),) * 4], axis=1)
        drawn[:, 2:] = NetworkBaps(20).draw(
            ARROW,
            1_000,
            1,
            ExactCounts(np.array([300, 700, 150, 150, 350, 350]), 1_000),
            np.random.default_rng(4).bytes,
        )[:, 2:]
        points = drawn_points(ARROW, DrawnTables(1_000, 1, 1.0), drawn, 512, np.random.default_rng(1))
        found.append(points[:, 0].mean())
    assert found[0] == pytest.approx(0.3, abs=0.01)
    assert found[1] == pytest.approx(found[0], abs=0.01)


@pytest.mark.parametrize(
    ("shape", "draws"),
    [(BlockShape(1.0, 1.0, 0.05, 1_000, 1.0), 20), (BlockShape(0.5, 2.0, 0.001, 3_000, 0.05), 400)],
)
def test_interpolated_sums_are_the_sums(shape: BlockShape, draws: int) -> None:
    """A posterior's log-likelihood of all draws is off by less than a tenth, and mostly by far less."""
    source, grid = np.random.default_rng(1), block_grid(shape)
    rows = np.exp(source.uniform(0, np.log(shape.rows), 500)).astype(np.int64)
    s = (rows * source.random(500)).astype(np.int64)
    table, _ = log_sums(shape, step_for(shape, draws))
    log_w = grid.log_prior + s[:, None] * grid.success + (rows - s)[:, None] * grid.failure
    errors = draws * np.abs(table.at(s, rows - s) - np.logaddexp.reduce(log_w, axis=1))
    assert errors.max() < 0.1
    assert np.median(errors) < 0.01


@pytest.mark.parametrize("by_tables", [True, deep(False)])
def test_a_million_rows_are_counted_or_taken_in_lumps(by_tables: bool) -> None:
    """A million rows, N·τ = 1: twice the posterior's own variance, and configurations far from empty. About a hundred
    independent draws: means within 0.1 sd, and 0.2 that draws are nearer to one half than counts; sds within 6 %."""
    people = 1_000_000
    assert chain_size(ARROW.network, people, 1).by_tables
    size = Size((people, people), 32, 1 if by_tables else 22, by_tables)
    counts = ExactCounts(np.array([300_000, 700_000, 60_000, 240_000, 490_000, 210_000]), people)
    drawn = NetworkBaps(100, 0.01).draw(ARROW, people, 1, counts, np.random.default_rng(1).bytes)
    points = drawn_points(ARROW, DrawnTables(people, 1, 0.01), drawn, 512, np.random.default_rng(1), size)[:, ::2]
    truth, rows = np.array([0.3, 0.2, 0.7]), np.array([1_000_000, 300_000, 700_000])
    sds = np.sqrt(2 * truth * (1 - truth) / rows)
    assert (np.abs(points.mean(axis=0) - drawn[:, ::2].mean(axis=0)) < 0.6 * sds).all()
    assert points.std(axis=0) == pytest.approx(sds, rel=0.25)


def test_chains_of_any_network_fit_in_memory() -> None:
    network = clinical_network()
    for people, unit_rows in ((10, 1), (1_000, 1), (10_000, 1), (10_000, 3), (10**9, 1)):
        size = chain_size(network, people, unit_rows)
        records = 0 if size.by_tables else size.rows[1] // size.lump
        assert size.chains * records * len(network.nodes) <= VARIABLES_MOST
        assert size.chains >= 16
