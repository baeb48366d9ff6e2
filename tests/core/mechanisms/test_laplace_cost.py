"""What `laplace` is charged: the discrete Laplace curve, once, whatever the number of samples."""

import math
from typing import Any

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray

from app.core.kinds import parse_mechanism, parse_model
from app.core.kinds.one_parameter import ONE_PARAMETER
from app.core.kinds.one_parameter.families import FAMILIES
from app.core.kinds.one_parameter.mechanisms import Laplace
from app.core.noise.discrete_laplace import discrete_laplace_cost, noise_scale
from app.core.privacy import ORDERS
from app.core.privacy.release_cost import chargeable
from app.core.schema import parse_columns
from app.core.statistics.sums import ExactStatistic
from app.errors import InvalidMechanism
from tests.core.families.family_cases import build
from tests.deep import deep

CASES = [(1, 0.2), (1, 1.0), (1, 40.0), (2, 0.7), (5, 3.0), (40, 12.5), (40, 400.0), (300, 11.0)]


def brute_force(order: float, shift: int, scale: float) -> float:
    """log Σ_z P(z)^α·P(z−m)^{1−α}/(α−1), term by term at 40 digits, tails summed in closed form beyond the range."""
    with mpmath.workdps(40):
        q = mpmath.exp(-mpmath.mpf(1) / mpmath.mpf(scale))
        alpha = mpmath.mpf(order)
        inner = sum(q ** (alpha * abs(z) + (1 - alpha) * abs(z - shift)) for z in range(shift + 1))
        left = q ** (1 + (1 - alpha) * shift) / (1 - q)  # Σ_{z<0} q^{|z|}·q^{(1−α)m}
        right = q ** (alpha * (shift + 1) + (1 - alpha)) / (1 - q)  # Σ_{z>m}
        return float(mpmath.log((1 - q) / (1 + q) * (inner + left + right)) / (alpha - 1))


@pytest.mark.parametrize(("shift", "scale"), CASES)
def test_curve_equals_the_sum_over_all_outputs(shift: int, scale: float) -> None:
    cost = discrete_laplace_cost(shift, scale)
    for order, charged in zip(ORDERS[::3], cost.curve[::3], strict=True):
        exact = brute_force(order, shift, scale)
        assert exact <= charged * (1 + 1e-15)
        assert charged <= exact * (1 + 1e-9)
    assert max(cost.curve) <= cost.pure


def closed_form(order: float, shift: int, scale: float) -> mpmath.mpf:
    """The same sum with its middle as a geometric series, for shifts too long to add up; 90 digits outlast all cancellation."""
    with mpmath.workdps(90):
        rate, a = 1 / mpmath.mpf(scale), mpmath.mpf(order)
        q, step = mpmath.exp(-rate), (2 * a - 1) * rate
        middle = q ** (a * shift) * mpmath.exp(step) * mpmath.expm1(step * (shift - 1)) / mpmath.expm1(step)
        ends = (q ** (a * shift) + q ** ((1 - a) * shift)) / (1 - q)
        return mpmath.log((1 - q) / (1 + q) * (ends + middle)) / (a - 1)


@pytest.mark.parametrize(("seed", "tried"), [(0, 60), deep(1, 1_500)])
def test_charge_is_never_below_the_exact_value_nor_a_billionth_above_it_at_any_scale(seed: int, tried: int) -> None:
    """Scales 10⁻² to 10¹², shifts 1 to 10⁶: where noise is wide the divergence is far below a unit in the last place of 1."""
    rng = np.random.default_rng(seed)
    corners = [(m, b) for m in (1, 2, 3, 10**6) for b in (0.01, 1.0, 1e5, 1e10, 1e12)]
    drawn = [(int(10 ** rng.uniform(0, 6)), float(10 ** rng.uniform(-2, 12))) for _ in range(tried)]
    for shift, scale in corners + drawn:
        cost = discrete_laplace_cost(shift, scale)
        for place in rng.choice(len(ORDERS), 4, replace=False):
            exact = closed_form(ORDERS[place], shift, scale)
            assert exact <= cost.curve[place] <= exact * (1 + mpmath.mpf("1e-9")), (shift, scale, ORDERS[place])


def test_smaller_shifts_cost_less() -> None:
    """The charge for Δ covers every neighbour, not only the farthest."""
    for scale in (0.8, 7.0):
        largest = discrete_laplace_cost(12, scale)
        for shift in range(1, 12):
            smaller = discrete_laplace_cost(shift, scale)
            assert smaller.pure < largest.pure
            assert all(a <= b for a, b in zip(smaller.curve, largest.curve, strict=True))


def test_continuous_curve_would_undercharge() -> None:
    """Why the discrete formula: Mironov's curve for the continuous Laplace law is below ours at every low order."""
    rate, cost = 2.0, discrete_laplace_cost(1, 0.5)
    for order, charged in zip(ORDERS[3:12], cost.curve[3:12], strict=True):
        inside = order / (2 * order - 1) * math.exp((order - 1) * rate)
        inside += (order - 1) / (2 * order - 1) * math.exp(-order * rate)
        assert math.log(inside) / (order - 1) < charged


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 7.3])
def test_opendp_certifies_no_more_than_was_charged(family: str, epsilon: float) -> None:
    dp.enable_features("contrib")
    model = build(family, typical=True)
    cost = Laplace(10, epsilon).cost(model, 100, 1)
    low, high = model.statistic_range
    scale = noise_scale(high - low, chargeable(epsilon))
    space = dp.atom_domain(T=dp.i64), dp.absolute_distance(T=dp.i64)
    certified = dp.m.make_laplace(*space, scale=scale).map(high - low)
    assert certified <= cost.total.pure
    assert epsilon - 1.1e-9 <= cost.total.pure <= epsilon


def test_samples_are_free_after_the_first_and_so_are_prefixes() -> None:
    model = build("poisson")
    costs = [Laplace(samples, 0.5).cost(model, 100, 1) for samples in (1, 10, 100_000)]
    assert len({cost.total for cost in costs}) == 1
    assert {costs[2].prefix(k) for k in (1, 7, 100_000)} == {costs[0].total}
    assert costs[2].prefix(0).pure == 0


def test_only_the_noisy_sum_reaches_the_samples() -> None:
    """With the noise fixed to hide the difference, two datasets give the same samples from the same random bytes."""
    model = build("poisson")
    seen: list[int] = []

    def hide(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        seen.extend(values.tolist())
        return np.array([150], dtype=np.int64)

    drawn = [
        Laplace(30, 1.0).draw(
            model, 100, 1, ExactStatistic(total, 100), np.random.Generator(np.random.PCG64(1)).bytes, hide
        )
        for total in (0, 390, 10**9, -5)
    ]
    assert all((each == drawn[0]).all() for each in drawn)
    assert seen == [0, 390, 400, 0]  # clamped to what one row a person can give


@pytest.mark.parametrize(
    "spec", [{}, {"samples": 3}, {"epsilon": 1}, {"samples": 0, "epsilon": 1}, {"samples": 1.5, "epsilon": 1},
             {"samples": 3, "epsilon": math.nan}, {"samples": 3, "epsilon": 0}, {"samples": 3, "epsilon": -1},
             {"samples": 3, "epsilon": 10**400}, {"samples": 10**400, "epsilon": 1}, {"samples": True, "epsilon": 1},
             {"samples": 3, "epsilon": 1, "temperature": 1}]
)  # fmt: skip
def test_a_bad_laplace_is_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(InvalidMechanism, match="mechanism"):
        ONE_PARAMETER.parse_mechanism({"kind": "laplace", **spec})


def test_cure_rates_of_two_arms_are_published_within_a_minute_where_patients_have_two_rows():
    """The walk-through's first release on the machine of reference: four times what is said of its work (`public_moment.py`)."""
    columns = parse_columns({"cured": {"type": "binary"}, "arm": {"type": "binary", "public": True}})
    spec = {"family": "bernoulli", "column": "cured", "trim": 1e-6, "groups": {"by": ["arm"], "strata": [464, 465]}}
    model = parse_model(spec, columns)
    mechanism = parse_mechanism({"kind": "laplace", "samples": 1_000, "epsilon": 1.0}, model)
    assert 4 * mechanism.work(model, 929, 2, mechanism.cost(model, 929, 2)) < 60
