"""Charged ÷ owed where not every pair is visited: cells of sums, for samples and for points by probability, one row a person, and
cells of sums and rows for samples of several.

Visiting is switched off, so that these bounds can be held against every neighbouring pair of small cases; how far above they
are for thousands of people stands in docs/privacy.md.
"""

import itertools

import numpy as np
import pytest

from app.core.kinds.one_parameter import map_cost
from app.core.kinds.one_parameter.mechanisms import MapPoint
from app.core.kinds.one_parameter.mechanisms.map_point import score_gain, score_sensitivity
from app.core.privacy import ORDERS
from app.core.privacy.drawn_cost import drawn_cost, smaller
from app.core.privacy.posterior_cost import posterior_draw_cost
from tests.contracts.charge_cases import Setting, random_settings
from tests.contracts.test_charged_over_owed import log_table
from tests.core.families.drawn_tables import owed, owed_by_tables
from tests.core.families.family_cases import build, priors_of, with_steps
from tests.core.families.neighbouring_pairs import reachable_pairs
from tests.core.families.shared_constants import shared_constants  # noqa: F401
from tests.deep import deep

pytestmark = pytest.mark.slow

MOST = 1.05

SETTINGS = [
    Setting("weibull", prior=0, trim=2, people=40, unit_rows=1, steps=3, temperature=0.5),
    Setting("poisson", prior=0, trim=1, people=90, unit_rows=1, steps=2, temperature=1.0),
    Setting("normal_precision", prior=3, trim=2, people=40, unit_rows=1, steps=4, temperature=0.02),
    Setting("bernoulli", prior=0, trim=0, people=120, unit_rows=1, steps=1, temperature=1.0),
]


def check_samples(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.core.privacy.visited.WORK_ONE_ROW_MAX", 0)
    monkeypatch.setattr("app.core.privacy.posterior_cost.ENUMERATION_WORK_MAX", 0)
    model, people, temperature = setting.model(), setting.people, setting.temperature
    exact = owed(model, people, 1, temperature, reachable_pairs(model.statistic.steps, people, 1))
    charged = drawn_cost.__wrapped__(model, people, 1, temperature)
    ratios = np.array(charged.cost.curve) / exact.curve
    assert charged.cost.pure >= exact.pure, setting
    assert ratios.min() >= 1, setting
    if charged.method.startswith("certified: ceilings"):
        assert charged.cost.pure <= MOST * exact.pure, setting
        assert ratios.max() <= MOST, (setting, ORDERS[int(ratios.argmax())])


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: f"{setting.family}-{setting.people}")
def test_samples_are_charged_what_they_owe_though_not_every_sum_is_visited(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_samples(setting, monkeypatch)


@pytest.mark.deep
def test_no_random_setting_is_charged_less_than_it_owes_or_far_more_by_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in random_settings(21, 1, 60):
        check_samples(setting, monkeypatch)


SEVERAL = [
    Setting("pareto", prior=3, trim=2, people=9, unit_rows=2, steps=1, temperature=0.1),
    deep(Setting("exponential", prior=0, trim=2, people=10, unit_rows=3, steps=1, temperature=0.003)),
    deep(Setting("pareto", prior=3, trim=2, people=14, unit_rows=2, steps=2, temperature=0.1)),
    deep(Setting("geometric", prior=4, trim=0, people=12, unit_rows=3, steps=2, temperature=0.02)),
    deep(Setting("normal_mean", prior=1, trim=0, people=30, unit_rows=2, steps=2, temperature=0.02)),
]
MOST_SEVERAL = 1.15


def check_several(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in (
        "visited.TABLES_MAX",
        "posterior_cost.ENUMERATION_WORK_MAX",
        "posterior_cost.VISITS_MAX",
        "posterior_cost.DATASETS_WORK_MAX",
        "units.lattice.CURVE_WORK_MAX",
        "units.lattice.MIXED_WORK_MAX",
    ):
        monkeypatch.setattr(f"app.core.privacy.{limit}", 0)
    model, people, rows, temperature = setting.model(), setting.people, setting.unit_rows, setting.temperature
    exact = owed(model, people, rows, temperature, reachable_pairs(model.statistic.steps, people, rows))
    charged = drawn_cost.__wrapped__(model, people, rows, temperature)
    ratios = np.array(charged.cost.curve) / exact.curve
    assert charged.method.startswith("certified"), setting
    assert charged.cost.pure >= exact.pure, setting
    assert ratios.min() >= 1, setting
    assert charged.cost.pure <= MOST_SEVERAL * exact.pure, setting
    assert ratios.max() <= MOST_SEVERAL, (setting, ORDERS[int(ratios.argmax())])


@pytest.mark.parametrize("setting", SEVERAL, ids=lambda setting: f"{setting.family}-{setting.people}")
def test_samples_of_several_rows_are_charged_what_they_owe_though_not_every_dataset_is_visited(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    posterior_draw_cost.cache_clear()
    check_several(setting, monkeypatch)
    posterior_draw_cost.cache_clear()


POINTS = [
    ("bernoulli", 1, 60, 1.0),
    ("poisson", 3, 20, 3.0),
    ("geometric", 2, 25, 8.0),
    deep("normal_mean", 3, 60, 0.3),
    deep("exponential", 4, 60, 1.0),
    deep("weibull", 2, 90, 8.0),
    deep("bernoulli", 1, 400, 8.0),
]


@pytest.mark.parametrize(("family", "steps", "people", "epsilon"), POINTS)
@pytest.mark.usefixtures("shared_constants")
def test_a_point_by_probability_is_never_charged_less_than_its_integer_tables_owe_by_cells(
    family: str, steps: int, people: int, epsilon: float
) -> None:
    model = build(family, priors_of(family)[0])
    model = model if family == "bernoulli" else with_steps(model, steps)
    point, end = MapPoint(epsilon, "probability"), people * steps
    tables = np.array([log_table(point, model, people, 1, (total, people)) for total in range(end + 1)])
    near = [(i, j) for i, j in itertools.product(range(end + 1), repeat=2) if 0 < abs(i - j) <= steps]
    exact = owed_by_tables(tables, near)
    gain = score_gain(epsilon, score_sensitivity(model, people, 1))
    found = map_cost._by_cells(model, people, gain, epsilon)
    assert found is not None
    charged = smaller(found, map_cost.choice_cost(epsilon))
    large = exact.curve > 1e-9
    ratios = np.array(charged.curve)[large] / exact.curve[large]
    assert charged.pure >= exact.pure * (1 - 1e-12)
    assert ratios.min() >= 1 - 1e-11
    assert ratios.max() <= 1.12
    assert charged.pure <= 1.12 * exact.pure
