"""Draws of every block of a network from tables of 62-bit whole weights, and level probabilities as products of them.

Exactness, for blocks of K points with n rows, X = max(|x|, |y|) and G = max |log prior|. Against the exact table of the
model's constants mixed with γ of the uniform one (post-processing, free; keeps every point reachable), weights err by

  1. log-weights log prior + s·x + f·y in doubles, five roundings of sums no larger than G + n·X, 5·2⁻⁵³. A block that all rows
     fall in is analysed by the one-parameter family's log-odds and log(1−θ); from those x, y and log prior, logarithms to a
     unit in the last place times τ, differ by 4·2⁻⁵³ of themselves. Sixteen are allowed:  2⁻⁴⁹·(G + n·X)
  2. their distance below the largest: 2⁻⁵³·40 wherever e^x > e⁻⁴⁰; less e^x is under 2⁻²¹ of γ/K, whatever its error
  3. exp, a pairwise sum over K, a division and the mixing: under 2⁻⁴⁷ together
  4. rounding to whole weights of at least 2⁶²·γ/K: K/(γ·2⁶³)
  5. the largest weight, at least 2⁶²/K, takes what the sum lacks of 2⁶², at most K/2 + 2⁶²·2⁻⁴⁷: K²·2⁻⁶³ + K·2⁻⁴⁷

s, their sum, is `weight_error`. The sum being exactly 2⁶², the top 62 bits of a random word choose a point without bias. So
P̃ ≤ P·e^{2s}, Q̃ ≥ Q·e^{−2s}: every block whose tables differ between neighbours adds 4s to the pure cost of a draw and
2s(2α−1)/(α−1) to D_α; a block that one person does not touch has the same table and adds nothing.

Arithmetic depends on the network, K and N only: exponents are held above one where numbers take longer, and the table is
filled up to 2^j − 1 entries so that every draw is found by exactly j comparisons. Which entries those read follows the draws,
and caches may tell; therefore releases end at a public tick whatever their work took.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import GRID_POINTS_MAX
from app.core.kinds.networks.blocks.block_grid import UNIFORM_SHARE, BlockGrid, BlockShape, block_grid
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.networks.shapes import DETAILED_SHAPES_MAX, node_shapes
from app.core.kinds.networks.splits import level_probabilities, side_totals
from app.core.privacy.cost import ORDERS, Cost, inexact_kl
from app.errors import NumericalFailure

Array = NDArray[np.float64]
Sharpen = Callable[[Array], Array]
"""Posterior probabilities (blocks, points) → what to draw from, not normalised."""

TOTAL_BITS = 62
LOWEST = -60.0
"""Smaller exponents are held at this: under 2⁻⁴⁶ of γ/K, and no number takes longer to handle than another."""
_CHUNK_POINTS = 2_000_000
POINT_S = 100e-9
COMPARISON_S = 20e-9
_CHUNK_DRAWS = 65_536


@dataclass(frozen=True, slots=True)
class Settings:
    """Public: how many rows the grids are for, rows a person, temperature, and how many samples."""

    rows: int
    unit_rows: int
    temperature: float
    samples: int


def weight_error(shape: BlockShape) -> float:
    grid = block_grid(shape)
    size = float(
        np.abs(grid.log_prior).max() + shape.rows * max(np.abs(grid.success).max(), np.abs(grid.failure).max())
    )
    return _error(size, float(grid.size))


def _error(size: float, points: float) -> float:
    rounding = points * 2.0**-63 / UNIFORM_SHARE + points**2 * 2.0**-63 + points * 2.0**-47
    return 2.0**-49 * size + rounding + 2.0**-46


def largest_error(shapes: list[BlockShape]) -> float:
    """`weight_error` of all shapes; of those beyond the first few from the largest a grid can be, without building it."""
    errors = [weight_error(shape) for shape in shapes[:DETAILED_SHAPES_MAX]]
    for shape in shapes[DETAILED_SHAPES_MAX:]:
        size = (shape.alpha + shape.beta + 1 + shape.rows * shape.temperature) * -math.log(shape.trim)
        errors.append(_error(size, float(GRID_POINTS_MAX)))
    return max(errors)


def with_slack(cost: Cost, touched: int, error: float) -> Cost:
    """The cost of a draw whose weights in `touched` blocks are within e^{±error} of exact."""
    curve = (
        value + touched * 2 * error * (2 * order - 1) / (order - 1)
        for value, order in zip(cost.curve, ORDERS, strict=True)
    )
    return Cost(cost.pure + touched * 4 * error, tuple(curve), cost.slack_delta)


def kl_with_slack(kl: float, touched: int, error: float) -> float:
    """Of the same draw: each touched block's probabilities are within e^{±2·error}."""
    return inexact_kl(kl, 2 * touched * error)


def draw_network(
    model: NetworkModel,
    settings: Settings,
    cells: Array,
    random_bytes: Callable[[int], bytes],
    sharpen: Sharpen | None = None,
    within_rows: bool = True,
) -> Array:
    """(samples, cells): one draw of every block each. `cells` are counts by (node, configuration, level).

    `within_rows`: counts of blocks are held to what `settings.rows` rows can have, which is what was analysed.
    """
    network = model.network
    drawn = np.empty((settings.samples, network.cell_count))
    for i in range(len(network.nodes)):
        levels = len(network.nodes[i].levels)
        successes, failures = side_totals(model.node_splits(i), cells[network.cells(i)].reshape(-1, levels))
        shapes = node_shapes(model, i, settings.rows, settings.unit_rows, settings.temperature)
        chosen = np.empty((settings.samples, *successes.shape))
        for at, shape in enumerate(shapes):
            s, f = successes[:, at], failures[:, at]
            if within_rows:
                s, f = _within(s, f, shape)
            for part, theta in _draw_blocks(shape, s, f, settings.samples, random_bytes, sharpen):
                chosen[:, part, at] = theta
        probabilities = level_probabilities(model.node_splits(i), chosen)
        drawn[:, network.cells(i)] = probabilities.reshape(settings.samples, -1)
    return drawn


def _within(s: Array, f: Array, shape: BlockShape) -> tuple[Array, Array]:
    s = np.clip(s, 0, shape.rows)
    return s, np.clip(f, np.maximum(shape.least_rows - s, 0), shape.rows - s)


def _draw_blocks(
    shape: BlockShape,
    s: Array,
    f: Array,
    samples: int,
    random_bytes: Callable[[int], bytes],
    sharpen: Sharpen | None,
) -> Iterator[tuple[slice, Array]]:
    grid = block_grid(shape)
    size = max(1, _CHUNK_POINTS // grid.size)
    for start in range(0, len(s), size):
        part = slice(start, min(start + size, len(s)))
        table = cumulative_table(whole_weights(grid, s[part], f[part], sharpen))
        places = np.empty((samples, len(table)), dtype=np.int64)
        step = max(1, _CHUNK_DRAWS // samples)
        for first in range(0, len(table), step):
            rows = table[first : first + step]
            uniform = _uniform(len(rows) * samples, random_bytes).reshape(len(rows), samples)
            places[:, first : first + step] = bisected(rows, uniform).T
        yield part, grid.theta[places]


def cumulative_table(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Private: running sums of every row, filled up with 2⁶² to 2^j − 1 entries."""
    count, points = weights.shape
    table = np.full((count, (1 << points.bit_length()) - 1), 1 << TOTAL_BITS, dtype=np.int64)
    np.cumsum(weights, axis=1, out=table[:, :points])
    return table


def bisected(table: NDArray[np.int64], uniform: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many entries of row i are at most uniform[i, ·], by j comparisons and no branch whatever the numbers."""
    entries = table.ravel()
    starts = np.arange(len(table), dtype=np.int64)[:, None] * table.shape[1]
    places = np.broadcast_to(starts, uniform.shape).copy()
    for bit in reversed(range(table.shape[1].bit_length())):
        places += (entries.take(places + ((1 << bit) - 1)) <= uniform).astype(np.int64) << bit
    return np.asarray(places - starts)


def whole_weights(grid: BlockGrid, s: Array, f: Array, sharpen: Sharpen | None = None) -> NDArray[np.int64]:
    """Private: a row for every block, each summing to 2⁶²."""
    log_w = grid.log_prior + s[:, None] * grid.success + f[:, None] * grid.failure
    masses = np.exp(np.maximum(log_w - log_w.max(axis=1, keepdims=True), LOWEST))
    masses /= masses.sum(axis=1, keepdims=True)
    if sharpen is not None:
        masses = sharpen(masses)
        masses /= masses.sum(axis=1, keepdims=True)
    mixed = (1 - UNIFORM_SHARE) * masses + UNIFORM_SHARE / grid.size
    weights: NDArray[np.int64] = np.rint(mixed * 2.0**TOTAL_BITS).astype(np.int64)
    largest = weights.argmax(axis=1)
    weights[np.arange(len(s)), largest] += (1 << TOTAL_BITS) - weights.sum(axis=1)
    return weights


def _uniform(count: int, random_bytes: Callable[[int], bytes]) -> NDArray[np.int64]:
    pool = random_bytes(8 * count)
    if len(pool) != 8 * count:
        raise NumericalFailure("the source of randomness returned too little")
    words = np.frombuffer(pool, dtype="<u8") >> np.uint64(64 - TOTAL_BITS)
    return words.astype(np.int64)


def draw_seconds(model: NetworkModel, points: int, samples: int) -> float:
    """Public: what `draw_network` takes on the machine of reference. Every block weighs every point of its grid and every draw
    makes the same comparisons, whatever the counts."""
    network = model.network
    blocks = sum(network.configurations(i) * len(model.node_splits(i)) for i in range(len(network.nodes)))
    comparisons = samples * blocks * (4 + points.bit_length())
    return 0.01 + 0.001 * len(network.nodes) + blocks * points * POINT_S + comparisons * COMPARISON_S
