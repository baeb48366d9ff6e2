"""Figures kept with a release's cost: what was found, for prefixes and larger δ, and nothing they do not cover."""

import math
from dataclasses import replace

from app.core.grids.bernoulli import bernoulli
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.several.cost import composed
from app.core.privacy.losses.known import KnownLosses, with_known
from app.services.releases.stored_release import cost_from_json, cost_to_json

DELTA = 1e-6


def test_a_stored_cost_shows_what_was_found_when_it_was_asked_for() -> None:
    cost = Baps(samples=10).cost(bernoulli("cured"), 60, unit_rows=1)
    stored = cost_from_json(cost_to_json(with_known(cost, DELTA)))
    assert stored == cost
    found = cost.total.alone(DELTA)
    assert stored.total.alone(DELTA) == found < cost.total.epsilon(DELTA)
    assert stored.per_sample.alone(DELTA) == cost.per_sample.alone(DELTA)
    assert stored.prefix(9).alone(DELTA) == min(found, cost.prefix(9).epsilon(DELTA))
    assert stored.total.alone(DELTA / 2) == cost.total.epsilon(DELTA / 2)
    assert stored.prefix(11).alone(DELTA) == cost.prefix(11).epsilon(DELTA)


def test_rows_of_earlier_versions_and_figures_nobody_asked_for_show_the_curve() -> None:
    cost = Baps(samples=10).cost(bernoulli("cured"), 60, unit_rows=1)
    asked = cost_to_json(with_known(cost, DELTA))
    for stored in (cost_to_json(cost), {name: value for name, value in asked.items() if "alone" not in name}):
        assert cost_from_json(stored).total.alone(DELTA) == cost.total.epsilon(DELTA)


def test_a_part_has_its_own_figure_and_the_whole_only_the_sum_of_curves() -> None:
    cost = Baps(samples=10).cost(bernoulli("cured"), 60, unit_rows=1)
    whole = cost_from_json(cost_to_json(with_known(composed([cost, cost]), DELTA)))
    assert whole.total.alone(DELTA) == whole.total.epsilon(DELTA)
    assert [part.total.alone(DELTA) for part in whole.parts] == [cost.total.alone(DELTA)] * 2


def test_what_comes_on_top_takes_the_figure_away() -> None:
    cost = Baps(samples=10).cost(bernoulli("cured"), 60, unit_rows=1)
    both = replace(cost, once=replace(cost.per_sample, losses=None))
    assert both.total.alone(DELTA) == both.total.epsilon(DELTA)


def test_figures_hold_for_shorter_prefixes_and_larger_delta_only() -> None:
    known = KnownLosses(((1, 1e-6, 0.5), (10, 1e-6, 1.5), (10, 1e-4, 1.2)))
    assert [known.epsilon(draws, 1e-6) for draws in (1, 2, 10)] == [0.5, 1.5, 1.5]
    assert [known.epsilon(draws, 1e-4) for draws in (1, 2, 10)] == [0.5, 1.2, 1.2]
    assert known.epsilon(11, 1e-4) == known.epsilon(1, 1e-7) == math.inf
