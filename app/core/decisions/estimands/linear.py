"""Numbers that a linear regression's coefficients give: combinations of them, and what a new observation would be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.empirical import Empirical
from app.core.decisions.estimands.estimand import Context, Estimand, Observed, check_total_work
from app.core.decisions.estimands.network_estimand import renaming
from app.core.decisions.mixture import HALVINGS, Mixture
from app.core.decisions.sample_set import SampleSet
from app.core.decisions.strict_fields import read_fraction, read_number, refuse_unknown, require_object
from app.core.regression.estimands import LinearCombination, prediction
from app.core.regression.model import LinearModel
from app.errors import InvalidQuery

Array = NDArray[np.float64]
What = Literal["mean", "probability", "quantile", "observation"]

FIELDS: dict[What, str | None] = {"mean": None, "probability": "at_most", "quantile": "level", "observation": None}


@dataclass(frozen=True, slots=True)
class LinearEstimand:
    """g(θ) = Σ_j w_j·β_j. Its range is that of the ball the coefficients lie in, tighter than the sum of their own."""

    combination: LinearCombination
    nodes: ClassVar[int] = 0

    @property
    def lower(self) -> float:
        return self.combination.lower

    @property
    def upper(self) -> float:
        return self.combination.upper

    @property
    def work(self) -> int:
        return 2 * len(self.combination.weights)

    def check(self, samples: int) -> None:
        check_total_work("estimand", self.work, samples)

    def values(self, samples: SampleSet) -> Array:
        """Added one coefficient after the other, so that a sample's value is the same beside any others."""
        total = np.zeros(samples.size)
        for weight, column in zip(self.combination.weights, samples.columns, strict=True):
            total += weight * column
        return total.clip(self.lower, self.upper)

    def distribution(self, samples: SampleSet) -> Empirical:
        return Empirical(self.values(samples), self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class ObservationEstimand:
    """Of one new observation y ~ N(mean, σ²): P(y ≤ number) = Φ((number − mean)/σ), or its quantile mean + σ·Φ⁻¹(number)."""

    mean: LinearEstimand
    noise_sd: float
    what: What
    number: float
    nodes: ClassVar[int] = 0

    @property
    def lower(self) -> float:
        return min(self._ends)

    @property
    def upper(self) -> float:
        return max(self._ends)

    @property
    def work(self) -> int:
        return self.mean.work + 20

    def check(self, samples: int) -> None:
        check_total_work("estimand", self.work, samples)

    @property
    def _ends(self) -> list[float]:
        ends: list[float] = self._of(np.array([self.mean.lower, self.mean.upper])).tolist()
        return ends

    def _of(self, mean: Array) -> Array:
        from scipy.special import ndtr, ndtri  # two thirds of a second: not at start-up

        if self.what == "probability":
            return np.asarray(ndtr((self.number - mean) / self.noise_sd))
        return np.asarray(mean + self.noise_sd * ndtri(self.number))

    def distribution(self, samples: SampleSet) -> Empirical:
        values = self._of(self.mean.values(samples)).clip(self.lower, self.upper)
        return Empirical(values, self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class NewObservation(Observed):
    """y ~ N(mean, σ²) itself, held to the target's public bounds as the data were."""

    mean: LinearEstimand
    noise_sd: float
    lower: float
    upper: float

    @property
    def work(self) -> int:
        return self.mean.work + HALVINGS * 10

    def check(self, samples: int) -> None:
        check_total_work("estimand", self.work, samples)

    def law(self, samples: SampleSet) -> Mixture:
        return Mixture(self.mean.values(samples), self.noise_sd, self.lower, self.upper)


def parse_linear_prediction(spec: Mapping[str, Any], context: Context, model: LinearModel) -> Estimand | Observed:
    where = context.where
    what = _read_what(spec, where)
    own = FIELDS[what]
    refuse_unknown(where, spec, {"kind", "what", "features"} | ({own} if own is not None else set()))
    mean = LinearEstimand(_read_prediction(spec.get("features"), where, model))
    if what == "mean":
        return mean
    if model.noise_sd is None:
        raise InvalidQuery(f"{where}.what", "mean: this release's model does not state noise_sd")
    if what == "observation":
        centre, half_width = model.target.centre, model.target.half_width
        return NewObservation(mean, model.noise_sd, centre - half_width, centre + half_width)
    if what == "probability":
        number = read_number(f"{where}.at_most", spec.get("at_most"))
    else:
        number = float(read_fraction(f"{where}.level", spec.get("level")))
    found = ObservationEstimand(mean, model.noise_sd, what, number)
    if not found.lower < found.upper:
        raise InvalidQuery(f"{where}.at_most", "a value that a new observation may be on either side of")
    return found


def _read_what(spec: Mapping[str, Any], where: str) -> What:
    for known in FIELDS:
        if spec.get("what", "mean") == known:
            return known
    raise InvalidQuery(f"{where}.what", "one of " + ", ".join(FIELDS))


def _read_prediction(features: object, where: str, model: LinearModel) -> LinearCombination:
    """One value for every feature; whole numbers of any length are refused before they are made into doubles."""
    given = require_object(f"{where}.features", features)
    for coordinate in model.coordinates:
        value = given.get(coordinate.column)
        if coordinate.kind != "level" and isinstance(value, int | float) and not isinstance(value, bool):
            read_number(f"{where}.features.{coordinate.column}", value)
    with renaming({"estimand.features": f"{where}.features"}):
        return prediction(model, given)
