"""Finding the largest release that fits a target (ε, δ), from public numbers only.

Costs grow with N, with τ and with the range of the parameter, so each search closes in on the boundary (`boundary_search.py`)
and returns a value whose own computed cost fits: even if a cost were not monotone somewhere, what is returned satisfies
the target. That cost is cached: a plan asks for it again and pays nothing.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.core.grids.bernoulli import TRIM_MAX, TRIM_MIN
from app.core.kinds.mechanism_fields import TEMPERATURE_MIN, Score
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.map_cost import choice_cost
from app.core.kinds.one_parameter.mechanisms.baps import Baps
from app.core.kinds.one_parameter.mechanisms.laplace import Laplace
from app.core.kinds.one_parameter.mechanisms.map_point import MapPoint, likelihood_power
from app.core.kinds.one_parameter.predicted_cost import predicted_curve
from app.core.parameters import Parameter
from app.core.privacy import Cost
from app.core.privacy.release_cost import EPSILON_MAX, EPSILON_MIN
from app.core.privacy.targets import Target, impossible

SHARE_MIN = 1e-3
NOISE_WIDTH = 1e-4


def largest_temperature(model: Model, people: int, unit_rows: int, samples: int, target: Target) -> float:
    """τ ∈ [10⁻⁶, 1] to three digits, 1 if that already fits."""

    def baps_at(log_temperature: float) -> Baps:
        return Baps(samples, min(max(math.exp(log_temperature), TEMPERATURE_MIN), 1.0))

    def predicted_at(log_temperature: float) -> NDArray[np.float64]:
        return samples * predicted_curve(model, people, unit_rows, baps_at(log_temperature).temperature)

    def cost_at(log_temperature: float) -> Cost:
        return baps_at(log_temperature).cost(model, people, unit_rows).total

    lowest = math.log(TEMPERATURE_MIN)
    found = target.search(cost_at, predicted_at, (lowest, 0.0), 0.0)
    if found is None:
        least = cost_at(lowest).epsilon(target.delta)
        raise impossible("even at the lowest temperature this many samples cost", least)
    return baps_at(found).temperature


def smallest_trim(model: Model, people: int, unit_rows: int, baps: Baps, target: Target) -> Model:
    """The widest range of the parameter that fits, to a thousandth of its width.

    For a probability trimmed by ω the widest [ω, 1−ω]. For a range, the widest one inside the given range with the same
    middle in the coordinate φ the grid is even in: there every posterior has about the same width, so no part of the range
    is favoured. What lies outside the given range is the steward's to say, not ours to guess.
    """
    trims = _Ranges(model) if model.trim is None else _Omegas(model)

    def predicted_at(log_width: float) -> NDArray[np.float64]:
        return baps.samples * predicted_curve(trims.at(log_width), people, unit_rows, baps.temperature)

    def cost_at(log_width: float) -> Cost:
        return baps.cost(trims.at(log_width), people, unit_rows).total

    found = target.search(cost_at, predicted_at, (trims.narrowest, trims.widest), trims.given)
    if found is None:
        least = cost_at(trims.narrowest).epsilon(target.delta)
        raise impossible("even with the narrowest range this release costs", least)
    return trims.at(found)


class _Omegas:
    """Models of one family by the logarithm of the width π/2 − 2·arcsin √ω, of which costs are nearly powers."""

    def __init__(self, model: Model) -> None:
        self._model, self.given = model, _log_width(model.trim or TRIM_MIN)
        self.narrowest, self.widest = _log_width(TRIM_MAX), _log_width(TRIM_MIN)

    def at(self, log_width: float) -> Model:
        if log_width == self.given:
            return self._model
        trim = math.sin(math.pi / 4 - math.exp(log_width) / 2) ** 2
        trim = min(max(trim, TRIM_MIN), TRIM_MAX)
        name = self._model.parameter.name
        return replace(self._model, trim=trim, parameter=Parameter(name, trim, 1 - trim), range_open=False)


class _Ranges:
    """Models of one family by the logarithm of the share they keep of the given range, in φ."""

    def __init__(self, model: Model) -> None:
        ends = model.parameter.lower, model.parameter.upper
        self._model, self.given, self.widest = model, 0.0, 0.0
        self._first, self._last = (model.spacing.forward(end) for end in ends)
        self.narrowest = math.log(SHARE_MIN)

    def at(self, log_share: float) -> Model:
        if log_share == 0:
            return self._model
        cut = (self._last - self._first) * -math.expm1(log_share) / 2
        lower, upper = self._model.spacing.inverse(np.array([self._first + cut, self._last - cut])).tolist()
        return replace(self._model, parameter=Parameter(self._model.parameter.name, lower, upper), range_open=False)


def _log_width(trim: float) -> float:
    return math.log(math.pi / 2 - 2 * math.asin(math.sqrt(trim)))


def largest_noise_epsilon(model: Model, people: int, unit_rows: int, samples: int, target: Target) -> float:
    """The ε of a `laplace` release whose cost at δ is the target's: at least ε itself, more where δ buys some."""

    def cost_at(epsilon: float) -> Cost:
        return Laplace(samples, epsilon).cost(model, people, unit_rows).total

    return _largest_epsilon(cost_at, target, "even with the most noise this release costs", NOISE_WIDTH)


def largest_point_epsilon(model: Model, people: int, unit_rows: int, score: Score, target: Target) -> float:
    """The ε of a `map` release whose cost at δ is the target's: at least ε itself, more where δ or its own curve buys some."""
    dearest = "even the blindest choice of a point costs"

    def cost_of(epsilon: float) -> Cost:
        return MapPoint(epsilon, score).cost(model, people, unit_rows).total

    def cost_at(log_epsilon: float) -> Cost:
        return cost_of(_point_epsilon(log_epsilon))

    def predicted_at(log_epsilon: float) -> NDArray[np.float64]:
        epsilon = _point_epsilon(log_epsilon)
        if score == "probability":
            return _choice_predicted(epsilon)
        return predicted_curve(model, people, unit_rows, likelihood_power(model, epsilon, people, unit_rows))

    ends = math.log(EPSILON_MIN), math.log(EPSILON_MAX)
    start = min(max(math.log(max(target.epsilon, EPSILON_MIN)), ends[0]), ends[1])
    found = target.search(cost_at, predicted_at, ends, start)
    if found is None:
        raise impossible(dearest, cost_at(ends[0]).epsilon(target.delta))
    return _point_epsilon(found)


def likely_point_epsilon(target: Target) -> float:
    """About the ε of a `map` release by probability at this target, from what such a choice mostly costs."""
    return _largest_epsilon(lambda epsilon: choice_cost(epsilon / 2), target, "a choice of a point costs", NOISE_WIDTH)


def _choice_predicted(epsilon: float) -> NDArray[np.float64]:
    """Half the range is what a choice by probability mostly costs; a true cost says how far off (`boundary_search.py`)."""
    half = choice_cost(epsilon / 2)
    return np.array([*half.curve, half.pure])


def _point_epsilon(log_epsilon: float) -> float:
    return min(max(math.exp(log_epsilon), EPSILON_MIN), EPSILON_MAX)


def _largest_epsilon(cost_at: Callable[[float], Cost], target: Target, dearest: str, width: float) -> float:
    """By halving: these costs are formulas. A pure ε costs at most ε, and at δ hardly less than a quarter of it."""

    def fits(epsilon: float) -> bool:
        return cost_at(epsilon).epsilon(target.delta) <= target.epsilon

    good, bad = EPSILON_MIN, EPSILON_MAX
    if not fits(good):
        raise impossible(dearest, cost_at(good).epsilon(target.delta))
    if fits(bad):
        return bad
    for inner in (target.epsilon / 2, target.epsilon, 4 * target.epsilon):
        if good < inner < bad:
            good, bad = (inner, bad) if fits(inner) else (good, inner)
    while bad / good > 1 + width:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
