"""Bounds for several rows a person, each forced on cases small enough to visit in full, whatever the code would have chosen."""

import numpy as np
import pytest

from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.map_pairs import scored_supremum
from app.core.privacy import ORDERS
from app.core.privacy.enumeration import enumerate_laws, enumerate_pure, enumerate_supremum
from app.core.privacy.kernel import kernel_ceiling
from app.core.privacy.mixed_orders import drawn_powers
from app.core.privacy.mixed_pairs import log_drawn
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.core.privacy.units.cells import TOLERANCE, cell_supremum
from app.core.privacy.units.falls import largest_fall
from app.core.privacy.units.lattice import lattice_curve, lattice_powers
from app.core.privacy.units.slope import steepest_unit_slope
from tests.contracts.charge_cases import Setting
from tests.core.families.drawn_tables import owed
from tests.core.families.neighbouring_pairs import reachable_pairs
from tests.deep import deep_unless

UNKNOWN = np.full(len(ORDERS), 1e300)
CASES = [
    Setting("geometric", 0, 0, 9, 3, 1, 0.3),
    Setting("exponential", 1, 2, 12, 2, 1, 0.1),
    Setting("bernoulli", 0, 0, 16, 2, 1, 1.0),
    Setting("normal_mean", 0, 2, 8, 2, 2, 0.1),
    Setting("negative_binomial", 2, 2, 8, 2, 3, 0.1),
    Setting("gamma", 3, 2, 9, 2, 2, 0.3),
    Setting("pareto", 3, 1, 10, 3, 2, 0.02),
    Setting("normal_precision", 6, 0, 19, 2, 1, 0.3),
]
SOME = CASES[:4]


def statistics(setting: Setting) -> tuple[Model, tuple[int, int], int, int]:
    model = setting.model()
    return model, model.statistic_range, setting.people, setting.unit_rows


@pytest.mark.slow
@pytest.mark.parametrize("setting", deep_unless(lambda setting: setting in SOME, CASES))
def test_cells_cover_every_pair_and_exceed_none_by_more_than_they_say(setting: Setting) -> None:
    model, span, people, unit_rows = statistics(setting)
    grid = model.grid(people * unit_rows, setting.temperature)
    exact = enumerate_supremum(grid, span, people, unit_rows).curve
    found = cell_supremum(grid, span[1], people, unit_rows, enumerate_pure(grid, span, people, unit_rows), UNKNOWN)
    ratio = found / exact
    computed = found < UNKNOWN
    assert computed[:2].all()
    assert (ratio >= 1 - 1e-12).all()
    assert (ratio[computed] <= 1 + TOLERANCE + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("setting", deep_unless(lambda setting: setting in SOME, CASES))
def test_slopes_and_falls_of_cells_are_never_under_the_largest_log_ratio(setting: Setting) -> None:
    model, span, people, unit_rows = statistics(setting)
    grid = model.grid(people * unit_rows, setting.temperature)
    exact = enumerate_pure(grid, span, people, unit_rows)
    assert steepest_unit_slope(grid, span[1], people, unit_rows) >= exact * (1 - 1e-12)
    assert 1 - 1e-12 <= largest_fall(grid, span[1], people, unit_rows, np.inf) / exact <= 1.035


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    [Setting("exponential", 6, 2, 3, 2, 2, 0.5), Setting("geometric", 1, 0, 4, 3, 1, 0.3)],
    ids=lambda setting: setting.family,
)
def test_lattices_are_exact_without_the_share_and_cover_all_changes_with_it(setting: Setting) -> None:
    model, span, people, unit_rows = statistics(setting)
    grid = model.grid(people * unit_rows, setting.temperature)
    exact = enumerate_supremum(grid, span, people, unit_rows).curve
    pure = enumerate_pure(grid, span, people, unit_rows)
    curve = lattice_curve(grid, span, people, unit_rows, pure)
    assert curve is not None
    computed = np.isfinite(curve)
    assert curve[computed] == pytest.approx(exact[computed], rel=1e-9)
    drawn = owed(model, people, unit_rows, setting.temperature, reachable_pairs(span[1], people, unit_rows))
    powers = np.array(ORDERS) - 1
    found = lattice_powers(grid, span, people, unit_rows, np.minimum(exact, pure), pure) / powers
    assert np.isfinite(found).any()
    assert (found >= drawn.curve * (1 - 1e-9)).all()


def test_nodes_of_the_sum_cover_every_sum_of_the_table_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forced: with every sum within reach of the work, nodes are never asked for."""
    model, people, steps = Setting("normal_mean", 0, 0, 60, 1, 64, 1.0).model(), 60, 64
    grid, draw = model.grid(people, 1.0), posterior_draw_cost(model, people, 1, 1.0)
    ceiling = kernel_ceiling(grid, (0, steps), people)
    assert ceiling is not None
    top = float(np.maximum(ceiling.left, ceiling.right).max())
    known = np.array(draw.cost.curve), np.array(draw.drawn.curve), draw.drawn.pure
    every = drawn_powers(grid, people, steps, *known, top)
    monkeypatch.setattr("app.core.privacy.mixed_orders.WORK_MAX", 0)
    nodes = drawn_powers(grid, people, steps, *known, top)
    both = np.isfinite(every) & np.isfinite(nodes)
    assert both.any()
    assert (nodes[both] >= every[both]).all()
    assert (nodes[both] <= every[both] * 1.03).all()


@pytest.mark.parametrize(("family", "people", "steps", "gain"), [("bernoulli", 60, 1, 20.0), ("poisson", 9, 3, 3.0)])
def test_sums_of_a_scored_point_cost_what_all_its_pairs_owe(family: str, people: int, steps: int, gain: float) -> None:
    grid = Setting(family, 0, 0, people, 1, steps, 1.0).model().grid(people, 1.0)

    def law(log_p: np.ndarray) -> np.ndarray:
        weights = gain * np.exp(log_drawn(log_p, grid.size))
        weights -= weights.max(axis=1, keepdims=True)
        return log_drawn(weights - np.log(np.exp(weights).sum(axis=1, keepdims=True)), grid.size)

    pure, curve = enumerate_laws(grid, (0, steps), people, 1, np.array(ORDERS), law)
    found = scored_supremum(grid, people, steps, gain)
    assert found is not None
    assert found[0] == pytest.approx(pure, rel=1e-9)
    assert (found[1] >= curve * (1 - 1e-9) - 1e-12).all()
    assert (found[1] <= curve * 1.02 + 1e-12).all()
