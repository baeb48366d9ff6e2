"""The filter for Gaussian noise only: against the exact law of the noise, and against people who choose after seeing."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from app.core.noise.discrete_gaussian import largest_gaussian_rho, zcdp_cost
from app.core.privacy import ORDERS, Cost, conversion_offset
from app.core.privacy.cost import budget_order
from app.core.privacy.gaussian import (
    KAPPA,
    ROUNDING_SD,
    SCALE_MIN,
    gaussian_capacity,
    gaussian_epsilon,
    gdp_mu,
    gdp_mu_of_pure,
)
from app.errors import BudgetExhausted
from app.ledger.account import Account, admits, charge, open_account, refund, with_cap
from app.ledger.amounts import Amounts, amounts_of
from app.ledger.entry import Entry, Head
from app.ledger.filters import GAUSSIAN, Regime
from app.ledger.hash_chain import GENESIS, digest_of, seal
from app.ledger.posting import open_posting, reserve_posting, void_posting
from app.ledger.verification import Verifier

WHO: dict[str, Any] = {"actor": "an_steward", "reason": "test", "at_us": 7}
BUDGETS = [(1.0, 1e-6), (0.1, 1e-9), (3.0, 1e-6), (0.7, 1e-5), (20.0, 1e-3), (0.01, 1e-6)]


def analytic_delta(epsilon: float, mu: float) -> float:
    """Balle and Wang (2018), Theorem 8, in doubles: a second writing of what `gaussian.py` solves to 50 digits."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


def gaussian(rho: float) -> Amounts:
    return amounts_of(zcdp_cost(rho, smallest_scale=SCALE_MIN))


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_noise_is_within_a_percent_of_the_analytic_gaussian(epsilon: float, delta: float) -> None:
    mu = brentq(lambda mu: analytic_delta(epsilon, mu) - delta, 1e-6, 20.0, rtol=1e-13)
    sigma = 1 / math.sqrt(2 * largest_gaussian_rho(epsilon, delta))
    assert 1 <= sigma * mu < 1.001


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_capacity_and_epsilon_are_inverse_and_never_below(epsilon: float, delta: float) -> None:
    rho = gaussian_capacity(epsilon, delta)
    assert analytic_delta(epsilon, gdp_mu(rho)) <= delta * (1 + 1e-6)
    assert epsilon * (1 - 1e-9) <= gaussian_epsilon(rho, delta) <= epsilon * (1 + 1e-9) + 1e-11
    assert gaussian_epsilon(rho * 1.001, delta) > epsilon


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_an_empty_account_admits_exactly_what_is_calibrated_to_it_once(epsilon: float, delta: float) -> None:
    account = open_account("ds_a", epsilon=epsilon, delta=delta)
    cost = zcdp_cost(largest_gaussian_rho(epsilon, delta), smallest_scale=SCALE_MIN)
    assert epsilon * 0.999 < cost.epsilon(delta) <= epsilon
    after = charge(account, amounts_of(cost), gaussian=True)
    assert after.regime == GAUSSIAN
    assert not admits(after, gaussian(1e-3 * gaussian_capacity(epsilon, delta)), gaussian=True)
    assert not admits(account, amounts_of(cost))


@pytest.mark.parametrize("scale", [2.5, 3, 4, 6, 10, 40])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_discrete_noise_is_never_easier_to_tell_apart_than_what_it_is_charged_as(scale: float, shift: int) -> None:
    """At scales far below what the filter is offered for. The continuous formula without r² is below, by up to an eighth."""
    z = np.arange(-int(40 * scale), int(40 * scale) + shift + 1)
    p, q = (np.exp(-((z - centre) ** 2) / (2 * scale**2)) for centre in (shift, 0))
    p, q = p / p.sum(), q / q.sum()
    charged = shift / math.sqrt(scale**2 - ROUNDING_SD**2)
    for epsilon in (0.0, 0.1, 0.5, 1.0, 2.0):
        exact = float(np.maximum(0, p - math.exp(epsilon) * q).sum())
        assert exact <= analytic_delta(epsilon, charged) + 1e-13
        if (shift, epsilon) == (1, 1.0) and scale >= 3:
            assert exact > 1.03 * analytic_delta(epsilon, shift / scale)


@pytest.mark.parametrize(("scale", "rounding"), [(1.0, 0.5), (2.0, 0.6), (3.0, 0.7)])
def test_noise_rounded_at_random_is_the_discrete_gaussian_up_to_what_the_proof_says(
    scale: float, rounding: float
) -> None:
    """With an r so small that the difference can be seen in doubles."""
    error = 2 * sum(math.exp(-2 * (math.pi * rounding * k) ** 2) for k in (1, 2, 3))
    z = np.arange(-25, 26)
    y = np.linspace(-22, 22, 8_801)
    weights = np.exp(-((z[:, None] - y) ** 2) / (2 * rounding**2))
    density = norm.pdf(y, 0.0, math.sqrt(scale**2 - rounding**2))
    rounded = np.trapezoid(weights / weights.sum(axis=0) * density, y, axis=1)
    discrete = np.exp(-(z**2) / (2 * scale**2))
    near = np.abs(z) <= 5 * scale
    ratio = rounded[near] / (discrete[near] / discrete.sum())
    assert error > 1e-7
    assert np.abs(np.log(ratio)).max() <= 3 * error + 1e-9


def optimal_adversary(scale: int, budget: int, epsilon: float) -> float:
    """The largest E[(1 − exp(ε − loss))₊] over *every* way of choosing the next whole shift m, Σ m² ≤ budget, after seeing.

    Exact by backward induction: the loss is a whole number over 2s², so states are (budget left, that number).
    """
    reach, z = 2500, np.arange(-9 * scale - 5, 9 * scale + 6)
    loss = np.arange(-reach, reach + 1)
    stopped = np.maximum(0, -np.expm1(epsilon - loss / (2 * scale**2)))
    value = [stopped]
    for left in range(1, budget + 1):
        best = stopped
        for shift in range(1, math.isqrt(left) + 1):
            weights = np.exp(-((z - shift) ** 2) / (2 * scale**2))
            steps = 2 * z * shift - shift**2
            later = value[left - shift**2]
            moved = [later[np.clip(loss + step + reach, 0, 2 * reach)] for step in steps]
            best = np.maximum(best, weights / weights.sum() @ np.array(moved))
        value.append(best)
    return float(value[budget][reach])


@pytest.mark.parametrize(("scale", "budget", "epsilon"), [(8, 9, 1.0), (6, 10, 1.0), (4, 5, 1.0), (5, 8, 2.0)])
def test_no_adaptive_choice_of_shifts_beats_the_filter(scale: int, budget: int, epsilon: float) -> None:
    best = optimal_adversary(scale, budget, epsilon)
    assert best <= analytic_delta(epsilon, math.sqrt(budget / (scale**2 - ROUNDING_SD**2)))
    assert best > analytic_delta(epsilon, math.sqrt(budget / scale**2))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (3.0, 1e-6)])
def test_choosing_between_two_filters_after_a_release_would_spend_more_than_delta(epsilon: float, delta: float) -> None:
    """Why the first charge decides. Gaussian noise first, four tenths of the capacity; then, by what it showed, either the rest
    of the Gaussian capacity or a rare large loss that takes the rest of the Rényi capacity. Each passes; both is 1.2 δ."""
    order, capacity = budget_order(epsilon, delta), gaussian_capacity(epsilon, delta)
    first = 0.4 * capacity
    left = epsilon - conversion_offset(order, delta) - order * first
    mu, later = math.sqrt(2 * first), math.sqrt(2 * (capacity - first))
    loss = np.linspace(-10 * mu, 12 * mu, 40_001) + mu**2 / 2
    rest = epsilon - loss
    noise = norm.cdf(later / 2 - rest / later) - np.exp(rest) * norm.cdf(-later / 2 - rest / later)
    large = np.maximum(rest + math.log(order / (order - 1)), 1e-9)
    chance = np.minimum(1, math.expm1((order - 1) * left) * np.exp(-(order - 1) * large))
    rare = np.maximum(chance * -np.expm1(rest - large), np.maximum(0, -np.expm1(rest)))
    seen = norm.pdf(loss, mu**2 / 2, mu)
    one, other, either = (float(np.trapezoid(seen * risk, loss)) for risk in (noise, rare, np.maximum(noise, rare)))
    assert max(one, other) <= delta < either / 1.2

    account = charge(open_account("ds_a", epsilon=epsilon, delta=delta), gaussian(first), gaussian=True)
    assert account.regime is None
    assert not admits(account, gaussian(capacity - first - 1e-6), gaussian=True)


def _full() -> Account:
    account = open_account("ds_a", epsilon=1.0, delta=1e-6)
    return charge(account, gaussian(largest_gaussian_rho(1.0, 1e-6)), gaussian=True)


def test_an_account_of_gaussian_noise_admits_nothing_else_for_ever() -> None:
    raised = with_cap(_full(), epsilon=5.0, delta=1e-6)
    small = amounts_of(Cost(1e-3, (1e-6,) * len(ORDERS)))
    assert not admits(raised, small)
    with pytest.raises(BudgetExhausted):
        charge(raised, small)
    assert admits(raised, gaussian(0.01), gaussian=True)
    spent_most = charge(raised, gaussian(gaussian_capacity(5.0, 1e-6) - gaussian_capacity(1.0, 1e-6)), gaussian=True)
    assert not admits(spent_most, gaussian(1e-5), gaussian=True)


def test_a_void_of_everything_empties_the_account_and_its_choice() -> None:
    account = open_account("ds_a", epsilon=1.0, delta=1e-6)
    assert refund(_full(), _full().spent) == account
    assert admits(refund(_full(), _full().spent), amounts_of(Cost(0.9, (0.5,) * len(ORDERS))))


def test_gaussian_noise_that_fits_the_own_order_leaves_room_for_other_mechanisms() -> None:
    account = open_account("ds_a", epsilon=1.0, delta=1e-6)
    account = charge(account, gaussian(0.5 * gaussian_capacity(1.0, 1e-6)), gaussian=True)
    assert account.regime is None
    assert admits(account, amounts_of(Cost(50.0, tuple(1e-4 * order for order in ORDERS))))


def test_a_first_charge_that_fits_another_order_fixes_that_one() -> None:
    account = open_account("ds_a", epsilon=1.0, delta=1e-6)
    other = 64.0
    room = 1.0 - conversion_offset(other, 1e-6) - 1e-8
    curve = tuple(room if order <= other else 5.0 for order in ORDERS)
    assert curve[ORDERS.index(account.order or 0)] > account.capacity_nano / 1e9
    cost = Cost(5.0, curve)
    assert cost.epsilon(1e-6) <= 1.0
    after = charge(account, amounts_of(cost))
    assert (after.regime, after.order) == (other, account.order)
    assert not admits(after, amounts_of(Cost(math.inf, tuple(1e-6 * order for order in ORDERS))))


def test_a_pure_epsilon_is_gdp_by_the_corner_of_its_errors() -> None:
    """The trade-off curve of μ lies under that of ε at every error rate, and just touches its corner."""
    for epsilon in (0.01, 0.657, 3.0, 40.0):
        mu = gdp_mu_of_pure(epsilon)
        x = np.concatenate([np.geomspace(1e-18, 0.5, 2000), [1 / (1 + math.exp(epsilon))]])
        private = np.maximum(1 - math.exp(epsilon) * x, math.exp(-epsilon) * (1 - x))
        normal = norm.cdf(-norm.ppf(x) - mu)
        assert (normal <= private * (1 + 1e-9)).all()
        assert normal[-1] == pytest.approx(private[-1], rel=1e-5)
    assert gdp_mu_of_pure(0.0) == 0
    assert 0 < KAPPA < 1e-4


def _lines() -> list[Entry]:
    """An account whose first charge needed the Gaussian filter, voided, then one that fits the account's own order."""
    account = open_account("ds_a", epsilon=1.0, delta=1e-6)
    postings = [open_posting(account, **WHO)]
    full = gaussian(largest_gaussian_rho(1.0, 1e-6))
    postings.append(reserve_posting(account, "rel_1", full, event="{}", gaussian=True, **WHO))
    postings.append(void_posting(postings[-1].account, "rel_1", full, **WHO))
    postings.append(reserve_posting(postings[-1].account, "rel_2", full, event="{}", gaussian=True, **WHO))
    head, lines = GENESIS, []
    for posting in postings:
        lines.append(seal(posting, head))
        head = Head(lines[-1].sequence, lines[-1].digest)
    return lines


def _verdict(lines: list[Entry]) -> tuple[str | None, int | None, Regime | None]:
    verifier, head = Verifier(), GENESIS
    for entry in lines:
        linked = replace(entry, previous=head.digest)
        linked = replace(linked, digest=digest_of(linked))
        head = Head(linked.sequence, linked.digest)
        verifier.feed(linked)
    found = verifier.result()
    return found.reason, found.first_bad, verifier.accounts()["ds_a"].regime


def test_lines_name_the_filter_and_a_replay_finds_it() -> None:
    lines = _lines()
    assert [json.loads(line.event).get("filter") for line in lines] == [None, GAUSSIAN, None, GAUSSIAN]
    assert _verdict(lines) == (None, None, GAUSSIAN)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ("{}", "overdrawn"),
        ('{"filter":64.0}', "overdrawn"),
        ('{"filter":63.0}', "malformed_event"),
        ('{"filter":[]}', "malformed_event"),
    ],
)
def test_a_line_under_another_filter_than_admitted_it_is_a_fault(event: str, reason: str) -> None:
    lines = _lines()
    assert _verdict([*lines[:3], replace(lines[3], event=event)])[:2] == (reason, 4)


def test_a_second_charge_that_names_another_filter_is_a_fault() -> None:
    lines = _lines()
    more = gaussian(1e-9)
    third = replace(lines[3], sequence=5, release="rel_3", amounts=more, totals=lines[3].totals.plus(more), event="{}")
    assert _verdict([*lines, third])[:2] == ("wrong_filter", 5)


def test_an_account_opened_by_an_earlier_version_without_delta_still_verifies() -> None:
    old = replace(open_account("ds_a", epsilon=1.0, delta=0.0), order=None)
    line = seal(open_posting(old, **WHO), GENESIS)
    assert json.loads(line.event)["order"] is None
    verifier = Verifier()
    assert verifier.feed(line)
    assert verifier.accounts()["ds_a"].order is None
