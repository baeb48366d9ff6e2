"""What reaches an accuracy of a network's tables: noise on counts, each kind at its cheapest. Public numbers only.

The number is one for all tables: the root mean squared error of a conditional probability, weighted by how often its
configuration occurs, simulated from the prior (`accuracy.py`). Draws (`baps`, `map`) are not searched for by accuracy: their
cost takes seconds to compute, and noise on counts has cost less wherever plans compared them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from app.core.kinds.accuracy_goal import AccuracyQuestion, AccuracySearch, Coverage, Offer, Price
from app.core.kinds.networks.accuracy import expected_accuracy
from app.core.kinds.networks.comparison import FREE_SAMPLES
from app.core.kinds.networks.mechanisms import NetworkFourier, NetworkGaussian, NetworkLaplace, NetworkMechanism
from app.core.kinds.networks.model import NetworkModel
from app.core.kinds.protocols import ReleaseMechanism
from app.core.kinds.smallest_epsilon import MOST, smallest_simulated, two_digits_up
from app.core.noise.discrete_gaussian import DELTA_MAX, DELTA_MIN
from app.errors import InvalidMechanism, InvalidModel

MEANING = (
    "one number for all tables: the root mean squared error of a conditional probability, weighted by how often its "
    "configuration occurs; a half width is z times it, by the normal law"
)
METHOD = "simulated from the prior with a fixed seed; no data"
MEASURED = (
    "not simulated for a network, which takes minutes; measured beforehand at six yes/no nodes, 100 to 10,000 people and ε from "
    "0.3 to 5, where 90 % intervals held 88 to 91 % of truths (docs/privacy.md)"
)

Maker = Callable[[float], NetworkMechanism]


@dataclass(frozen=True, slots=True)
class NetworkSearch:
    asked: AccuracyQuestion
    meaning: str = MEANING

    @property
    def best_sd(self) -> float:
        """As simulated at an ε that leaves hardly any noise."""
        return min(self._rmse(make(2.0**MOST)) for make in self._makers())

    def people_for(self, sd: float) -> int | None:
        """Errors fall like 1/√n."""
        return two_digits_up(self.asked.people * (self.best_sd / sd) ** 2)

    def offers(self, sd: float, price: Price) -> list[Offer]:
        found = []
        for make in self._makers():
            epsilon = smallest_simulated(self._rmse_by(make), sd)
            if epsilon is not None:
                mechanism = make(epsilon)
                cost = mechanism.cost(self._model, self.asked.people, self.asked.unit_rows)
                found.append(Offer(mechanism, cost, self._rmse(mechanism)))
        return found

    def accuracy(self, offer: Offer) -> dict[str, Any]:
        mechanism = cast(NetworkMechanism, offer.mechanism)
        figures = expected_accuracy(self._model, mechanism, self.asked.people, self.asked.unit_rows)
        kl = figures.kl if math.isfinite(figures.kl) else None
        return {"total_sd": figures.rmse, "kl": kl, "measure": MEANING, "method": METHOD}

    def coverage(self, mechanism: ReleaseMechanism, level: float) -> Coverage:
        return Coverage.unknown(MEASURED)

    @property
    def _model(self) -> NetworkModel:
        return cast(NetworkModel, self.asked.model)

    def _rmse(self, mechanism: NetworkMechanism) -> float:
        return expected_accuracy(self._model, mechanism, self.asked.people, self.asked.unit_rows).rmse

    def _rmse_by(self, make: Maker) -> Callable[[float], float]:
        return lambda epsilon: self._rmse(make(epsilon))

    def _makers(self) -> list[Maker]:
        """Of the mechanisms that this network can have; `fourier` is for yes/no nodes."""
        free = min(FREE_SAMPLES, self.asked.samples_max) if self.asked.samples is None else self.asked.samples
        makers: list[Maker] = [
            lambda epsilon: NetworkLaplace(free, epsilon),
            lambda epsilon: NetworkFourier(free, epsilon, 0.0),
        ]
        if DELTA_MIN <= self.asked.delta <= DELTA_MAX:
            makers.append(lambda epsilon: NetworkGaussian(free, epsilon, self.asked.delta))
        return [make for make in makers if self._has(make)]

    def _has(self, make: Maker) -> bool:
        try:
            make(1.0).cost(self._model, self.asked.people, self.asked.unit_rows)
        except (InvalidMechanism, InvalidModel):
            return False
        return True


def accuracy_search(asked: AccuracyQuestion) -> AccuracySearch:
    return NetworkSearch(asked)
