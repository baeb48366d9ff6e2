"""Contract: converted ε of what is charged beside that of the exact law of the privacy loss, at 1, 10 and 100 draws.

Never below it. What the charge has above the exact curve and what conversion loses by itself are told apart. The limit of 1.10
for conversion is missed for some posteriors; that no other reading of the same cost would do much better is shown by a law of
losses which fits all of it. The worst found by searches, which are deep, are pinned and stand in docs/privacy.md.
"""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from app.core.kinds.networks.mechanisms import NetworkBaps, NetworkFourier, NetworkLaplace, NetworkMap
from app.core.kinds.one_parameter.mechanisms import Gaussian, Laplace
from app.core.noise.discrete_laplace import noise_scale
from app.core.privacy.drawn_cost import drawn_cost
from app.core.privacy.release_cost import chargeable
from tests.contracts.charge_cases import DELTA, Setting, random_settings
from tests.contracts.consistent_losses import largest_delta
from tests.contracts.converted_cases import (
    Figures,
    family_figures,
    gaussian_loss,
    laplace_loss,
    network_figures,
    noise_figures,
    regression_figures,
)
from tests.contracts.privacy_loss import exact_epsilon, loss_of
from tests.contracts.test_network_charges import ARROW
from tests.contracts.test_network_charges import Setting as NetworkSetting
from tests.core.families.family_cases import build
from tests.core.networks.noise_oracle import cell_counts, character_sums, persons, shifts
from tests.core.networks.test_record_costs import model_of, plain_network
from tests.core.regression.exact_divergence import Setting as BallSetting
from tests.deep import deep

pytestmark = pytest.mark.slow

ROUNDING = 1e-3
"""Of the grids of losses."""
LIMIT = 1.10
RARE = Setting("normal_mean", prior=1, trim=0, people=4, unit_rows=1, steps=4, temperature=0.1)
RARER = Setting("normal_mean", prior=1, trim=1, people=7, unit_rows=1, steps=5, temperature=1.0)
# At most how much conversion alone loses at 1, 10 and 100 draws.
FAMILIES = [
    (Setting("bernoulli", prior=0, trim=0, people=20, unit_rows=1, steps=1, temperature=1.0), (1.04, 1.07, 1.06)),
    (Setting("poisson", prior=1, trim=0, people=124, unit_rows=1, steps=2, temperature=0.5), (1.07, 1.08, 1.10)),
    (RARE, (1.48, 1.22, 1.20)),
    (RARER, (1.18, 1.16, 1.11)),
]


def check(found: list[Figures], curve: float, conversion: tuple[float, ...]) -> None:
    for each, most in zip(found, conversion, strict=True):
        assert each.charged >= each.exact * (1 - ROUNDING), each
        assert 1 - 1e-9 <= each.curve <= curve, each
        assert 1 - ROUNDING <= each.conversion <= most, each


def test_law_of_the_loss_is_within_what_dp_accounting_says() -> None:
    """Rounded up and down by them, three draws of two tables, the larger direction; and one draw against the definition."""
    rng = np.random.default_rng(5)
    p, q = (np.log(rng.dirichlet(np.full(30, 3.0))) for _ in range(2))
    ours = max(exact_epsilon([loss_of(*pair)], 3, DELTA) for pair in ((p, q), (q, p)))
    ends = []
    for pessimistic in (False, True):
        loss = privacy_loss_distribution.from_two_probability_mass_functions(
            dict(enumerate(p.tolist())),
            dict(enumerate(q.tolist())),
            pessimistic_estimate=pessimistic,
            value_discretization_interval=1e-3,
            symmetric=False,
        )
        ends.append(loss.self_compose(3).get_epsilon_for_delta(DELTA))
    assert ends[0] - 1e-4 <= ours <= ends[1] + 1e-4
    alone = exact_epsilon([loss_of(p, q)], 1, 0.05)
    assert float(np.maximum(np.exp(p) - math.exp(alone) * np.exp(q), 0).sum()) == pytest.approx(0.05)


@pytest.mark.parametrize(("setting", "conversion"), FAMILIES, ids=lambda each: getattr(each, "family", ""))
def test_draws_of_families_are_converted_as_near_their_exact_loss_as_written_down(
    setting: Setting, conversion: tuple[float, ...]
) -> None:
    check(family_figures(setting), 1.001, conversion)


@pytest.mark.parametrize(
    ("mechanism", "conversion"),
    [
        (NetworkBaps(1), (1.04, LIMIT, 1.06)),
        (NetworkMap(1.0, "log_density"), (1.04, 1.08, 1.08)),
        deep(NetworkMap(1.0, "probability"), (1.01, 1.07, 1.12)),
    ],
    ids=["baps", "log_density", "probability"],
)
def test_draws_of_networks_are_converted_as_near_their_exact_loss_as_written_down(
    mechanism: NetworkBaps | NetworkMap, conversion: tuple[float, ...]
) -> None:
    check(network_figures(NetworkSetting((2, 2), ARROW, 6), mechanism), 1.001, conversion)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
def test_noise_is_converted_within_the_limit(epsilon: float) -> None:
    """Discrete Laplace on a sum, cells or characters by its pure cost or its curve, Gaussian noise by its own law."""
    model = build("poisson")
    steps = model.statistic.steps
    laplace = laplace_loss(steps, noise_scale(steps, chargeable(epsilon)))
    check(noise_figures(Laplace(10, epsilon).cost(model, 20, 1).total, [laplace]), 1.001, (1.001, LIMIT, LIMIT))
    gaussian = Gaussian(10, epsilon, DELTA)
    (scale,), (factor,) = gaussian.scales(model, 1)
    told = noise_figures(gaussian.cost(model, 20, 1).total, [gaussian_loss(steps * factor / scale)])
    check(told, 1.001, (1.001, 1.001, 1.001))
    network, plain = model_of((2, 2), ARROW, 1.0, "tree", 0.05), plain_network((2, 2), ARROW, "tree")
    for mechanism, read in ((NetworkLaplace(10, epsilon), cell_counts), (NetworkFourier(10, epsilon), character_sums)):
        told_apart = itertools.combinations([read(plain, rows) for rows in persons(plain, 1)], 2)
        farthest = max((shifts(one, other) for one, other in told_apart), key=sum)
        moved = [laplace_loss(shift, mechanism.scale(network, 1)) for shift in farthest]
        check(noise_figures(mechanism.cost(network, 20, 1).total, moved), 1.02, (1.01, LIMIT, LIMIT))


@pytest.mark.parametrize(
    ("at", "people", "curve", "conversion"),
    [
        (BallSetting(1, 1.0, 1.0, 1.0), 1, 1.06, (1.01, 1.05, 1.07)),
        deep(BallSetting(1, 0.3, 0.1, 2.0), 3, 1.5, (1.02, 1.06, 1.07)),
        deep(BallSetting(2, 0.5, 1.0, 2**0.5), 1, 1.2, (1.02, 1.08, 1.08)),
    ],
)
def test_draws_of_a_regression_are_converted_within_the_limit(
    at: BallSetting, people: int, curve: float, conversion: tuple[float, ...]
) -> None:
    check(regression_figures(at, people, 1 if people == 1 else 3), curve, conversion)


@pytest.mark.parametrize(
    ("setting", "draws", "share"),
    [(RARE, 1, 0.95), (RARER, 1, 0.99), deep(RARE, 10, 0.98), deep(FAMILIES[0][0], 10, 0.99), deep(RARER, 100, 0.99)],
)
def test_no_other_reading_of_the_same_cost_would_show_much_less(setting: Setting, draws: int, share: float) -> None:
    """At `share` of the ε shown, a law of losses that fits the curve at all orders, both ways, and the pure cost has δ > 10⁻⁶."""
    cost = drawn_cost(setting.model(), setting.people, setting.unit_rows, setting.temperature).cost.times(draws)
    shown = cost.epsilon(DELTA)
    assert largest_delta(cost, share * shown) > DELTA
    assert largest_delta(cost, 1.02 * shown) < DELTA


@pytest.mark.deep
@pytest.mark.parametrize(("seed", "unit_rows", "count"), [(71, 1, 60), (72, 2, 20), (73, 3, 12)])
def test_a_search_finds_no_conversion_that_loses_more_than_written_down(seed: int, unit_rows: int, count: int) -> None:
    """Where ε is between 0.01 and 20: what is less is next to nothing, what is more is refused."""
    over = told = 0
    for setting in random_settings(seed, unit_rows, count):
        for each in family_figures(setting):
            assert each.charged >= each.exact * (1 - ROUNDING), (setting, each)
            if 0.01 <= each.exact <= 20:
                assert each.conversion <= 1.5, (setting, each)
                told, over = told + 1, over + (each.conversion > LIMIT)
    assert over <= told / 4
