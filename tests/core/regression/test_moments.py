"""Moments on the lattice: exact, bounded, and the same whatever the order of the rows."""

import math

import numpy as np
import pytest

from app.core.kinds.regression.statistic import clamped_moments
from app.core.statistics.moments import LATTICE, ExactMoments, lattice_rows, moments_of
from app.errors import InvalidModel, NumericalFailure
from tests.core.regression.regression_cases import wage_model, wage_rows


def test_sums_are_the_whole_numbers_a_loop_over_records_finds() -> None:
    model, rows = wage_model(features=["educ", "region"], norm_bound=1.2), wage_rows(40, 1)
    found = moments_of(model.statistic, rows)
    products = [[0] * 4 for _ in range(4)]
    for i in range(40):
        x = [1.0, (rows["educ"][i] - 10) / 10, float(rows["region"][i] == "south"), float(rows["region"][i] == "west")]
        divisor = max(1.2, math.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + x[3] ** 2))
        cells = [math.floor(value / divisor * (LATTICE - 2) + 0.5) for value in x]
        for a in range(4):
            for b in range(4):
                products[a][b] += cells[a] * cells[b]
    assert found.products.tolist() == products
    assert found.rows == 40


def test_no_record_is_longer_than_the_lattice_allows() -> None:
    """Random and extreme records, with and without clipping, up to 20 coordinates of ±1."""
    rng = np.random.default_rng(2)
    for norm_bound in (0.3, 1.0, 2.0):
        model = wage_model(features=["educ", "exper", "female", "region"], norm_bound=norm_bound)
        rows = wage_rows(2000, 3)
        rows["educ"] = rng.choice([0.0, 20.0, 1e300, -1e300, np.inf], 2000)
        rows["exper"] = rng.choice([-5.0, 60.0, 27.5], 2000)
        cells = lattice_rows(model.statistic, rows)
        assert int((cells.astype(object) ** 2).sum(axis=1).max()) <= LATTICE**2


def test_order_of_rows_changes_no_sum() -> None:
    model, rows = wage_model(), wage_rows(500, 4)
    order = np.random.default_rng(5).permutation(500)
    first = moments_of(model.statistic, rows)
    second = moments_of(model.statistic, {name: cells[order] for name, cells in rows.items()})
    assert np.array_equal(first.products, second.products)
    assert np.array_equal(first.cross, second.cross)
    assert (first.square, first.sums.tolist()) == (second.square, second.sums.tolist())


def test_missing_cells_count_as_lower_bound_false_or_first_level() -> None:
    model = wage_model(features=["educ", "exper", "female", "region"])
    given = {"educ": [math.nan], "exper": [math.nan], "female": [math.nan], "region": [None], "wage": [math.nan]}
    filled = {"educ": [0], "exper": [-5], "female": [0], "region": ["north"], "wage": [0]}
    assert np.array_equal(moments_of(model.statistic, given).products, moments_of(model.statistic, filled).products)


def test_sums_no_rows_can_have_are_clamped_and_other_shapes_refused() -> None:
    request = wage_model().statistic
    huge = np.full((4, 4), 2**62)
    clamped = clamped_moments(request, ExactMoments(huge, huge[0], -3, huge[0], 99), 10, 1)
    assert clamped.products.max() == 10 * LATTICE**2
    assert (clamped.square, clamped.rows, clamped.sums.max()) == (0, 10, 10 * LATTICE)
    with pytest.raises(NumericalFailure):
        clamped_moments(request, ExactMoments(huge[:3], huge[0], 0, huge[0], 10), 10, 1)
    with pytest.raises(InvalidModel):
        clamped_moments(request, clamped, 2**29, 2)


def test_exact_moments_do_not_print() -> None:
    assert repr(moments_of(wage_model().statistic, wage_rows(5, 6))) == "ExactMoments(private)"
