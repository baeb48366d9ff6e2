"""Plans for draws of a network with nothing fixed take many cool ones, because they tell more at the same cost."""

import numpy as np
import pytest

from app.core.kinds.belief import Evidence
from app.core.kinds.networks.comparison import fitting_baps
from app.core.kinds.networks.drawn_settings import NUMBERS_MAX, best_drawn, drawn_sd, why_cool
from app.core.kinds.networks.mechanisms import NetworkBaps
from app.core.privacy.targets import Target
from app.core.statistics.counts import ExactCounts
from app.errors import InvalidMechanism
from tests.core.networks.test_noise_mechanisms import binary_network

ONE, ARROW = binary_network([()]), binary_network([(), (0,)])
TARGET = Target(1.0, 1e-6)


@pytest.mark.slow
def test_many_cool_draws_fit_the_target_and_tell_more_than_one_warm_one() -> None:
    found, warm = (best_drawn(ARROW, 300, 1, TARGET, 100_000), fitting_baps(ARROW, 300, 1, TARGET, 1))
    assert TARGET.fits(found.cost(ARROW, 300, 1))
    assert found.samples > 100 * warm.samples
    assert found.temperature < warm.temperature
    told, one = (drawn_sd(ARROW, 300, each.samples, each.temperature) for each in (found, warm))
    assert told < 0.75 * one
    assert why_cool(ARROW, found, 300, 1, TARGET) is not None
    assert best_drawn(ARROW, 300, 1, TARGET, 50).samples <= 50


@pytest.mark.deep
def test_fewer_draws_of_a_network_with_more_cells_are_kept() -> None:
    assert best_drawn(ARROW, 10**6, 1, Target(5.0, 1e-6), 10**9).samples <= NUMBERS_MAX // 6
    with pytest.raises(InvalidMechanism):
        best_drawn(ARROW, 300, 1, Target(1e-9, 0.0), 100)


@pytest.mark.parametrize(("samples", "temperature"), [(200, 0.05), (2_000, 0.01)])
def test_the_formula_is_what_calibrated_answers_show(samples: int, temperature: float) -> None:
    """One yes/no column, 400 people, at p = .3: sds within a fifth of the formula's for that p, which leaves out the trim."""
    mechanism, counts = NetworkBaps(samples, temperature), ExactCounts(np.array([280, 120]), 400)
    told, a = temperature * 400, 2.0
    hidden = 0.21 * (a + told) ** 2 / ((a + told + 1) * samples * told**2)
    expected = (1 / (1 / 12) + 1 / (0.21 / 400 + hidden)) ** -0.5
    sds = []
    for seed in range(3):
        drawn = mechanism.draw(ONE, 400, 1, counts, np.random.default_rng(seed).bytes)
        sds.append(mechanism.belief(ONE, 400, 1, Evidence(drawn, None, b"cool%d" % seed)).points[:, 0].std())
    assert np.mean(sds) == pytest.approx(expected, rel=0.2)
