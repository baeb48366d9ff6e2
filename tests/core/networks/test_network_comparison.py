"""Mechanisms fitted to the same target and ranked; and the joint maximum both costs and sensitivities rest on."""

import itertools

import numpy as np
import pytest

from app.core.kinds.networks.blocks.joint_maximum import Factor, joint_maximum
from app.core.kinds.networks.comparison import STEP, fitting_baps, network_alternatives
from app.core.kinds.networks.cost import record_brackets, record_cost
from app.core.kinds.networks.mechanisms import NetworkBaps, NetworkLaplace
from app.core.privacy.targets import Target
from app.errors import InvalidMechanism
from tests.core.networks.test_noise_mechanisms import binary_network
from tests.core.networks.test_record_costs import model_of
from tests.deep import deep

NAIVE = binary_network([(), *[(0,)] * 4])


def random_factors(variables: int, rng: np.random.Generator) -> list[Factor]:
    factors = []
    for _ in range(variables + 3):
        scope = tuple(sorted(rng.permutation(variables)[: rng.integers(1, 4)].tolist()))
        factors.append(Factor(scope, rng.normal(size=(2,) * len(scope) + (3,))))
    return factors


@pytest.mark.parametrize("seed", range(8))
def test_joint_maximum_is_the_largest_over_all_assignments_and_never_below_it_when_split(seed: int) -> None:
    factors = random_factors(9, np.random.default_rng(seed))
    totals = [
        sum(factor.table[tuple(z[v] for v in factor.variables)] for factor in factors)
        for z in itertools.product((0, 1), repeat=9)
    ]
    best = np.max(totals, axis=0)
    whole = joint_maximum(factors)
    assert whole.exact
    assert np.allclose(whole.values, best)
    for width in (1, 2, 3):
        assert (joint_maximum(factors, width).values >= best - 1e-12).all()


@pytest.mark.slow
def test_every_alternative_fits_and_the_least_expected_error_comes_first() -> None:
    target = Target(2.0, 1e-6)
    found = network_alternatives(NAIVE, 500, 1, target)
    assert {each.mechanism.kind for each in found} == {"baps", "laplace", "gaussian", "fourier", "map"}
    for each in found:
        assert each.cost.total.epsilon(1e-6) <= 2.0
        print(f"{each.mechanism}: KL {each.accuracy.kl:.4f}")  # noqa: T201
    errors = [each.accuracy.kl for each in found]
    assert errors == sorted(errors)


@pytest.mark.slow
def test_coolest_is_not_cooler_than_needed() -> None:
    target = Target(1.0, 1e-6)
    fitted = fitting_baps(NAIVE, 300, 1, target, 20)
    assert target.fits(fitted.cost(NAIVE, 300, 1))
    assert not target.fits(NetworkBaps(20, fitted.temperature * STEP).cost(NAIVE, 300, 1))


@pytest.mark.slow
def test_noise_is_as_small_as_the_target_allows() -> None:
    target = Target(1.0, 1e-6)
    found = [
        each.mechanism for each in network_alternatives(NAIVE, 300, 1, target, 50) if each.mechanism.kind == "laplace"
    ]
    assert isinstance(found[0], NetworkLaplace)
    assert found[0].epsilon >= 1.0 * (1 - 1e-6)
    assert not target.fits(NetworkLaplace(50, found[0].epsilon * 1.01).cost(NAIVE, 300, 1))


@pytest.mark.slow
def test_mechanisms_a_network_does_not_allow_are_left_out_and_impossible_targets_refused() -> None:
    three = model_of((2, 3), ((), (0,)), 1.0, "tree", 0.05)
    kinds = {each.mechanism.kind for each in network_alternatives(three, 100, 1, Target(1.0, 1e-6), 5)}
    assert kinds == {"baps", "laplace", "gaussian"}
    with pytest.raises(InvalidMechanism):
        fitting_baps(three, 100, 1, Target(1e-9, 0.0), 1_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("people", "unit_rows", "temperature"),
    [(300, 1, 0.1), (4, 1, 0.5), *(deep(*each) for each in ((300, 1, 1.0), (400, 2, 0.02), (5_000, 1, 0.01)))],
)
def test_what_is_charged_lies_between_its_brackets(people: int, unit_rows: int, temperature: float) -> None:
    """So that a search that trusts them comes to the mechanism it would come to without."""
    model = model_of((2, 3), ((), (0,)), 1.0, "tree", 0.05)
    most, least = record_brackets(model, people, unit_rows, temperature)
    charged = record_cost(model, people, unit_rows, temperature).cost
    assert (np.array(charged.curve) <= np.array(most.curve) * (1 + 1e-9)).all()
    assert (np.array(least.curve) <= np.array(charged.curve) * (1 + 1e-6)).all()
    assert least.pure <= charged.pure * (1 + 1e-6) <= most.pure * (1 + 1e-5)
