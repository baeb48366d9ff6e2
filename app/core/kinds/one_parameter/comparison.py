"""Which mechanism is more accurate at the same cost, and why: what `auto` chooses by. Public numbers only.

Compared is what calibrated answers will show, the expected sd of the calibrated posterior (`calibrated_accuracy.py`). Free
samples do not change it, and for drawn ones N and τ are one setting: at the same ε many cool samples tell more than a few warm
ones (`drawn_settings.py`). What is a single sample, a `map` point or one draw, comes last, also where one sample is asked for:
enumerated over what can be released, its calibrated posterior is wider than the best noise's at every ε and δ tried
(`tests/core/mechanisms/test_single_samples.py`). It is shown, and chosen only where nothing else fits.
"""

from contextlib import suppress
from dataclasses import dataclass

from app.core.kinds.mechanism_fields import Score
from app.core.kinds.one_parameter.accuracy import Accuracy, expected_accuracy
from app.core.kinds.one_parameter.calibration import (
    largest_noise_epsilon,
    largest_point_epsilon,
    largest_temperature,
    likely_point_epsilon,
)
from app.core.kinds.one_parameter.drawn_settings import best_drawn
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Mechanism
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.one_parameter.mechanisms.gaussian import Gaussian
from app.core.kinds.one_parameter.mechanisms.laplace import Laplace
from app.core.kinds.one_parameter.mechanisms.map_point import MapPoint
from app.core.privacy.release_cost import EPSILON_MAX, SAMPLES_MAX, ReleaseCost
from app.core.privacy.targets import Target
from app.errors import InvalidMechanism

FREE_SAMPLES = 1_000
"""Drawn by `laplace` if the caller does not say how many. They add 1/1000 to the variance, which no comparison counts."""

COOL = "Drawn samples (baps) are many and cool where their number is open: at the same cost they tell more than a few warm ones"


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
        return rated.accuracy.calibrated_sd

    def rated(self, mechanism: Mechanism) -> Alternative:
        cost = mechanism.cost(self.model, self.people, self.unit_rows)
        return Alternative(mechanism, cost, expected_accuracy(self.model, mechanism, self.people, self.unit_rows))

    def baps(self) -> Alternative:
        """With `samples` fixed, cooled until they fit; without, as many and as cool as tell most."""
        if self.samples is not None:
            return self.rated(Baps(self.samples, self._temperature(self.samples)))
        setting = self.model, self.people, self.unit_rows
        return self.rated(best_drawn(*setting, self.target, self.samples_max))

    def laplace(self) -> Alternative:
        epsilon = largest_noise_epsilon(self.model, self.people, self.unit_rows, self._free, self.target)
        return self.rated(Laplace(self._free, epsilon))

    def gaussian(self) -> Alternative:
        """Only where there is a δ, which its settings say."""
        return self.rated(Gaussian(self._free, min(self.target.epsilon, EPSILON_MAX), self.target.delta))

    def point(self) -> Alternative:
        """With the better score named, each at the ε that its own cost allows.

        What a choice by probability costs may take seconds: it is worked out where such a point is wanted, or likely better.
        """
        dense = self._point("log_density")
        if self.samples != 1:
            likely = MapPoint(likely_point_epsilon(self.target), "probability")
            expected = expected_accuracy(self.model, likely, self.people, self.unit_rows)
            if expected.total_sd >= dense.accuracy.total_sd:
                return dense
        return min(dense, self._point("probability"), key=lambda rated: rated.accuracy.total_sd)

    def _point(self, score: Score) -> Alternative:
        setting = self.model, self.people, self.unit_rows
        return self.rated(MapPoint(largest_point_epsilon(*setting, score, self.target), score))

    @property
    def _free(self) -> int:
        return min(FREE_SAMPLES, self.samples_max) if self.samples is None else self.samples

    def _temperature(self, samples: int) -> float:
        return largest_temperature(self.model, self.people, self.unit_rows, samples, self.target)


def alternatives(asked: Comparison) -> list[Alternative]:
    """Those that fit the target, most accurate first, single samples last. Raises InvalidMechanism if none fits."""
    found: list[Alternative] = []
    refusal: InvalidMechanism | None = None
    for fitting in (asked.baps, asked.laplace, asked.gaussian, asked.point):
        try:
            found.append(fitting())
        except InvalidMechanism as refused:
            refusal = refusal or refused
    if refusal is not None and not any(serves(asked, each) for each in found):
        raise refusal
    return ranked(asked, found)


def best(asked: Comparison) -> Alternative:
    """The first of `alternatives`. A point, the dearest to work out, comes last: only where nothing else may be chosen."""
    found: list[Alternative] = []
    for fitting in (asked.baps, asked.laplace, asked.gaussian):
        with suppress(InvalidMechanism):
            found.append(fitting())
    sets = [each for each in found if serves(asked, each) and not _is_single(each)]
    return ranked(asked, found)[0] if sets else alternatives(asked)[0]


def ranked(asked: Comparison, found: list[Alternative]) -> list[Alternative]:
    return sorted(found, key=lambda each: (_is_single(each), asked.error(each)))


def serves(asked: Comparison, rated: Alternative) -> bool:
    """Whether this may be chosen: it has the samples asked for."""
    return asked.samples is None or rated.mechanism.samples == asked.samples


def reason(asked: Comparison, best: Alternative, others: list[Alternative]) -> str:
    """Why the first of several is ahead."""
    kind, error = best.mechanism.kind, asked.error(best)
    sets = [each for each in others if not _is_single(each)]
    compared = sets or [each for each in others if asked.error(each) >= error]
    if not compared:
        return f"{kind}: no other mechanism gives a set of samples at this cost"
    ratio = asked.error(compared[0]) / error
    smaller = f"{ratio:.3g} times smaller" if ratio >= 1.005 else f"{100 * (ratio - 1):.2g} % smaller"
    return f"{kind}: expected error {smaller} than with {compared[0].mechanism.kind}; {_why(asked, best, compared[0])}"


def _why(asked: Comparison, best: Alternative, next_best: Alternative) -> str:
    match best.mechanism.kind:
        case "laplace" | "gaussian" if next_best.mechanism.kind in ("laplace", "gaussian"):
            return f"at this δ its noise is narrower; samples of either are free. {COOL if asked.samples is None else ''}".strip()
        case "laplace" | "gaussian":
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


def _is_single(rated: Alternative) -> bool:
    """One sample that was drawn from the rows' own table; noise measures a sum, however few samples are made of it."""
    return isinstance(rated.mechanism, Baps | MapPoint) and rated.mechanism.samples == 1
