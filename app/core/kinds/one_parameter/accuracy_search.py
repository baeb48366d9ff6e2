"""What reaches an expected sd of the calibrated posterior, each mechanism at its cheapest. Public numbers only.

The sd of every mechanism is a formula in its setting (`calibrated_accuracy.py`): noise is made as wide, and draws as few, as it
allows, and what that costs is computed once. N and τ of `baps` are one setting: for every temperature the N that reaches the sd is
known, costs are predicted, and the highest temperature within a per cent of the cheapest is taken, as in `drawn_settings.py`.
A `map` point is not offered: it promises no interval that `auto` would rely on.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
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
from app.core.kinds.smallest_epsilon import smallest_epsilon
from app.core.noise.discrete_gaussian import DELTA_MAX, DELTA_MIN
from app.core.privacy.cost import Cost

MEANING = "the expected sd of the parameter's calibrated posterior; a half width is z times it, both averages over the prior"
PEOPLE_MAX = 10**9
_TEMPERATURES = TEMPERATURES[::2]


@dataclass(frozen=True, slots=True)
class OneParameterSearch:
    asked: AccuracyQuestion
    meaning: str = MEANING

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
        return high

    def offers(self, sd: float, price: Price) -> list[Offer]:
        found = []
        for mechanism in self._reaching(sd, price):
            cost = mechanism.cost(self._model, self.asked.people, self.asked.unit_rows)
            found.append(Offer(mechanism, cost, self._sd(mechanism)))
        return found

    def accuracy(self, offer: Offer) -> dict[str, Any]:
        mechanism = cast(Mechanism, offer.mechanism)
        figures = expected_accuracy(self._model, mechanism, self.asked.people, self.asked.unit_rows)
        return accuracy_json(Alternative(mechanism, offer.cost, figures))

    def coverage(self, mechanism: ReleaseMechanism, level: float) -> Coverage:
        return simulated_coverage(self._model, cast(Mechanism, mechanism), self.asked.people, self.asked.unit_rows, level)

    @property
    def _model(self) -> Model:
        return cast(Model, self.asked.model)

    def _sd(self, mechanism: Mechanism) -> float:
        setting = self.asked.people, self.asked.unit_rows
        if isinstance(mechanism, Baps):
            return drawn_calibrated_sd(self._model, mechanism, *setting)
        return noise_calibrated_sd(self._model, cast(Laplace | Gaussian, mechanism), *setting)

    def _reaching(self, sd: float, price: Price) -> Iterator[Mechanism]:
        free = min(FREE_SAMPLES, self.asked.samples_max) if self.asked.samples is None else self.asked.samples
        makers: list[Callable[[float], Mechanism]] = [lambda epsilon: Laplace(free, epsilon)]
        if DELTA_MIN <= self.asked.delta <= DELTA_MAX:
            makers.append(lambda epsilon: Gaussian(free, epsilon, self.asked.delta))
        for make in makers:
            found = self._most_noise(make, sd)
            if found is not None:
                yield found
        drawn = self._fewest_drawn(sd, price) if self.asked.samples is None else self._coolest(self.asked.samples, sd)
        if drawn is not None:
            yield drawn

    def _most_noise(self, make: Callable[[float], Mechanism], sd: float) -> Mechanism | None:
        epsilon = smallest_epsilon(lambda epsilon: self._sd(make(epsilon)) <= sd)
        return None if epsilon is None else make(epsilon)

    def _fewest_drawn(self, sd: float, price: Price) -> Baps | None:
        rated = []
        for temperature in _TEMPERATURES:
            baps = self._fewest_at(temperature, sd)
            if baps is not None:
                one = _predicted(self._model, self.asked.people, self.asked.unit_rows, temperature)
                rated.append((baps, price(one.times(baps.samples))))
        least = min((each for _, each in rated), default=math.inf)
        return next((baps for baps, each in rated if each <= least * NEAR_BEST), None)

    def _fewest_at(self, temperature: float, sd: float) -> Baps | None:
        low, high = 0, self.asked.samples_max
        if self._sd(Baps(high, temperature)) > sd:
            return None
        while high - low > max(1, low // 1_000):
            middle = (low + high) // 2
            low, high = (middle, high) if self._sd(Baps(middle, temperature)) > sd else (low, middle)
        return Baps(high, temperature)

    def _coolest(self, samples: int, sd: float) -> Baps | None:
        """To a per cent of τ."""
        low, high = TEMPERATURE_MIN, 1.0
        if self._sd(Baps(samples, high)) > sd:
            return None
        while high / low > NEAR_BEST:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self._sd(Baps(samples, middle)) > sd else (low, middle)
        return Baps(samples, high)


@lru_cache(maxsize=256)
def _predicted(model: Model, people: int, unit_rows: int, temperature: float) -> Cost:
    *curve, pure = predicted_curve(model, people, unit_rows, temperature).tolist()
    return Cost(pure, tuple(curve))


def accuracy_search(asked: AccuracyQuestion) -> AccuracySearch:
    return OneParameterSearch(asked)
