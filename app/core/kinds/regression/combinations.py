"""What can be asked of a regression's samples: a coefficient, a linear combination, a prediction with its interval.

All are functions of (N, P) coefficients in the units of the columns, and their public ranges follow from ‖w‖₂ ≤ R: a combination
aᵀβ = a'offset + (Mᵀa)ᵀw lies within R·‖Mᵀa‖₂ of its middle, tighter than adding up the coefficients' own ranges.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.model import INTERCEPT, LinearModel
from app.core.language.tree import MAGNITUDE_MAX
from app.errors import InvalidQuery

Array = NDArray[np.float64]

WEIGHT_MAX = 1e12


@dataclass(frozen=True, slots=True)
class LinearCombination:
    """Σ_j weights_j·β_j: a coefficient, a contrast, or the mean of the target at given features."""

    weights: tuple[float, ...]
    lower: float
    upper: float

    def values(self, samples: Array) -> Array:
        """(N, P) samples to (N,) values inside the public range."""
        return np.asarray(np.clip(samples @ np.array(self.weights), self.lower, self.upper))


def coefficient(model: LinearModel, name: str) -> LinearCombination:
    return contrast(model, {name: 1.0}, "estimand.name")


def contrast(model: LinearModel, weights: Mapping[str, float], field: str = "estimand.weights") -> LinearCombination:
    """By names of coefficients; those not named weigh 0."""
    names = [parameter.name for parameter in model.parameters]
    for name, value in weights.items():
        if name not in names:
            raise InvalidQuery(field, "names of coefficients: " + ", ".join(names[:20]))
        if not abs(value) <= WEIGHT_MAX:
            raise InvalidQuery(field, f"numbers of size at most {WEIGHT_MAX:g}")
    a = np.array([float(weights.get(name, 0.0)) for name in names])
    if not a.any():
        raise InvalidQuery(field, "at least one weight other than 0")
    middle, reach = model.combination_range(a)
    return LinearCombination(tuple(a.tolist()), middle - reach, middle + reach)


def prediction(model: LinearModel, features: Mapping[str, Any]) -> LinearCombination:
    """The mean of the target at features given by column, one value for each; they need not lie within the bounds."""
    if set(features) != set(model.features):
        raise InvalidQuery("estimand.features", "exactly one value for each of " + ", ".join(model.features))
    weights = {INTERCEPT: 1.0} if model.intercept else {}
    for coordinate in model.coordinates:
        value = features[coordinate.column]
        if coordinate.kind == "level":
            weights[coordinate.name] = 1.0 if value == coordinate.level else 0.0
            continue
        # Compared before it becomes a double: whole numbers may have any length.
        known = isinstance(value, int | float) and abs(value) <= MAGNITUDE_MAX
        if not known or (isinstance(value, bool) and coordinate.kind != "binary"):
            raise InvalidQuery(f"estimand.features.{coordinate.column}", f"a number of size at most {MAGNITUDE_MAX:g}")
        weights[coordinate.name] = float(value)
    _check_levels(model, features)
    return contrast(model, weights, "estimand.features")


def _check_levels(model: LinearModel, features: Mapping[str, Any]) -> None:
    for name, levels in model.levels:
        if features[name] not in levels:
            raise InvalidQuery(f"estimand.features.{name}", "one of " + ", ".join(levels[:20]))


def predictive_interval(samples: Array, at: LinearCombination, noise_sd: float, level: float) -> tuple[float, float]:
    """The central interval of a *new* target at these features: the mixture over samples of N(value, σ²).

    Its distribution function F(y) = mean of Φ((y − value)/σ) is inverted by bisection.
    """
    if not 0 < level < 1:
        raise InvalidQuery("estimand.level", "a number between 0 and 1")
    from scipy.special import ndtr

    values = at.values(samples)
    ends = []
    for goal in ((1 - level) / 2, (1 + level) / 2):
        low, high = float(values.min()) - 40 * noise_sd, float(values.max()) + 40 * noise_sd
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if ndtr((middle - values) / noise_sd).mean() < goal else (low, middle)
        ends.append((low + high) / 2)
    return ends[0], ends[1]
