"""Which mechanism on a network is expected to err least at the same (ε, δ): what `auto` chooses by. Public numbers only.

Every mechanism is given the settings that use the target up, then all are simulated from the prior alike. `baps` has two
settings, N and τ: N draws at temperature τ cost about N·τ², and their mean varies like 1/(N·τ), so many cool draws beat few
hot ones until the prior outweighs the cooled data. Where N is open, a few numbers are tried.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from app.core.kinds.networks.accuracy import NetworkAccuracy, expected_accuracy
from app.core.kinds.networks.cost import range_units
from app.core.kinds.networks.mechanisms import (
    NetworkBaps,
    NetworkFourier,
    NetworkGaussian,
    NetworkLaplace,
    NetworkMap,
    NetworkMechanism,
)
from app.core.kinds.networks.mechanisms.baps import draw_brackets, draw_cost
from app.core.kinds.networks.model import NetworkModel
from app.core.noise.discrete_gaussian import DELTA_MAX, DELTA_MIN
from app.core.privacy import ORDERS, conversion_offset
from app.core.privacy.cost import Cost
from app.core.privacy.release_cost import EPSILON_MAX, EPSILON_MIN, ReleaseCost
from app.core.privacy.targets import Target, impossible, largest_samples
from app.errors import InvalidMechanism, InvalidModel

FREE_SAMPLES = 1_000
TRIED_SAMPLES = (1, 100)
STEP = 1.15
"""Temperatures tried are powers of this: the best one is found to within so much."""
_LOWEST = -math.floor(math.log(1e6) / math.log(STEP))
_NOISE_WIDTH = 1e-3
_HOTTER = (1, 2, 4, 8, 16, 32)
_FIRST, _GUESSES = -14, 4
_TRIES = 3


@dataclass(frozen=True, slots=True)
class NetworkAlternative:
    """Of a mechanism that fits; what it costs is worked out when asked for, since most are only compared."""

    mechanism: NetworkMechanism
    accuracy: NetworkAccuracy
    model: NetworkModel
    people: int
    unit_rows: int

    @property
    def cost(self) -> ReleaseCost:
        return self.mechanism.cost(self.model, self.people, self.unit_rows)


def rated(model: NetworkModel, mechanism: NetworkMechanism, people: int, unit_rows: int) -> NetworkAlternative:
    accuracy = expected_accuracy(model, mechanism, people, unit_rows)
    return NetworkAlternative(mechanism, accuracy, model, people, unit_rows)


def network_alternatives(
    model: NetworkModel, people: int, unit_rows: int, target: Target, samples: int | None = None
) -> list[NetworkAlternative]:
    """Those that fit the target, least expected KL first; of a private condition noise on counts alone, whose cost does not ask
    how many rows there are. Raises InvalidMechanism if none does."""
    found: dict[NetworkMechanism, None] = {}
    refusal: InvalidMechanism | InvalidModel | None = None
    for fit in _fits(model, people, unit_rows, target, samples):
        try:
            found[fit()] = None
        except (InvalidMechanism, InvalidModel) as refused:
            refusal = refusal or refused
    if not found and refusal is not None:
        raise refusal
    fitting = (rated(model, each, people, unit_rows) for each in found)
    return sorted(fitting, key=lambda alternative: alternative.accuracy.kl)


def _fits(
    model: NetworkModel, people: int, unit_rows: int, target: Target, samples: int | None
) -> Iterator[Callable[[], NetworkMechanism]]:
    free, whole = FREE_SAMPLES if samples is None else samples, model.within is None
    draws = whole and not model.pooled  # of some rows, and of pooled tables, there are none: noise alone is compared
    if draws:
        for count in TRIED_SAMPLES if samples is None else (samples,):
            yield partial(fitting_baps, model, people, unit_rows, target, count)
        if samples is None:
            yield partial(_most_samples, model, people, unit_rows, target)
    makers: list[Callable[[float], NetworkMechanism]] = [lambda epsilon: NetworkLaplace(free, epsilon)]
    if whole:
        makers.append(lambda epsilon: NetworkFourier(free, epsilon, 0.0))
    for make in makers:
        yield partial(largest_noise, make, model, people, unit_rows, target)
    if DELTA_MIN <= target.delta <= DELTA_MAX:
        yield partial(_fitting_gaussian, model, people, unit_rows, target, free)
    if draws and samples in (None, 1):
        yield partial(_hottest_map, model, people, unit_rows, target)
        yield partial(
            largest_noise, lambda epsilon: NetworkMap(epsilon, "probability"), model, people, unit_rows, target
        )


def fitting_baps(model: NetworkModel, people: int, unit_rows: int, target: Target, samples: int) -> NetworkBaps:
    """The hottest temperature, a power of `STEP`, at which `samples` draws fit.

    The cost falls about like τ², which says where to look first; each step from there is checked by its own cost, or by
    brackets of it where these already tell.
    """

    def fits(power: int) -> bool:
        return _draws_fit(model, people, unit_rows, target, samples, STEP**power)

    place = _FIRST
    for _ in range(_GUESSES):
        known = draw_brackets(model, people, unit_rows, STEP**place)[0].times(samples)
        guess = _guess(known, target, place)
        if guess == place:
            break
        place = guess
    while place > _LOWEST and not fits(place):
        place = max(_LOWEST, place - 1)
    if not fits(place):
        least = draw_cost(model, people, unit_rows, STEP**place).times(samples).epsilon(target.delta)
        raise impossible("even at the lowest temperature this many samples cost", least)
    while place < 0 and fits(place + 1):
        place += 1
    return NetworkBaps(samples, STEP**place)


def _draws_fit(
    model: NetworkModel, people: int, unit_rows: int, target: Target, samples: int, temperature: float
) -> bool:
    most, least = (cost.times(samples) for cost in draw_brackets(model, people, unit_rows, temperature))
    if target.fits_total(most) or not target.fits_total(least):
        return target.fits_total(most)
    return target.fits_total(draw_cost(model, people, unit_rows, temperature).times(samples))


def _guess(known: Cost, target: Target, place: int) -> int:
    """The power of STEP at which the curve at that place, scaled by τ², or the pure cost, scaled by τ, meets the target."""
    curve = np.array(known.curve)
    offsets = np.array([conversion_offset(order, target.delta) if target.delta > 0 else math.inf for order in ORDERS])
    for power in range(0, _LOWEST, -1):
        scale = STEP ** (power - place)
        if min(float((curve * scale**2 + offsets).min()), known.pure * scale) <= target.epsilon:
            return power
    return _LOWEST


def _most_samples(model: NetworkModel, people: int, unit_rows: int, target: Target) -> NetworkBaps:
    """As many at τ = 1 as fit; where not even one does, one that is cooler, which is tried anyway."""
    one = fitting_baps(model, people, unit_rows, target, 1)
    if one.temperature < 1:
        return one
    return NetworkBaps(largest_samples(one.cost(model, people, unit_rows), target))


def largest_noise(
    make: Callable[[float], NetworkMechanism], model: NetworkModel, people: int, unit_rows: int, target: Target
) -> NetworkMechanism:
    """The largest ε whose cost at δ fits: at least the target's own, more where δ buys some."""

    def fits(epsilon: float) -> bool:
        made = make(epsilon)
        cost = made.cost_at_most if isinstance(made, NetworkMap) else made.cost
        return target.fits(cost(model, people, unit_rows))

    low = min(max(target.epsilon * (1 - 1e-9), EPSILON_MIN), EPSILON_MAX)
    if not fits(low):
        raise impossible("even with the most noise this release costs", low)
    high = low
    while high < EPSILON_MAX and fits(high):
        low, high = high, min(2 * high, EPSILON_MAX)
    while high / low > 1 + _NOISE_WIDTH:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return make(low)


def _fitting_gaussian(
    model: NetworkModel, people: int, unit_rows: int, target: Target, samples: int
) -> NetworkMechanism:
    """At the target's own (ε, δ), or as little below as its units ask for."""
    found = NetworkGaussian(samples, min(max(target.epsilon, EPSILON_MIN), EPSILON_MAX), target.delta)
    if target.fits(found.cost(model, people, unit_rows)):
        return found
    return largest_noise(
        lambda epsilon: NetworkGaussian(samples, epsilon, target.delta), model, people, unit_rows, target
    )


def _hottest_map(model: NetworkModel, people: int, unit_rows: int, target: Target) -> NetworkMechanism:
    """The highest power on the likelihood, of those tried, at which one draw fits, which is `map` by its log-density.

    Up to the full likelihood it is that of `baps` with one sample; beyond, powers of `STEP` further and further apart.
    """
    reach = unit_rows * range_units(model) * math.log((1 - model.trim) / model.trim)

    def fits(point: NetworkMap) -> bool:
        return _draws_fit(model, people, unit_rows, target, 1, point.temperature(model, unit_rows))

    best = _point_as_hot(model, unit_rows, reach, fitting_baps(model, people, unit_rows, target, 1).temperature)
    if not fits(best):
        raise impossible("this release costs", best.cost(model, people, unit_rows).total.epsilon(target.delta))
    if best.temperature(model, unit_rows) > 1 / STEP:
        for power in _HOTTER:
            hotter = _point_as_hot(model, unit_rows, reach, STEP**power)
            if not fits(hotter):
                break
            best = hotter
    return best


def _point_as_hot(model: NetworkModel, unit_rows: int, reach: float, temperature: float) -> NetworkMap:
    """To the last bit where a few tries find it: what was worked out for `baps` then serves."""
    point = NetworkMap(min(max(temperature * reach, EPSILON_MIN), EPSILON_MAX), "log_density")
    for _ in range(_TRIES):
        epsilon = point.epsilon * temperature / point.temperature(model, unit_rows)
        if not EPSILON_MIN < epsilon < EPSILON_MAX:
            break
        point = NetworkMap(epsilon, "log_density")
    return point
