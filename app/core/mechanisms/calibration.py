"""Finding the largest release that fits a target (ε, δ), from public numbers only.

Costs grow with N, with τ and with the range of the parameter, so each search closes in on the boundary and returns a value
whose own computed cost fits: even if a cost were not monotone somewhere, what is returned satisfies the target.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from app.core.families import Model
from app.core.families.bernoulli import TRIM_MAX, TRIM_MIN
from app.core.families.parameters import Parameter
from app.core.mechanisms.baps import TEMPERATURE_MIN, Baps
from app.core.mechanisms.laplace import Laplace
from app.core.mechanisms.map_point import choice_cost
from app.core.mechanisms.mechanism import EPSILON_MAX, EPSILON_MIN, SAMPLES_MAX
from app.core.mechanisms.release_cost import ReleaseCost
from app.core.privacy import ORDERS, Cost, conversion_offset
from app.errors import InvalidMechanism

SHARE_MIN = 1e-3
POINT_WIDTH = 1e-6
WIDTH = 1e-3
NOISE_WIDTH = 1e-4
TURNS_MAX = 40
PREDICTION_STEPS = 40


@dataclass(frozen=True, slots=True)
class Target:
    epsilon: float
    delta: float

    def fits(self, cost: ReleaseCost) -> bool:
        return cost.total.epsilon(self.delta) <= self.epsilon


def largest_samples(cost: ReleaseCost, target: Target) -> int:
    """N for a release whose single sample is known to cost `cost`."""
    if not target.fits(replace(cost, samples=1)):
        one = replace(cost, samples=1).total.epsilon(target.delta)
        raise impossible("a single sample costs", one)
    low, high = 1, SAMPLES_MAX
    while low < high:
        middle = (low + high + 1) // 2
        if target.fits(replace(cost, samples=middle)):
            low = middle
        else:
            high = middle - 1
    return low


def largest_temperature(model: Model, people: int, unit_rows: int, samples: int, target: Target) -> float:
    """τ ∈ [10⁻⁶, 1] to three digits, 1 if that already fits."""

    def cost_at(log_temperature: float) -> ReleaseCost:
        return Baps(samples, math.exp(log_temperature)).cost(model, people, unit_rows)

    if target.fits(cost_at(0.0)):
        return 1.0
    lowest = math.log(TEMPERATURE_MIN)
    good = max(lowest, _Power(cost_at(0.0), 0.0).boundary(target, lowest, 0.0))  # costs fall at least like τ
    while not target.fits(cost_at(good)):
        if good == lowest:
            least = cost_at(lowest).total.epsilon(target.delta)
            raise impossible("even at the lowest temperature this many samples cost", least)
        good = max(lowest, 2 * good - 1)
    return math.exp(_boundary(cost_at, target, good, 0.0))


def smallest_trim(model: Model, people: int, unit_rows: int, baps: Baps, target: Target) -> Model:
    """The widest range of the parameter that fits, to a thousandth of its width.

    For a probability trimmed by ω the widest [ω, 1−ω]. For a range, the widest one inside the given range with the same
    middle in the coordinate φ the grid is even in: there every posterior has about the same width, so no part of the range
    is favoured. What lies outside the given range is the steward's to say, not ours to guess.
    """
    trims = _Ranges(model) if model.trim is None else _Omegas(model)

    def cost_at(log_width: float) -> ReleaseCost:
        return baps.cost(trims.at(log_width), people, unit_rows)

    good, bad, step = trims.narrowest, trims.given, 0.1
    while target.fits(cost_at(bad)):
        if bad >= trims.widest:
            return trims.at(bad)
        good, bad, step = bad, min(bad + step, trims.widest), 2 * step
    if good == trims.narrowest and not target.fits(cost_at(good)):
        least = cost_at(good).total.epsilon(target.delta)
        raise impossible("even with the narrowest range this release costs", least)
    return trims.at(_boundary(cost_at, target, good, bad))


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
        return replace(self._model, trim=trim, parameter=Parameter(name, trim, 1 - trim))


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
        return replace(self._model, parameter=Parameter(self._model.parameter.name, lower, upper))


def _log_width(trim: float) -> float:
    return math.log(math.pi / 2 - 2 * math.asin(math.sqrt(trim)))


def largest_noise_epsilon(model: Model, people: int, unit_rows: int, samples: int, target: Target) -> float:
    """The ε of a `laplace` release whose cost at δ is the target's: at least ε itself, more where δ buys some."""

    def allowed(log_epsilon: float) -> float:
        return min(max(math.exp(log_epsilon), EPSILON_MIN), EPSILON_MAX)

    def cost_at(log_epsilon: float) -> ReleaseCost:
        return Laplace(samples, allowed(log_epsilon)).cost(model, people, unit_rows)

    least, most = math.log(EPSILON_MIN), math.log(EPSILON_MAX)
    if not target.fits(cost_at(least)):
        raise impossible("even with the most noise this release costs", cost_at(least).total.epsilon(target.delta))
    if target.fits(cost_at(most)):
        return EPSILON_MAX
    low, high = math.log(max(EPSILON_MIN, target.epsilon / 2)), math.log(min(EPSILON_MAX, 4 * target.epsilon))
    return allowed(_boundary(cost_at, target, low, high, NOISE_WIDTH))


def largest_point_epsilon(target: Target) -> float:
    """The ε of a `map` release whose cost at δ is the target's: at least ε itself, more where δ buys some."""

    def fits(epsilon: float) -> bool:
        return choice_cost(epsilon).epsilon(target.delta) <= target.epsilon

    good, bad = EPSILON_MIN, EPSILON_MAX
    if not fits(good):
        raise impossible("even the blindest choice of a point costs", choice_cost(good).epsilon(target.delta))
    if fits(bad):
        return bad
    if good <= target.epsilon <= bad:
        good = target.epsilon
    while bad / good > 1 + POINT_WIDTH:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _boundary(
    cost_at: Callable[[float], ReleaseCost], target: Target, good: float, bad: float, width: float = WIDTH
) -> float:
    """The last argument found to fit, within `width` of one found not to.

    An evaluation may take a third of a second, and each order's cost is nearly a power of what is searched: so two known
    costs predict where the target is met, and the next evaluation is just before that place or, once there, just past it.
    """
    known = {good: cost_at(good), bad: cost_at(bad)}
    onwards = math.copysign(1.0, bad - good)
    place = (good + bad) / 2
    for turn in range(TURNS_MAX):
        if abs(bad - good) <= width:
            break
        first, second = sorted(known, key=lambda x: abs(x - place))[:2]
        place = _Power(known[first], first, known[second], second).boundary(target, good, bad)
        ahead = -0.4 if abs(place - good) > width / 2 else 0.4
        aim = place + ahead * width * onwards
        nearest = min(0.25, 0.3 * width / abs(bad - good))
        share = 0.5 if turn % 4 == 3 else min(max((aim - good) / (bad - good), nearest), 1 - nearest)
        aim = good + share * (bad - good)
        known[aim] = cost_at(aim)
        if target.fits(known[aim]):
            good = aim
        else:
            bad = aim
    return good


class _Power:
    """Costs as powers, order by order, through two known ones; through one, the first power."""

    def __init__(self, cost: ReleaseCost, at: float, other: ReleaseCost | None = None, other_at: float = 0.0) -> None:
        self._at, self._logs = at, _logs(cost.total)
        self._slopes = (
            np.ones_like(self._logs) if other is None else (_logs(other.total) - self._logs) / (other_at - at)
        )

    def boundary(self, target: Target, good: float, bad: float) -> float:
        """Where the predicted cost meets the target, between the two."""
        delta = target.delta
        offsets = np.array([*(conversion_offset(a, delta) if delta > 0 else math.inf for a in ORDERS), 0.0])
        for _ in range(PREDICTION_STEPS):
            middle = (good + bad) / 2
            with np.errstate(over="ignore"):
                epsilon = (np.exp(self._logs + self._slopes * (middle - self._at)) + offsets).min()
            good, bad = (middle, bad) if epsilon <= target.epsilon else (good, middle)
        return good


def _logs(cost: Cost) -> NDArray[np.float64]:
    return np.log(np.maximum([*cost.curve, cost.pure], np.finfo(float).tiny))


def impossible(what: str, epsilon: float) -> InvalidMechanism:
    return InvalidMechanism(
        "target.epsilon",
        f"at least {_rounded_up(epsilon)}: {what} that much here. More people, a narrower range of the parameter, a "
        "lower temperature, a stronger prior or fewer samples make it cheaper",
    )


def _rounded_up(epsilon: float) -> str:
    """Five digits, never below `epsilon`: what is asked for must be enough."""
    digits = 4 - math.floor(math.log10(epsilon)) if 0 < epsilon < math.inf else 4
    return f"{math.ceil(epsilon * 10.0**digits) / 10.0**digits:g}" if math.isfinite(epsilon) else str(epsilon)
