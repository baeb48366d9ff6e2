"""Which mechanism on moments is expected to err least at the same (ε, δ): what `auto` chooses by. Public numbers only."""

from dataclasses import dataclass

from app.core.kinds.mechanism_fields import TEMPERATURE_MIN
from app.core.kinds.protocols import refuse_wide_budget
from app.core.kinds.regression.accuracy import expected_error
from app.core.kinds.regression.mechanisms import (
    PerturbedStatistics,
    RegressionBaps,
    RegressionMechanism,
    RegressionModel,
)
from app.core.privacy.release_cost import ReleaseCost
from app.core.privacy.targets import Target, impossible
from app.errors import InvalidMechanism, InvalidModel

FREE_SAMPLES = 1_000
STEP = 1.05
"""Temperatures tried are powers of this."""


@dataclass(frozen=True, slots=True)
class RatedRegression:
    mechanism: RegressionMechanism
    cost: ReleaseCost
    error: float | None

    @property
    def rank(self) -> float:
        """Noise on the moments first where nothing can be simulated."""
        return (0.0 if isinstance(self.mechanism, PerturbedStatistics) else 1.0) if self.error is None else self.error


def rate(mechanism: RegressionMechanism, model: RegressionModel, people: int, unit_rows: int) -> RatedRegression:
    return RatedRegression(
        mechanism, mechanism.cost(model, people, unit_rows), expected_error(model, mechanism, people, unit_rows)
    )


def fitting(
    model: RegressionModel, people: int, unit_rows: int, target: Target, samples: int | None
) -> list[RatedRegression]:
    """Those that fit the target, most accurate first. Raises InvalidMechanism if none does."""
    found: list[RatedRegression] = []
    refusal: InvalidMechanism | InvalidModel | None = None
    for fit in (_noisy, _drawn):
        try:
            found.append(rate(fit(model, people, unit_rows, target, samples), model, people, unit_rows))
        except (InvalidMechanism, InvalidModel) as refused:
            refusal = refusal or refused
    if not found and refusal is not None:
        raise refusal
    return sorted(found, key=lambda each: each.rank)


def _noisy(
    model: RegressionModel, people: int, unit_rows: int, target: Target, samples: int | None
) -> PerturbedStatistics:
    fitted = PerturbedStatistics(FREE_SAMPLES if samples is None else samples, target.epsilon, target.delta)
    cost = fitted.cost(model, people, unit_rows)
    if not target.fits(cost):
        raise impossible("even with the most noise this release costs", cost.total.epsilon(target.delta))
    return fitted


def _drawn(model: RegressionModel, people: int, unit_rows: int, target: Target, samples: int | None) -> RegressionBaps:
    """Raises InvalidMechanism also where a release from a budget of the target would be refused."""
    refuse_wide_budget(RegressionBaps(1), target.epsilon)
    return cooled(model, people, unit_rows, 1 if samples is None else samples, target)


def cooled(model: RegressionModel, people: int, unit_rows: int, samples: int, target: Target) -> RegressionBaps:
    """The hottest temperature, a power of `STEP`, at which they fit, by halving: less heat costs less."""
    temperatures = [1.0]
    while temperatures[-1] / STEP >= TEMPERATURE_MIN:
        temperatures.append(temperatures[-1] / STEP)

    def fits(temperature: float) -> bool:
        return target.fits(RegressionBaps(samples, temperature).cost(model, people, unit_rows))

    if fits(1.0):
        return RegressionBaps(samples)
    low, high = 0, len(temperatures) - 1  # too hot, cool enough
    if not fits(temperatures[high]):
        cost = RegressionBaps(samples, temperatures[high]).cost(model, people, unit_rows)
        raise impossible("even at the lowest temperature these samples cost", cost.total.epsilon(target.delta))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(temperatures[middle]) else (middle, high)
    return RegressionBaps(samples, temperatures[high])
