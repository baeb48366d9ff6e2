"""Which mechanism is more accurate at the same cost, and why: what `auto` chooses by. Public numbers only.

Compared is the root mean squared error of the mean answer (`accuracy.py`). Samples of `laplace` are free, so where their
number is left open its error without any sampling error counts, `limit_sd`: no default number of ours may decide. Where the
caller fixes the number, both draw that many and `total_sd` counts. A `map` point has no spread to ask about, so it is ranked
for callers who want one sample; others are shown it, last.
"""

from dataclasses import dataclass, replace

from app.core.kinds.mechanism_fields import SCORES
from app.core.kinds.one_parameter.accuracy import Accuracy, expected_accuracy
from app.core.kinds.one_parameter.calibration import largest_noise_epsilon, largest_point_epsilon, largest_temperature
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Mechanism
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.one_parameter.mechanisms.laplace import Laplace
from app.core.kinds.one_parameter.mechanisms.map_point import MapPoint
from app.core.privacy.release_cost import SAMPLES_MAX, ReleaseCost
from app.core.privacy.targets import Target, largest_samples
from app.errors import InvalidMechanism

FREE_SAMPLES = 1_000
"""Drawn by `laplace` if the caller does not say how many. They add 1/1000 to the variance, which no comparison counts."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A mechanism with its settings, its cost and the accuracy to expect of it."""

    mechanism: Mechanism
    cost: ReleaseCost
    accuracy: Accuracy


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared: mechanisms for a model within a target. `samples` None leaves their number open."""

    model: Model
    people: int
    unit_rows: int
    target: Target
    samples: int | None = None
    samples_max: int = SAMPLES_MAX

    def error(self, rated: Alternative) -> float:
        """The figure that ranks."""
        return rated.accuracy.limit_sd if self.samples is None else rated.accuracy.total_sd

    def rated(self, mechanism: Mechanism) -> Alternative:
        cost = mechanism.cost(self.model, self.people, self.unit_rows)
        return Alternative(mechanism, cost, expected_accuracy(self.model, mechanism, self.people, self.unit_rows))

    def baps(self) -> Alternative:
        """With `samples` fixed, cooled until they fit; without, as many as fit of the posterior itself.

        Cooler samples come cheaper by the dozen and their mean would err less still, but they would overstate the
        uncertainty, about which a sample set is asked too: so what is left open is their number.
        """
        if self.samples is not None:
            return self.rated(Baps(self.samples, self._temperature(self.samples)))
        cost = Baps(1).cost(self.model, self.people, self.unit_rows)
        if self.target.fits(replace(cost, samples=1)):
            return self.rated(Baps(min(largest_samples(cost, self.target), self.samples_max)))
        return self.rated(Baps(1, self._temperature(1)))

    def laplace(self) -> Alternative:
        """One row a person only, which its cost says."""
        drawn = min(FREE_SAMPLES, self.samples_max) if self.samples is None else self.samples
        epsilon = largest_noise_epsilon(self.model, self.people, self.unit_rows, drawn, self.target)
        return self.rated(Laplace(drawn, epsilon))

    def point(self) -> Alternative:
        """With the better score named, each at the ε that its own cost allows."""
        setting = self.model, self.people, self.unit_rows
        points = [MapPoint(largest_point_epsilon(*setting, score, self.target), score) for score in SCORES]
        return min(map(self.rated, points), key=lambda rated: rated.accuracy.total_sd)

    def _temperature(self, samples: int) -> float:
        return largest_temperature(self.model, self.people, self.unit_rows, samples, self.target)


def alternatives(asked: Comparison) -> list[Alternative]:
    """Those that fit the target, most accurate first, a point last unless one sample was asked for.

    Raises InvalidMechanism if none fits.
    """
    found: list[Alternative] = []
    refusal: InvalidMechanism | None = None
    for fitting in (asked.baps, asked.laplace, asked.point):
        try:
            found.append(fitting())
        except InvalidMechanism as refused:
            refusal = refusal or refused
    if refusal is not None and not any(serves(asked, each) for each in found):
        raise refusal
    return sorted(found, key=lambda each: (_is_point(each) and asked.samples != 1, asked.error(each)))


def serves(asked: Comparison, rated: Alternative) -> bool:
    """Whether this may be chosen: it has the samples asked for."""
    return asked.samples is None or rated.mechanism.samples == asked.samples


def reason(asked: Comparison, best: Alternative, others: list[Alternative]) -> str:
    """Why the first of several is ahead. A point that is not ranked is mentioned on its own, where it errs less."""
    ranked = [each for each in others if not _is_point(each) or asked.samples == 1]
    kind = best.mechanism.kind
    if not ranked:
        text = f"{kind}: no other mechanism gives a set of samples at this cost"
    else:
        ratio = asked.error(ranked[0]) / asked.error(best)
        smaller = f"{ratio:.3g} times smaller" if ratio >= 1.005 else f"{100 * (ratio - 1):.2g} % smaller"
        text = f"{kind}: expected error {smaller} than with {ranked[0].mechanism.kind}; {_why(asked, best, ranked[0])}"
    for each in others:
        if each not in ranked and asked.error(each) < asked.error(best):
            text += (
                f". A single point (map) would err {asked.error(best) / asked.error(each):.3g} times less, but it has "
            )
            text += "no spread to ask about: it is chosen where one sample is asked for"
    return text


def _why(asked: Comparison, best: Alternative, next_best: Alternative) -> str:
    match best.mechanism.kind:
        case "laplace":
            free = "" if asked.samples else "; its own samples are free, so their number is left out of the comparison"
            return f"noise on one sum costs less accuracy than {_drawing(next_best.mechanism)} does{free}"
        case "baps":
            return f"{_drawing(best.mechanism)} costs less accuracy than what {next_best.mechanism.kind} adds"
        case _:
            return f"a point chosen near the peak errs less than {_drawing(next_best.mechanism)} does"


def _drawing(mechanism: Mechanism) -> str:
    """What the error of samples comes from."""
    if isinstance(mechanism, MapPoint):
        return "choosing one point"
    cooled = (
        f" at temperature {mechanism.temperature:.3g}"
        if isinstance(mechanism, Baps) and mechanism.temperature < 1
        else ""
    )
    return f"drawing {mechanism.samples} sample{'s' if mechanism.samples > 1 else ''}{cooled}"


def _is_point(rated: Alternative) -> bool:
    return isinstance(rated.mechanism, MapPoint)
