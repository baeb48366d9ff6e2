"""Several rows a person: cells of first datasets leave no dataset out, and no dataset of a cell owes more than its bound.

Owed is computed from the tables that `drawn_tables.py` writes down a second time, over every neighbour there is.
"""

from collections import defaultdict

import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.privacy import ORDERS
from app.core.privacy.units.drawn_cells import _Search, drawn_cells
from app.core.privacy.units.near_curve import near_curve
from app.core.privacy.units.sectors import Quads, Sectors
from app.core.privacy.windows import points_per_sd
from tests.contracts.charge_cases import Setting, random_settings
from tests.core.families.drawn_tables import drawn_tables
from tests.core.families.neighbouring_pairs import reachable_pairs
from tests.deep import deep

Array = NDArray[np.float64]

TRIED = [1, 3, 9, 17, 26, 36, len(ORDERS)]
"""Places of orders, the last of the pure cost."""
SETTINGS = [
    Setting("normal_mean", prior=1, trim=0, people=6, unit_rows=3, steps=1, temperature=0.1),
    Setting("bernoulli", prior=1, trim=0, people=5, unit_rows=2, steps=1, temperature=1.0),
    deep(Setting("exponential", prior=0, trim=2, people=7, unit_rows=2, steps=2, temperature=0.5)),
]


def inside(quads: Quads, place: int, statistics: Array) -> NDArray[np.bool_]:
    t, m = statistics.T
    m0, m1 = quads.m0[place], quads.m1[place]
    share = (m - m0) / max(m1 - m0, 1.0)
    low = quads.low0[place] + share * (quads.low1[place] - quads.low0[place])
    high = quads.high0[place] + share * (quads.high1[place] - quads.high0[place])
    near = 1e-9
    return np.asarray((m >= m0) & (m <= m1) & (t >= low - near) & (t <= high + near))


def powers_of(setting: Setting) -> tuple[Array, Array]:
    """(datasets, the largest (α−1)·D_α to a neighbour of each, and the largest log-ratio in the last column)."""
    model = setting.model()
    pairs = reachable_pairs(model.statistic.steps, setting.people, setting.unit_rows)
    statistics = sorted({statistic for pair in pairs for statistic in pair})
    place = {statistic: i for i, statistic in enumerate(statistics)}
    rows = setting.people * setting.unit_rows
    tables = drawn_tables(model, rows, setting.temperature, statistics).astype(np.float64)
    others = defaultdict(list)
    for first, second in pairs:
        others[place[first]].append(place[second])
    found = np.zeros((len(statistics), len(TRIED)))
    for i, near in others.items():
        ratios = tables[i] - tables[near]
        found[i, -1] = ratios.max()
        for column, order in enumerate(TRIED[:-1]):
            found[i, column] = np.logaddexp.reduce(tables[i] + (ORDERS[order] - 1) * ratios, axis=1).max()
    return np.array(statistics, dtype=np.float64), found


def check_cells(setting: Setting) -> None:
    model, people, rows = setting.model(), setting.people, setting.unit_rows
    grid, steps = model.grid(people * rows, setting.temperature), model.statistic.steps
    statistics, owed = powers_of(setting)
    sectors, spread = Sectors(steps, people, rows), points_per_sd(grid, float(people))
    quads = sectors.cells(grid, spread)
    search = _Search(grid, sectors, spread, quads)
    for _ in range(4):
        bounds, across, _ = search._bounds(quads, TRIED)
        covered = np.zeros(len(statistics), dtype=np.bool_)
        for place in range(quads.count):
            mine = inside(quads, place, statistics)
            covered |= mine
            if mine.any():
                assert (bounds[place] * (1 + 1e-9) + 1e-9 >= owed[mine].max(axis=0)).all(), (setting, place)
        assert covered.all(), setting
        quads = sectors.halved(quads, across)
    found = drawn_cells(grid, steps, people, rows, (np.array(ORDERS) - 1) * 1e3, 1e3)
    known = np.append(found.powers, found.pure)[TRIED]
    assert (known * (1 + 1e-9) + 1e-9 >= owed.max(axis=0)).all(), setting
    curve, pure = near_curve(grid, steps, people, rows, [ORDERS[9], ORDERS[17]])
    known = np.append((np.array(ORDERS) - 1) * curve, pure)[TRIED]
    assert (known * (1 + 1e-9) >= owed.max(axis=0)).all(), setting


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: f"{setting.family}-{setting.people}")
def test_no_dataset_of_a_cell_owes_more_than_the_cell_is_bounded_by(setting: Setting) -> None:
    check_cells(setting)


@pytest.mark.deep
@pytest.mark.parametrize("unit_rows", [2, 3])
def test_no_dataset_of_any_cell_of_random_settings_owes_more_than_its_bound(unit_rows: int) -> None:
    for setting in random_settings(43, unit_rows, 40):
        if setting.people >= 2 * unit_rows:
            check_cells(setting)
