"""What reaches an expected sd of the calibrated posterior, each mechanism at its cheapest. Public numbers only.

The sd of every mechanism is a formula in its setting (`calibrated_accuracy.py`): noise is made as wide, and draws as few, as
it allows, and what that costs is computed once. N and τ of `baps` are one setting: for every temperature the N that reaches the
sd is known, costs are predicted, and the highest temperature within a per cent of the cheapest is taken (`drawn_settings.py`).
A `map` point is not offered: it promises no interval that `auto` would rely on.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from app.core.kinds.accuracy_goal import AccuracyQuestion, AccuracySearch, Coverage, Offer, Price
from app.core.kinds.mechanism_fields import TEMPERATURE_MIN
from app.core.kinds.one_parameter.accuracy import expected_accuracy
from app.core.kinds.one_parameter.calibrated_accuracy import (
    drawn_calibrated_sd,
    noise_calibrated_sd,
    noiseless_calibrated_sd,
)
from app.core.kinds.one_parameter.comparison import FREE_SAMPLES, Alternative
from app.core.kinds.one_parameter.drawn_settings import NEAR_BEST, TEMPERATURES
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps, Gaussian, Laplace, Mechanism
from app.core.kinds.one_parameter.plan_figures import accuracy_json
from app.core.kinds.one_parameter.predicted_cost import predicted_curve
from app.core.kinds.one_parameter.simulated_intervals import simulated_coverage
from app.core.kinds.protocols import ReleaseMechanism
from app.core.kinds.smallest_epsilon import rounded_up, smallest_epsilon, two_digits_up
from app.core.noise.discrete_gaussian import DELTA_MAX, DELTA_MIN, release_rho
from app.core.privacy.cost import Cost
from app.core.privacy.gaussian import gaussian_epsilon
from app.core.privacy.release_cost import EPSILON_MAX, EPSILON_MIN

MEANING = "of the parameter's calibrated posterior: its sd, or half the width of its central interval, averaged over the prior"

DRAWS_TAKE_LONG = (
    "draws are simulated in plans by accuracy only, where it takes seconds; measured beforehand (docs/privacy.md, what may be "
    "believed)"
)
PEOPLE_MAX = 10**9
NOISE_WIDTH = 1e-4
_TEMPERATURES = TEMPERATURES[::2]
_ROUNDINGS = 20


@dataclass(frozen=True, slots=True)
class OneParameterSearch:
    """`quick`: where nobody asked for an accuracy, only what takes a fifth of a second is simulated."""

    asked: AccuracyQuestion
    meaning: str = MEANING
    quick: bool = False

    @property
    def best_sd(self) -> float:
        return noiseless_calibrated_sd(self._model, self.asked.people)

    def people_for(self, sd: float) -> int | None:
        """The fewest, by halving; None where no number this service takes does."""
        low, high = self.asked.people, PEOPLE_MAX // self.asked.unit_rows
        if noiseless_calibrated_sd(self._model, high) > sd:
            return None
        while high - low > max(1, low // 1_000):
            middle = (low + high) // 2
            low, high = (middle, high) if noiseless_calibrated_sd(self._model, middle) > sd else (low, middle)
        return two_digits_up(high)

    def offers(self, sd: float, price: Price) -> list[Offer]:
        noisy, drawn = _settings(self.asked, sd)
        least = min((price(cost.times(baps.samples)) for baps, cost in drawn), default=math.inf)
        near = (baps for baps, cost in drawn if price(cost.times(baps.samples)) <= least * NEAR_BEST)
        return [self._offer(mechanism) for mechanism in (*noisy, *islice(near, 1))]

    def accuracy(self, offer: Offer) -> dict[str, Any]:
        mechanism = cast(Mechanism, offer.mechanism)
        figures = expected_accuracy(self._model, mechanism, self.asked.people, self.asked.unit_rows)
        return accuracy_json(Alternative(mechanism, offer.cost, figures))

    def coverage(self, mechanism: ReleaseMechanism, level: float) -> Coverage:
        if self.quick and isinstance(mechanism, Baps):
            return Coverage.unknown(DRAWS_TAKE_LONG)
        return simulated_coverage(
            self._model, cast(Mechanism, mechanism), self.asked.people, self.asked.unit_rows, level
        )

    @property
    def _model(self) -> Model:
        return cast(Model, self.asked.model)

    def _offer(self, mechanism: Mechanism) -> Offer:
        cost = mechanism.cost(self._model, self.asked.people, self.asked.unit_rows)
        return Offer(mechanism, cost, _sd(self.asked, mechanism))


def _sd(asked: AccuracyQuestion, mechanism: Mechanism) -> float:
    model = cast(Model, asked.model)
    if isinstance(mechanism, Baps):
        return drawn_calibrated_sd(model, mechanism, asked.people, asked.unit_rows)
    return noise_calibrated_sd(model, cast(Laplace | Gaussian, mechanism), asked.people, asked.unit_rows)


@lru_cache(maxsize=1_024)
def _settings(asked: AccuracyQuestion, sd: float) -> tuple[list[Mechanism], list[tuple[Baps, Cost]]]:
    """(noise, draws with the predicted cost of one, warmest first): all that reaches `sd`, whatever counts as its price."""
    free = min(FREE_SAMPLES, asked.samples_max) if asked.samples is None else asked.samples
    noisy: list[Mechanism] = []
    epsilon = smallest_epsilon(lambda epsilon: _sd(asked, Laplace(free, epsilon)) <= sd)
    if epsilon is not None:
        noisy.append(Laplace(free, epsilon))
    if DELTA_MIN <= asked.delta <= DELTA_MAX:
        gaussian = _most_gaussian(asked, free, sd)
        noisy += [] if gaussian is None else [gaussian]
    if not asked.drawn:
        return noisy, []
    found = _fewest_drawn(asked, sd) if asked.samples is None else _coolest(asked, asked.samples, sd)
    model = cast(Model, asked.model)
    drawn = [(baps, _predicted(model, asked.people, asked.unit_rows, baps.temperature)) for baps in found]
    return noisy, drawn


def _most_gaussian(asked: AccuracyQuestion, samples: int, sd: float) -> Gaussian | None:
    """From the variance that may be added: ε is computed once, where halving on it would calibrate noise twenty times."""
    model, one = cast(Model, asked.model), Gaussian(samples, 1.0, asked.delta)
    narrow, wide = 1e-12, 1e12
    if noise_calibrated_sd(model, one, asked.people, asked.unit_rows, narrow) > sd:
        return None
    while wide / narrow > 1 + NOISE_WIDTH:
        middle = math.sqrt(narrow * wide)
        reaches = noise_calibrated_sd(model, one, asked.people, asked.unit_rows, middle) <= sd
        narrow, wide = (middle, wide) if reaches else (narrow, middle)
    rho = release_rho(1.0, asked.delta) / narrow
    epsilon = min(max(gaussian_epsilon(rho, asked.delta), EPSILON_MIN), EPSILON_MAX)
    for _ in range(_ROUNDINGS):
        found = Gaussian(samples, rounded_up(epsilon), asked.delta)
        if _sd(asked, found) <= sd:
            return found
        epsilon = min(epsilon * (1 + NOISE_WIDTH), EPSILON_MAX)
    return None


def _fewest_drawn(asked: AccuracyQuestion, sd: float) -> list[Baps]:
    return [baps for temperature in _TEMPERATURES if (baps := _fewest_at(asked, temperature, sd)) is not None]


def _fewest_at(asked: AccuracyQuestion, temperature: float, sd: float) -> Baps | None:
    low, high = 0, asked.samples_max
    if _sd(asked, Baps(high, temperature)) > sd:
        return None
    while high - low > max(1, low // 1_000):
        middle = (low + high) // 2
        low, high = (middle, high) if _sd(asked, Baps(middle, temperature)) > sd else (low, middle)
    return Baps(high, temperature)


def _coolest(asked: AccuracyQuestion, samples: int, sd: float) -> list[Baps]:
    """To a per cent of τ."""
    low, high = TEMPERATURE_MIN, 1.0
    if _sd(asked, Baps(samples, high)) > sd:
        return []
    while high / low > NEAR_BEST:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _sd(asked, Baps(samples, middle)) > sd else (low, middle)
    return [Baps(samples, high)]


@lru_cache(maxsize=256)
def _predicted(model: Model, people: int, unit_rows: int, temperature: float) -> Cost:
    *curve, pure = predicted_curve(model, people, unit_rows, temperature).tolist()
    return Cost(pure, tuple(curve))


def accuracy_search(asked: AccuracyQuestion) -> AccuracySearch:
    return OneParameterSearch(asked)
