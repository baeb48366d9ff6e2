"""Which mechanism is more accurate at the same cost, and why: what `auto` chooses by. Public numbers only."""

from dataclasses import dataclass, replace

from app.core.families import Model
from app.core.mechanisms.accuracy import Accuracy, expected_accuracy
from app.core.mechanisms.baps import Baps
from app.core.mechanisms.calibration import Target, largest_noise_epsilon, largest_samples, largest_temperature
from app.core.mechanisms.laplace import Laplace
from app.core.mechanisms.mechanism import Mechanism
from app.core.mechanisms.release_cost import ReleaseCost
from app.errors import InvalidMechanism

FREE_SAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Alternative:
    """A mechanism with its settings, its cost and the accuracy to expect of it."""

    mechanism: Mechanism
    cost: ReleaseCost
    accuracy: Accuracy


def alternatives(
    model: Model, people: int, unit_rows: int, target: Target, samples: int | None, temperature: float | None = None
) -> list[Alternative]:
    """Those that fit the target, most accurate first. Raises InvalidMechanism if none does.

    With `samples` fixed, `baps` is cooled until they fit; without, it draws as many as fit at `temperature` (1).
    """
    found: list[Mechanism] = []
    refusal: InvalidMechanism | None = None
    for fitting in (_fitting_baps, _fitting_laplace):
        try:
            found.append(fitting(model, people, unit_rows, target, samples, temperature))
        except InvalidMechanism as refused:
            refusal = refusal or refused
    if not found and refusal is not None:
        raise refusal
    rated = [
        Alternative(each, each.cost(model, people, unit_rows), expected_accuracy(model, each, people)) for each in found
    ]
    return sorted(rated, key=lambda alternative: alternative.accuracy.total_sd)


def reason(best: Alternative, others: list[Alternative]) -> str:
    """One sentence on why the first of several is ahead."""
    if not others:
        return "the only mechanism here that fits this target"
    ratio = others[0].accuracy.total_sd / best.accuracy.total_sd
    if best.mechanism.kind == "laplace":
        why = "noise on one sum costs less accuracy than drawing few samples, or cooler ones, does"
    else:
        why = "posterior samples need no added noise, and enough of them fit this target"
    return f"{best.mechanism.kind}: error {ratio:.2f} times smaller than {others[0].mechanism.kind}; {why}"


def _fitting_baps(
    model: Model, people: int, unit_rows: int, target: Target, samples: int | None, temperature: float | None
) -> Baps:
    if samples is not None:
        if temperature is not None:
            fixed = Baps(samples, temperature)
            if target.fits(fixed.cost(model, people, unit_rows)):
                return fixed
        return Baps(samples, largest_temperature(model, people, unit_rows, samples, target))
    one = Baps(1, 1.0 if temperature is None else temperature)
    cost = one.cost(model, people, unit_rows)
    if target.fits(replace(cost, samples=1)):
        return one.with_samples(largest_samples(cost, target))
    return Baps(1, largest_temperature(model, people, unit_rows, 1, target))


def _fitting_laplace(
    model: Model, people: int, unit_rows: int, target: Target, samples: int | None, temperature: float | None
) -> Laplace:
    """One row a person only, which its cost says."""
    drawn = FREE_SAMPLES if samples is None else samples
    return Laplace(drawn, largest_noise_epsilon(model, people, unit_rows, drawn, target))
