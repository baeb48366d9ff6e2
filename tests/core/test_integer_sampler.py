"""The integer table against sixty digits, and draws from it at every boundary."""

import hashlib
import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import accumulate

import mpmath
import numpy as np
import pytest

from app.core.grids.bernoulli import bernoulli
from app.core.grids.integer_table import (
    DRAW_BYTES,
    UNIFORM_SHARE,
    IntegerTable,
    integer_table,
    integer_weights,
)
from app.core.grids.natural_model import NaturalModel
from app.core.grids.public_grid import GridConstants, PublicGrid, directions
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.one_parameter.statistic import clamped
from app.core.numerics.fixed_point import LOG_BITS, fixed_log, fixed_log_complement, rescale
from app.core.privacy.posterior_cost import WEIGHT_ERROR
from app.core.statistics.sums import ExactStatistic
from app.errors import NumericalFailure
from tests.deep import deep_unless

pytestmark = pytest.mark.slow

CASES = [
    # alpha, beta, trim, temperature, people, ones
    (1.0, 1.0, 0.05, 1.0, 10, 0),
    (1.0, 1.0, 0.05, 1.0, 1000, 68),
    (0.5, 0.5, 1e-6, 1.0, 1000, 1000),
    (1e6, 1e-3, 0.05, 1.0, 1000, 0),
    (1e6, 1e6, 0.05, 1e-6, 1000, 500),
    (30.0, 40.0, 0.25, 0.1, 10**5, 99_999),
    (1.0, 1.0, 0.05, 1.0, 10**6, 50_700),
    (1.0, 1.0, 0.49, 1.0, 10**6, 0),
    (5.0, 2.0, 0.05, 1.0, 10**9, 123_456_789),
    (1.0, 1.0, 0.05, 0.01, 10**9, 10**9),
]
FAR = 200.0


@cache
def grid_and_constants(
    alpha: float, beta: float, trim: float, temperature: float, people: int
) -> tuple[PublicGrid, GridConstants]:
    model = bernoulli("x", alpha, beta, trim)
    grid = model.grid(people, temperature)
    return grid, model.constants(grid)


def mixed_exactly(
    model: NaturalModel, points: list[float], temperature: float, ones: int, rows: int
) -> tuple[dict[int, mpmath.mpf], mpmath.mpf]:
    """(1−γ)·posterior + γ/K with mpmath near the top, and what every point more than e⁻²⁰⁰ below it has: γ/K."""
    logs = model_logs(model, np.array(points), temperature, ones, rows)
    near = np.flatnonzero(logs > logs.max() - FAR)
    yes = mpmath.mpf(temperature) * ones + mpmath.mpf(model.prior.value("alpha")) - mpmath.mpf(0.5)
    no = mpmath.mpf(temperature) * (rows - ones) + mpmath.mpf(model.prior.value("beta")) - mpmath.mpf(0.5)
    exact = {int(k): yes * mpmath.log(points[k]) + no * mpmath.log(1 - mpmath.mpf(points[k])) for k in near}
    top = max(exact.values())
    weights = {k: mpmath.exp(v - top) for k, v in exact.items()}
    total = mpmath.fsum(weights.values())
    share = mpmath.mpf(2) ** -24
    rest = share / len(points)
    return {k: (1 - share) * weight / total + rest for k, weight in weights.items()}, rest


def model_logs(model: NaturalModel, points: np.ndarray, temperature: float, ones: int, rows: int) -> np.ndarray:
    yes, no = (
        temperature * ones + model.prior.value("alpha") - 0.5,
        temperature * (rows - ones) + model.prior.value("beta") - 0.5,
    )
    return yes * np.log(points) + no * np.log1p(-points)


@pytest.mark.cases(4)
@pytest.mark.parametrize("case", deep_unless(lambda case: case[4] < 10**9 or case[3] == 1.0, CASES))
def test_every_weight_is_within_two_to_the_minus_44_of_the_exact_mixture(case: tuple[float, ...]) -> None:
    alpha, beta, trim, temperature, people, ones = case
    model = bernoulli("x", alpha, beta, trim)
    grid, constants = grid_and_constants(alpha, beta, trim, temperature, int(people))
    weights = integer_weights(constants, ExactStatistic(int(ones), int(people)))
    with mpmath.workdps(60):
        exact, rest = mixed_exactly(model, grid.theta.tolist(), temperature, int(ones), int(people))
        scale = mpmath.mpf(2) ** 128
        wanted = {(weight, exact.get(k, rest)) for k, weight in enumerate(weights)}  # far points repeat one another
        worst = max(abs(weight / (share * scale) - 1) for weight, share in wanted)
    assert worst < WEIGHT_ERROR / 2


def test_the_largest_grid_keeps_every_point_reachable() -> None:
    grid, constants = grid_and_constants(5.0, 2.0, 0.05, 1.0, 10**9)
    assert grid.size == 2**16
    weights = integer_weights(constants, ExactStatistic(0, 10**9))
    assert min(weights) >= 2 ** (128 - 41)
    assert min(weights) == pytest.approx(2.0**128 * UNIFORM_SHARE / grid.size, rel=1e-9)


@pytest.mark.parametrize("value", [0.05, 0.95, 1e-6, 0.5, 2.0, 1 - 2.0**-40, 0.1])
def test_fixed_point_logarithms_are_right_to_the_last_bit_kept(value: float) -> None:
    with mpmath.workdps(80):
        wanted = mpmath.log(value) * mpmath.mpf(2) ** (LOG_BITS + 40)
        assert abs(fixed_log([value])[0] - wanted) <= 1
        if value < 1:
            complement = mpmath.log(1 - mpmath.mpf(value)) * mpmath.mpf(2) ** (LOG_BITS + 40)
            assert abs(fixed_log_complement([value])[0] - complement) <= 1


def test_rescaling_rounds_to_nearest_with_halves_away_from_zero() -> None:
    unit = 1 << 40
    assert [rescale(v, Fraction(1)) for v in (unit, unit // 2, -unit // 2, unit // 2 - 1)] == [1, 1, -1, 0]
    assert rescale(3 * unit, Fraction(1, 2)) == 2
    assert rescale(-3 * unit, Fraction(1, 2)) == -2


def fixed(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(DRAW_BYTES, "little") for number in numbers)


@pytest.mark.parametrize("weights", [[3, 1, 4, 1, 5, 9, 2], [1], [1, 1], [2**128 - 7, 1, 6], [5] * 65])
def test_a_draw_is_the_first_point_whose_cumulative_weight_exceeds_the_scaled_uniform(weights: list[int]) -> None:
    cumulative, total, top = list(accumulate(weights)), sum(weights), 2**256
    missing = (1 << len(weights).bit_length()) - 1 - len(weights)
    table = IntegerTable(cumulative + [total] * missing)
    # The smallest U with (U·ΣW) >> 256 = c is ⌈c·2²⁵⁶/ΣW⌉: the boundary of every point, and its neighbour below.
    starts = [-(-c * top // total) for c in [0, *cumulative[:-1]]]
    assert table.draw(len(starts), lambda _: fixed(*starts)).tolist() == list(range(len(weights)))
    before = [start - 1 for start in starts[1:]] + [top - 1]
    assert table.draw(len(before), lambda _: fixed(*before)).tolist() == list(range(len(weights)))


def test_the_number_of_uniforms_leading_to_a_point_is_its_weight_to_216_bits() -> None:
    model = bernoulli("x")
    weights = integer_weights(model.constants(model.grid(50, 1.0)), ExactStatistic(7, 50))
    cumulative, total = [0, *accumulate(weights)], sum(weights)
    edges = [-(-c * 2**256 // total) for c in cumulative]
    for k, weight in enumerate(weights):
        count = edges[k + 1] - edges[k]
        assert abs(count * total - weight * 2**256) <= total
        assert count > 2**210


def test_a_short_answer_from_the_source_of_randomness_is_refused() -> None:
    table = integer_table(bernoulli("x").constants(bernoulli("x").grid(5, 1.0)), ExactStatistic(2, 5))
    with pytest.raises(NumericalFailure):
        table.draw(3, lambda count: b"\0" * (count - 1))


def seeded(label: str) -> Callable[[int], bytes]:
    """Randomness that is the same in every run: SHAKE-256 of a label."""
    return lambda count: hashlib.shake_256(label.encode()).digest(count)


def test_two_hundred_thousand_draws_follow_the_table() -> None:
    """Chi-square over cells with at least 20 expected; false-alarm rate 1e-6 under a fresh seed, and the seed is fixed."""
    model, people, ones, count = bernoulli("x", 1, 1, 0.05), 400, 90, 200_000
    grid = model.grid(people, 1.0)
    values = Baps(count).draw(model, people, 1, ExactStatistic(ones, people), seeded("draws"))[:, 0]
    logs = model_logs(model, grid.theta, 1.0, ones, people)
    weights = np.exp(logs - logs.max())
    expected = (1 - 2.0**-24) * weights / weights.sum() + 2.0**-24 / grid.size
    seen = Counter(values.tolist())
    assert set(seen) <= set(grid.theta.tolist())
    observed = np.array([seen[theta] for theta in grid.theta.tolist()])
    large = count * expected >= 20
    cells = [*zip(observed[large], count * expected[large], strict=True)]
    cells.append((observed[~large].sum(), count * expected[~large].sum()))
    statistic = sum((o - e) ** 2 / e for o, e in cells)
    freedom = len(cells) - 1
    # Wilson–Hilferty: the cube root of χ²/k is nearly normal; 4.753 standard deviations leave 1e-6 above.
    spread = 2 / (9 * freedom)
    assert (statistic / freedom) ** (1 / 3) < 1 - spread + 4.753 * math.sqrt(spread)


def test_repeating_the_randomness_repeats_the_sample_and_a_prefix_is_a_prefix() -> None:
    model, statistic = bernoulli("x"), ExactStatistic(12, 40)
    whole = Baps(200).draw(model, 40, 1, statistic, seeded("same"))
    assert (whole == Baps(200).draw(model, 40, 1, statistic, seeded("same"))).all()
    assert whole.shape == (200, 1)
    assert (whole[:50] == Baps(50).draw(model, 40, 1, statistic, seeded("same"))).all()


@pytest.mark.parametrize(
    ("statistic", "people", "unit_rows", "same_as"),
    [
        (ExactStatistic(-5, 10), 10, 1, ExactStatistic(0, 10)),
        (ExactStatistic(11, 10), 10, 1, ExactStatistic(10, 10)),
        (ExactStatistic(4, 9), 10, 1, ExactStatistic(4, 10)),
        (ExactStatistic(25, 99), 10, 2, ExactStatistic(20, 20)),
        (ExactStatistic(25, 99), 10, 1, ExactStatistic(10, 10)),
    ],
)
def test_statistics_the_analysis_does_not_cover_never_reach_the_sampler(
    statistic: ExactStatistic, people: int, unit_rows: int, same_as: ExactStatistic
) -> None:
    model = bernoulli("x")
    drawn = Baps(64).draw(model, people, unit_rows, statistic, seeded("clamp"))
    assert (drawn == Baps(64).draw(model, people, unit_rows, same_as, seeded("clamp"))).all()


def test_clamping_never_takes_neighbours_further_apart_than_one_person_can_move() -> None:
    """Whatever a source returns, two datasets one person apart must stay within one person's change of each other."""
    model, people, unit_rows = bernoulli("x"), 3, 2
    persons = [(t, m) for m in range(1, unit_rows + 1) for t in range(m + 1)]
    hull = np.array([sign * np.array(change) for change in directions((0, 1), unit_rows) for sign in (1, -1)])
    angles = np.linspace(0, 2 * np.pi, 361)
    normals = np.stack([np.cos(angles), np.sin(angles)])
    limits = (hull @ normals).max(axis=0) + 1e-9
    for rows in range(9):
        for total in range(rows + 1):
            seen = [clamped(model, people, unit_rows, ExactStatistic(total + t, rows + m)) for t, m in persons]
            for x in seen:
                moved = np.array([(y.total - x.total, y.rows - x.rows) for y in seen])
                assert (moved @ normals <= limits).all()
