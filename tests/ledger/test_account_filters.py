"""Account rules against a model that keeps every charge as an exact fraction and sums from the beginning."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.privacy import ORDERS, Cost, conversion_offset
from app.errors import BudgetExhausted, IntegrityFailure, InvalidInput
from app.ledger.account import (
    Account,
    admits,
    best_order,
    charge,
    largest_prefix,
    open_account,
    refund,
    remaining,
    with_cap,
)
from app.ledger.amounts import CEILING_NANO, MAX_EPSILON, NANO, ZERO, Amounts, amounts_of, prefix_charge
from app.ledger.filters import LATE_ORDER
from app.ledger.reading import spent_epsilon

budgets = st.tuples(
    st.floats(min_value=0.01, max_value=20), st.sampled_from([0.0, 1e-9, 1e-6, 1e-3, 0.2]), st.booleans()
)
costs = st.builds(
    lambda rho, pure, slack: Cost(pure, tuple(min(rho * order, pure) for order in ORDERS), slack),
    st.floats(min_value=0, max_value=0.3),
    st.one_of(st.floats(min_value=0, max_value=8), st.just(math.inf)),
    st.sampled_from([0.0, 0.0, 1e-10, 1e-7]),
)


@dataclass
class Model:
    """The two filters as PRIVACY states them, with the capacity from 50-digit arithmetic."""

    account: Account
    admitted: list[Cost] = field(default_factory=list)

    @property
    def order(self) -> float:
        """Fixed at the opening, or by the first charge."""
        return self.account.order_in_force or ORDERS[0]

    def sums(self, extra: Cost) -> tuple[Fraction | float, Fraction | float, Fraction]:
        every = [*self.admitted, extra]
        index = ORDERS.index(self.order)
        pure = sum((_exact(cost.pure) for cost in every), Fraction(0))
        renyi = sum((_exact(cost.curve[index]) for cost in every), Fraction(0))
        return pure, renyi, sum((Fraction(cost.slack_delta) for cost in every), Fraction(0))

    def capacity(self) -> Fraction:
        account = self.account
        rest = Fraction(account.delta) - Fraction(account.slack_delta)
        if rest <= 0:
            return Fraction(0)
        with mpmath.workdps(50):
            order, delta = mpmath.mpf(self.order), mpmath.mpf(rest.numerator) / rest.denominator
            value = account.epsilon - mpmath.log(1 - 1 / order) + mpmath.log(delta * order) / (order - 1)
            return max(Fraction(0), Fraction(str(mpmath.nstr(value, 40))))


def _exact(value: float) -> Fraction:
    return Fraction(10**9) if math.isinf(value) else Fraction(value)


@given(budgets, st.lists(costs, max_size=12))
def test_filters_agree_with_exact_sums_up_to_one_unit_a_charge(
    budget: tuple[float, float, bool], charges: list[Cost]
) -> None:
    epsilon, delta, keeps_slack = budget
    account = open_account("ds_a", epsilon=epsilon, delta=delta, slack_delta=delta / 4 if keeps_slack else 0.0)
    model = Model(account)
    for cost in charges:
        if admits(account, amounts_of(cost)):
            model.account = charge(account, amounts_of(cost))
        capacity = model.capacity()
        pure, renyi, slack = model.sums(cost)
        room = Fraction(len(charges) + 2, NANO)
        slack_room = Fraction(len(charges), 10**18) if slack else Fraction(0)
        kept = Fraction(account.slack_delta)
        if admits(account, amounts_of(cost)):
            assert pure <= Fraction(epsilon) or renyi <= capacity
            assert slack <= kept
            account = charge(account, amounts_of(cost))
            model.admitted.append(cost)
        else:
            over = pure + room > Fraction(epsilon) and renyi + room > capacity
            assert over or slack + slack_room > kept


@given(budgets, st.lists(costs, min_size=1, max_size=6), st.data())
def test_a_refund_restores_the_account_bit_for_bit(
    budget: tuple[float, float, bool], charges: list[Cost], data: st.DataObject
) -> None:
    account = open_account("ds_a", epsilon=budget[0], delta=budget[1])
    held = []
    for cost in charges:
        if admits(account, amounts_of(cost)):
            held.append(amounts_of(cost))
            account = charge(account, amounts_of(cost))
    for amounts in data.draw(st.permutations(held)):
        account = refund(account, amounts)
    assert account.spent == ZERO


def test_a_refund_beyond_what_was_charged_is_refused() -> None:
    account = charge(open_account("ds_a", epsilon=3, delta=1e-6), amounts_of(Cost(1.0, (0.1,) * len(ORDERS))))
    with pytest.raises(IntegrityFailure):
        refund(account, amounts_of(Cost(1.1, (0.1,) * len(ORDERS))))


def test_a_negative_charge_is_not_a_way_to_get_budget_back() -> None:
    account = open_account("ds_a", epsilon=3, delta=1e-6)
    with pytest.raises(IntegrityFailure):
        charge(account, amounts_of(Cost(1.0, (0.1,) * len(ORDERS))).negated())


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-6), (3, 1e-6), (3, 1e-9), (20, 1e-3)])
def test_the_fixed_order_buys_the_most_of_a_cost_that_grows_with_the_order(epsilon: float, delta: float) -> None:
    bought = {order: (epsilon - conversion_offset(order, delta)) / order for order in ORDERS}
    assert bought[best_order(epsilon, delta) or 0] == max(bought.values())
    account = open_account("ds_a", epsilon=epsilon, delta=delta)
    rho = account.capacity_nano / NANO / (account.order or 1)
    assert admits(account, amounts_of(Cost(math.inf, tuple(rho * 0.999999 * order for order in ORDERS))))


def test_without_delta_only_the_pure_filter_admits() -> None:
    account = open_account("ds_a", epsilon=1.0, delta=0.0)
    assert account.capacity_nano == 0
    assert admits(account, amounts_of(Cost(1.0, (1.0,) * len(ORDERS))))
    assert not admits(account, amounts_of(Cost(math.inf, (1e-9,) * len(ORDERS))))


def test_one_filter_admits_what_the_other_refuses_and_both_together_refuse() -> None:
    account = open_account("ds_a", epsilon=1.0, delta=1e-6)
    curve_only = amounts_of(Cost(600.0, tuple(1e-4 * order for order in ORDERS)))
    pure_only = amounts_of(Cost(0.9, (0.9,) * len(ORDERS)))
    assert account.capacity_nano < 0.9 * NANO
    assert admits(account, curve_only)
    assert admits(account, pure_only)
    assert not admits(charge(account, curve_only), pure_only)
    assert not admits(charge(account, pure_only), curve_only)


def test_a_refusal_says_what_is_left_and_rounds_it_down() -> None:
    account = open_account("ds_a", "an_b", epsilon=1.0, delta=1e-6)
    account = charge(account, amounts_of(Cost(0.3, (0.1,) * len(ORDERS))))
    with pytest.raises(BudgetExhausted) as refused:
        charge(account, amounts_of(Cost(math.inf, (5.0,) * len(ORDERS))))
    facts = refused.value.facts
    assert (facts["account"], facts["order"], facts["asked_pure"]) == ("analyst", account.order, None)
    assert Fraction(facts["remaining_pure"]) <= 1 - Fraction(0.3)
    assert facts["remaining_pure"] == pytest.approx(0.7, abs=1e-8)
    assert facts["remaining_renyi"] == pytest.approx(account.capacity_nano / NANO - 0.1, abs=1e-8)


def test_a_lowered_cap_below_what_is_spent_admits_nothing_and_keeps_the_order() -> None:
    account = charge(open_account("ds_a", epsilon=3, delta=1e-6), amounts_of(Cost(2.0, (0.5,) * len(ORDERS))))
    lowered = with_cap(account, epsilon=0.5, delta=1e-6)
    assert lowered.order == account.order
    assert lowered.spent == account.spent
    assert not admits(lowered, ZERO)
    assert remaining(lowered).pure == 0
    assert with_cap(lowered, epsilon=3, delta=1e-6) == account


def test_an_account_opened_without_delta_has_its_order_before_any_delta() -> None:
    """At 10⁻¹² order 16 would buy more; it would have been chosen after releases were seen."""
    account = open_account("ds_a", epsilon=3, delta=0)
    charged = charge(account, amounts_of(Cost(1.0, (0.1,) * len(ORDERS))))
    assert best_order(3, 1e-12) != account.order == best_order(3, 1e-6)
    assert with_cap(charged, epsilon=3, delta=1e-12).order == account.order
    assert with_cap(charged, epsilon=0.1, delta=1e-12).order == account.order


def test_an_account_of_an_earlier_version_used_without_delta_gets_an_order_nobody_chose() -> None:
    account = replace(open_account("ds_a", epsilon=3, delta=0), order=None)
    assert with_cap(account, epsilon=3, delta=1e-12).order == best_order(3, 1e-12)
    used = charge(account, amounts_of(Cost(1.0, (0.1,) * len(ORDERS))))
    assert with_cap(used, epsilon=3, delta=1e-12).order == with_cap(used, epsilon=0.1, delta=1e-3).order == LATE_ORDER


def test_the_part_of_delta_kept_at_the_opening_never_moves_to_the_renyi_filter() -> None:
    """Lowering δ below it and raising δ again gave 1.57 nats of capacity 0.26 more, after slack was spent."""
    account = open_account("ds_a", epsilon=3, delta=1e-6, slack_delta=9e-7)
    with pytest.raises(InvalidInput, match="lower epsilon instead"):
        with_cap(account, epsilon=3, delta=1e-9)
    lowered = with_cap(account, epsilon=0.1, delta=9e-7)
    assert (lowered.slack_delta, lowered.capacity_nano) == (account.slack_delta, 0)
    assert with_cap(lowered, epsilon=3, delta=1e-6) == account


def test_a_sum_that_would_not_fit_is_refused_as_exhausted_and_voids_stay_exact() -> None:
    """Each unbounded charge is a million nats on the books; 2⁶³ units hold 9,223 of them."""
    free = Amounts(CEILING_NANO, (0,) * len(ORDERS))
    account = open_account("ds_a", epsilon=3, delta=1e-6)
    for _ in range(9_223):
        account = charge(account, free)
    assert not admits(account, free)
    with pytest.raises(BudgetExhausted):
        charge(account, free)
    assert charge(refund(account, free), free) == account


@pytest.mark.parametrize(
    ("epsilon", "delta", "slack"),
    [
        *((math.nan, 1e-6, 0), (-1, 1e-6, 0), (math.inf, 0, 0), (MAX_EPSILON + 1, 0, 0)),
        *((1, math.nan, 0), (1, -1e-9, 0), (1, 1.0, 0), (1, 1e-6, 2e-6), (1, 1e-6, math.nan)),
    ],
)
def test_a_budget_that_is_no_budget_is_refused(epsilon: float, delta: float, slack: float) -> None:
    with pytest.raises(InvalidInput):
        open_account("ds_a", epsilon=epsilon, delta=delta, slack_delta=slack)


def test_every_capacity_lies_below_the_mark_for_unbounded_amounts() -> None:
    for delta in (0.0, 1e-12, 0.5, 0.999999):
        account = open_account("ds_a", epsilon=MAX_EPSILON, delta=delta)
        assert max(account.capacity_nano, account.pure_capacity_nano) < CEILING_NANO
        assert not admits(account, amounts_of(Cost(math.inf, (math.inf,) * len(ORDERS))))


@pytest.mark.parametrize("held", [0, 1, 17])
def test_the_largest_prefix_fits_and_one_more_does_not(held: int) -> None:
    per_sample = Cost(5.9, tuple(0.0004 * order for order in ORDERS))
    account = charge(open_account("ds_a", "an_b", epsilon=1, delta=1e-6), prefix_charge(per_sample, held))
    longest = largest_prefix(account, per_sample, held, 10_000)
    assert held < longest < 10_000
    assert prefix_charge(per_sample, longest).curve_nano[15] > 0
    fresh = open_account("ds_a", "an_b", epsilon=1, delta=1e-6)
    assert admits(fresh, prefix_charge(per_sample, longest))
    assert not admits(fresh, prefix_charge(per_sample, longest + 1))


def test_the_reading_takes_the_smaller_of_pure_and_converted() -> None:
    account = open_account("ds_a", epsilon=3, delta=1e-6)
    assert spent_epsilon(account).epsilon == 0
    cost = Cost(500.0, tuple(0.01 * order for order in ORDERS))
    reading = spent_epsilon(charge(account, amounts_of(cost)))
    assert reading.epsilon == pytest.approx(cost.epsilon(1e-6), abs=1e-8)
    assert (reading.pure_epsilon, reading.order) == (500.0, cost.best_order(1e-6)[1])


def test_slack_taken_from_what_is_left_would_break_the_budget() -> None:
    """Why slack is set aside beforehand: an adaptive curator, ε = 3, δ = 10⁻⁶, with δ′ = δ − Σ slack at each charge.

    First a coin with loss 1.1 on one side. That side spends the rest of the Rényi capacity, the other side spends
    slack s, which may reveal everything with probability s. All charges pass; the true δ is 1.9 times the budget.
    """
    epsilon, delta, order = 3.0, 1e-6, 10.0
    assert best_order(epsilon, delta) == order

    def renyi(p: float, loss: float) -> float:
        q = p * math.exp(-loss)
        sides = (((p, q), (1 - p, 1 - q)), ((q, p), (1 - q, 1 - p)))
        return max(math.log(sum(a**order * b ** (1 - order) for a, b in pairs)) / (order - 1) for pairs in sides)

    coin, coin_loss, rare, rare_loss, slack = 0.1, 1.1, 9.47e-5, 2.0113, 9.998e-7
    capacity = epsilon - conversion_offset(order, delta)
    assert renyi(coin, coin_loss) + renyi(rare, rare_loss) <= capacity
    assert renyi(coin, coin_loss) <= epsilon - conversion_offset(order, delta - slack)
    true_delta = coin * rare * -math.expm1(epsilon - coin_loss - rare_loss) + (1 - coin) * slack
    assert true_delta > 1.8 * delta

    account = open_account("ds_a", epsilon=epsilon, delta=delta)
    assert not admits(account, amounts_of(Cost(math.inf, (0.0,) * len(ORDERS), slack)))
