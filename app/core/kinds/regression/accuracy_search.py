"""What reaches an accuracy of a regression's coefficients or a normal law's means: noise on moments. Public numbers only.

The number is one for all parameters: the root mean squared error of their means, each as a share of its public range, simulated
from the prior (`accuracy.py`). Draws in a ball (`baps`) are not searched for by accuracy: they need a budget that sets δ aside.
"""

import math
from dataclasses import dataclass
from typing import Any, cast

from app.core.kinds.accuracy_goal import AccuracyQuestion, AccuracySearch, Coverage, Offer, Price
from app.core.kinds.protocols import ReleaseMechanism
from app.core.kinds.regression.accuracy import expected_error
from app.core.kinds.regression.comparison import FREE_SAMPLES
from app.core.kinds.regression.mechanisms import PerturbedStatistics, RegressionModel
from app.core.kinds.smallest_epsilon import MOST, smallest_simulated, two_digits_up
from app.core.noise.discrete_gaussian import DELTA_MAX, DELTA_MIN
from app.errors import InvalidInput

MEANING = (
    "one number for all parameters: the root mean squared error of their means, each as a share of its public range (1 is the "
    "whole range); a half width is z times it, by the normal law"
)
METHOD = "simulated from the prior with a fixed seed, features spread over their public ranges; no data"
MEASURED = (
    "not simulated for a regression, which takes minutes; measured beforehand at 100 to 10,000 people and ε from 0.3 to 5, where "
    "90 % intervals held 88 to 92 % of truths (docs/privacy.md)"
)


@dataclass(frozen=True, slots=True)
class RegressionSearch:
    asked: AccuracyQuestion
    meaning: str = MEANING

    @property
    def best_sd(self) -> float:
        return self._error(2.0**MOST)

    def people_for(self, sd: float) -> int | None:
        """Errors fall like 1/√n."""
        return two_digits_up(self.asked.people * (self.best_sd / sd) ** 2)

    def offers(self, sd: float, price: Price) -> list[Offer]:
        epsilon = smallest_simulated(self._error, sd)
        if epsilon is None:
            return []
        mechanism = self._made(epsilon)
        cost = mechanism.cost(self._model, self.asked.people, self.asked.unit_rows)
        return [Offer(mechanism, cost, self._error(epsilon))]

    def accuracy(self, offer: Offer) -> dict[str, Any]:
        return {"total_sd": offer.sd, "measure": MEANING, "method": METHOD}

    def coverage(self, mechanism: ReleaseMechanism, level: float) -> Coverage:
        return Coverage.unknown(MEASURED)

    @property
    def _model(self) -> RegressionModel:
        return cast(RegressionModel, self.asked.model)

    def _made(self, epsilon: float) -> PerturbedStatistics:
        free = min(FREE_SAMPLES, self.asked.samples_max) if self.asked.samples is None else self.asked.samples
        return PerturbedStatistics(free, epsilon, self.asked.delta)

    def _error(self, epsilon: float) -> float:
        found = expected_error(self._model, self._made(epsilon), self.asked.people, self.asked.unit_rows)
        return math.inf if found is None else found


def accuracy_search(asked: AccuracyQuestion) -> AccuracySearch:
    """Raises InvalidInput where no error can be foretold."""
    search = RegressionSearch(asked)
    if not DELTA_MIN <= asked.delta <= DELTA_MAX:
        raise InvalidInput("delta", f"a number from {DELTA_MIN:g} to {DELTA_MAX:g}: this model gets Gaussian noise")
    if math.isinf(search.best_sd):
        raise InvalidInput(
            "target", f"an (ε, δ): how accurate a `{asked.model.family}` will be cannot be simulated beforehand"
        )
    return search
