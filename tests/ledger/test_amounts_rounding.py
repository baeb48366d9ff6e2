"""Amounts round the right way on the exact value, refuse nonsense, and prefixes telescope."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.privacy import ORDERS, Cost
from app.errors import IntegrityFailure, NumericalFailure
from app.ledger.amounts import (
    ATTO,
    CEILING_NANO,
    NANO,
    ZERO,
    Amounts,
    amounts_of,
    atto_down,
    atto_up,
    nano_down,
    nano_up,
    prefix_charge,
    upgrade_charge,
)

nats = st.floats(min_value=0, max_value=1e5)


def flat_cost(pure: float, renyi: float, slack: float = 0.0) -> Cost:
    return Cost(pure, (renyi,) * len(ORDERS), slack)


@given(nats)
def test_rounding_brackets_the_exact_binary_value_within_one_unit(value: float) -> None:
    for up, down, unit in ((nano_up, nano_down, NANO), (atto_up, atto_down, ATTO)):
        exact = Fraction(value) * unit
        assert down(value) <= exact <= up(value)
        assert up(value) - down(value) == (0 if exact.denominator == 1 else 1)


def test_a_tenth_rounds_up_although_it_prints_as_a_whole_number_of_units() -> None:
    assert Fraction(0.1) > Fraction(1, 10)
    assert nano_up(0.1) == 10**8 + 1
    assert nano_down(0.1) == 10**8


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1e-300, -1.0])
@pytest.mark.parametrize("rounding", [nano_up, nano_down, atto_up, atto_down])
def test_nan_infinite_and_negative_amounts_are_refused(rounding: object, value: float) -> None:
    with pytest.raises(NumericalFailure):
        rounding(value)


@given(st.lists(st.integers(min_value=0, max_value=500), min_size=1, max_size=8), nats, nats)
def test_upgrading_in_steps_costs_exactly_what_buying_at_once_costs(
    steps: list[int], pure: float, renyi: float
) -> None:
    cost = flat_cost(pure, renyi, 1e-12)
    held, paid = 0, ZERO
    for wanted in steps:
        step = upgrade_charge(cost, held, wanted)
        assert step.is_charge
        paid, held = paid.plus(step), max(held, wanted)
    assert paid == prefix_charge(cost, held)


@given(st.integers(min_value=1, max_value=10**6), nats)
def test_a_prefix_is_charged_at_least_its_exact_cost_and_less_than_a_unit_more(samples: int, renyi: float) -> None:
    exact = Fraction(renyi) * samples * NANO
    charged = prefix_charge(flat_cost(renyi, renyi), samples).curve_nano[0]
    assert charged == CEILING_NANO if exact > CEILING_NANO else exact <= charged < exact + 1


def test_repeating_a_charge_never_costs_less_than_the_repetition() -> None:
    one = flat_cost(0.3, 0.1, 1e-15)
    looped = ZERO
    for _ in range(100):
        looped = looped.plus(amounts_of(one))
    assert looped.covers(prefix_charge(one, 100))
    assert prefix_charge(one, 100).covers(prefix_charge(one, 99))


def test_an_unbounded_pure_cost_reads_as_none_and_is_exactly_reversible() -> None:
    unbounded = amounts_of(Cost(math.inf, (0.5,) * len(ORDERS)))
    finite = amounts_of(flat_cost(1.0, 0.5))
    assert unbounded.finite_pure_nano is None
    assert unbounded.plus(finite).minus(unbounded) == finite
    assert unbounded.plus(unbounded.negated()) == ZERO


def test_an_amount_that_no_column_could_hold_is_refused() -> None:
    largest = Amounts(2**63 - 1, ZERO.curve_nano)
    with pytest.raises(IntegrityFailure):
        largest.plus(Amounts(1, ZERO.curve_nano))
    with pytest.raises(IntegrityFailure):
        Amounts(0, (0,))
