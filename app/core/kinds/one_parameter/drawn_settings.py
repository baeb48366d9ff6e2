"""How many samples of `baps`, and how cool: at a fixed cost, what tells most about the parameter.

N draws at temperature τ measure the sum with information N·ψ″_τ at the true sum and are charged for N·ψ″_τ at the *worst* one.
The two come together as τ falls, so at the same cost many cool samples tell more than a few warm ones, and in the limit as
much as Gaussian noise on the sum. Beyond that more samples only take room: of all temperatures that do within a per cent of
the best the highest is taken.
"""

from collections.abc import Iterator

import numpy as np

from app.core.kinds.mechanism_fields import TEMPERATURE_MIN
from app.core.kinds.one_parameter.calibrated_accuracy import drawn_calibrated_sd
from app.core.kinds.one_parameter.calibration import largest_temperature
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.one_parameter.predicted_cost import predicted_curve
from app.core.privacy import ORDERS, conversion_offset
from app.core.privacy.targets import Target, largest_samples

TEMPERATURES = tuple(max(10 ** (-k / 4), TEMPERATURE_MIN) for k in range(25))
NEAR_BEST = 1.01


def best_drawn(model: Model, people: int, unit_rows: int, target: Target, samples_max: int) -> Baps:
    """Raises InvalidMechanism where not even one sample at the lowest temperature fits."""
    rated = list(_rated(model, people, unit_rows, target, samples_max))
    best = min((sd for _, sd in rated), default=0.0)
    for temperature, sd in rated:
        if sd <= best * NEAR_BEST:
            one = Baps(1, temperature).cost(model, people, unit_rows)
            if target.fits(one):
                return Baps(min(largest_samples(one, target), samples_max), temperature)
    return Baps(1, largest_temperature(model, people, unit_rows, 1, target))


def _rated(
    model: Model, people: int, unit_rows: int, target: Target, samples_max: int
) -> Iterator[tuple[float, float]]:
    """(τ, expected sd with as many samples as fit) by predicted costs, where any fits."""
    offsets = np.array([conversion_offset(order, target.delta) if target.delta > 0 else np.inf for order in ORDERS])
    room = np.maximum(target.epsilon - np.append(offsets, 0.0), 0.0)
    for temperature in TEMPERATURES:
        with np.errstate(divide="ignore", invalid="ignore"):  # a predicted cost of nothing: as many as are allowed
            fit = np.nanmax(room / predicted_curve(model, people, unit_rows, temperature))
        samples = int(min(float(fit), samples_max))
        if samples >= 1:
            yield temperature, drawn_calibrated_sd(model, Baps(samples, temperature), people, unit_rows)
