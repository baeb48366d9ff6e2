"""Laws of losses on a grid, composed: above every pair they stand for, whatever comes with them, and hardly more."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from app.core.privacy.losses.composed import ComposedLaw
from app.core.privacy.losses.grid_laws import LossGrid
from app.errors import NumericalFailure
from tests.deep import deep


def law_of(log_p: np.ndarray, log_q: np.ndarray, step: float) -> ComposedLaw:
    losses = np.atleast_2d(log_p - log_q)
    grid = LossGrid.reaching(float(np.abs(losses).max()), step)
    return ComposedLaw(grid, grid.above(grid.profile(grid.beyond(losses, np.exp(np.atleast_2d(log_p)))).max(axis=0)))


def coin_delta(truth: float, draws: int, epsilon: float) -> float:
    """δ of `draws` answers that are true with this probability: heads are binomial, in 60 digits."""
    with mpmath.workdps(60):
        p, lie = mpmath.mpf(truth), 1 - mpmath.mpf(truth)
        total = mpmath.mpf(0)
        for heads in range(draws + 1):
            gone = p**heads * lie ** (draws - heads) - mpmath.exp(epsilon) * lie**heads * p ** (draws - heads)
            if gone > 0:
                total += mpmath.binomial(draws, heads) * gone
        return float(total)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-15, 1e-40])
@pytest.mark.parametrize(("truth", "draws"), [(0.6, 1), (0.6, 10), (0.51, 400), deep(0.501, 3_000), deep(0.9, 100)])
def test_answers_of_a_coin_are_bounded_to_a_step_of_their_grid(truth: float, draws: int, delta: float) -> None:
    """The loss has two values, and the grid neither: 61 points a loss."""
    log_p = np.log([truth, 1 - truth])
    loss = float(log_p[0] - log_p[1])
    found = law_of(log_p, log_p[::-1], loss / 61.3).epsilon(draws, delta)
    assert coin_delta(truth, draws, found) <= delta
    if found > 0:
        assert coin_delta(truth, draws, min(found, draws * loss) * (1 - 1e-3) - 1.05 * loss / 61) >= delta


def test_one_law_is_above_all_pairs_it_was_made_of_at_every_ratio() -> None:
    """E(1 − xY)⁺ by definition, in fractions of the doubles they start from, at ratios on and off the grid."""
    rng = np.random.default_rng(11)
    tables = np.log(rng.dirichlet(np.full(7, 0.7), size=(40, 2)) * (1 - 2**-20) + 2**-20 / 7)
    losses = tables[:, 0] - tables[:, 1]
    grid = LossGrid.reaching(float(np.abs(losses).max()), 0.21)
    above = grid.above(grid.profile(grid.beyond(losses, np.exp(tables[:, 0]))).max(axis=0))
    mass = np.append(max(1.0, above[0]), above[:-1]) - above
    places = (grid.first + np.arange(grid.count)) * grid.step
    assert (mass >= 0).all()
    for ratio in np.exp(rng.uniform(places[0] - 1, places[-1] + 1, 400)):
        made = sum(Fraction(m) for m, x in zip(mass * np.maximum(1 - ratio * np.exp(-places), 0), places, strict=True))
        exact = (np.exp(tables[:, 0]) * np.maximum(1 - ratio * np.exp(-losses), 0)).sum(axis=1).max()
        assert exact <= float(made) * (1 + 1e-13) + 1e-15


@pytest.mark.parametrize("draws", [1, 5, 60])
def test_a_law_above_two_pairs_bounds_draws_of_either_and_one_pair_is_hardly_lifted(draws: int) -> None:
    """One wide in its middle, one with a rare large loss; each alone comes out below both together."""
    wide = np.log([0.3, 0.4, 0.3]), np.log([0.25, 0.4, 0.35])
    rare = np.log([0.899, 0.1, 0.001]), np.log([0.8999, 0.1, 0.0001])
    losses = np.array([p - q for p, q in (wide, rare)])
    grid = LossGrid.reaching(float(np.abs(losses).max()), 0.01)
    profile = grid.profile(grid.beyond(losses, np.exp([wide[0], rare[0]])))
    both = ComposedLaw(grid, grid.above(profile.max(axis=0))).epsilon(draws, 1e-6)
    alone = [ComposedLaw(grid, grid.above(each)).epsilon(draws, 1e-6) for each in profile]
    assert max(alone) <= both * (1 + 1e-8)
    if draws == 1:
        assert both == pytest.approx(max(alone), rel=1e-3)


def test_transforms_lose_nothing_that_is_not_added() -> None:
    """Beside a convolution of whole numbers by multiplication of long integers, at δ where a plain transform is noise."""
    rng = np.random.default_rng(3)
    mass = rng.integers(1, 1000, 25)
    total, step = int(mass.sum()), 2.0**-5
    grid = LossGrid(step, -12, 26)
    beyond = np.append(np.cumsum(mass[::-1])[::-1][1:], [0, 0]) / total
    draws, delta = 30, 1e-22
    found = ComposedLaw(grid, beyond).epsilon(draws, delta)
    sums = [1]
    for _ in range(draws):
        sums = [int(x) for x in np.convolve(np.array(sums, dtype=object), mass.astype(object))]
    with mpmath.workdps(60):

        def exact(epsilon: float) -> float:
            beyond_it = (
                mpmath.mpf(value) * (1 - mpmath.exp(epsilon - place * step))
                for place, value in enumerate(sums, start=-12 * draws)
                if place * step > epsilon
            )
            return float(mpmath.fsum(beyond_it) / mpmath.mpf(total) ** draws)

        assert exact(found) <= delta <= exact(found * (1 - 1e-4))


def test_too_many_points_fall_back_to_the_curve_of_the_law() -> None:
    log_p = np.log([0.6, 0.4])
    law = law_of(log_p, log_p[::-1], 1e-3)
    assert law.epsilon(10**6, 1e-6) == law.by_moments(10**6, 1e-6)[0]
    assert law.epsilon(100, 1e-6) < law.by_moments(100, 1e-6)[0]


def test_a_loss_beyond_the_grid_refuses_the_release() -> None:
    grid = LossGrid.reaching(1.0, 0.1)
    with pytest.raises(NumericalFailure):
        grid.beyond(np.array([[1.5, -0.2]]), np.array([[0.5, 0.5]]))
    with pytest.raises(NumericalFailure):
        grid.beyond(np.array([[math.nan, -0.2]]), np.array([[0.5, 0.5]]))


@pytest.mark.parametrize("furthest", [1e-9, 0.3, 30.0])
def test_steps_are_short_doubles_no_longer_than_asked(furthest: float) -> None:
    for part in (3.0, 17.7, 900.1):
        grid = LossGrid.reaching(furthest, furthest / part)
        assert furthest / part * (1 - 1 / 256) <= grid.step <= furthest / part
        assert all(Fraction(j * grid.step) == j * Fraction(grid.step) for j in (grid.first, -1, 7, -grid.first))
        assert -grid.first * grid.step > furthest + grid.step
