"""Cost and expected accuracy over N and over ε, as series to plot. Public numbers only."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.one_parameter.accuracy import expected_accuracy
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps, Gaussian, Laplace, MapPoint, Mechanism
from app.core.kinds.one_parameter.range_prices import range_prices
from app.core.privacy import ORDERS, conversion_offset
from app.core.privacy.release_cost import SAMPLES_MAX, ReleaseCost

Array = NDArray[np.float64]
Points = list[dict[str, Any]]

SAMPLES_SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
EPSILONS_SHOWN = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)


def plan_curves(
    model: Model,
    mechanism: Mechanism,
    cost: ReleaseCost,
    people: int,
    unit_rows: int,
    delta: float,
    samples_max: int = SAMPLES_MAX,
) -> dict[str, Points]:
    """`by_samples`: ε and error for each N. `by_epsilon`: for each ε the largest N that fits, if any does, and its error.
    `by_range`: what draws would cost with another trim.

    Where samples are free, N stays and the noise follows ε; a point is chosen by whichever score is better at each ε, which is
    the most it costs.
    """
    fitting: list[tuple[float, Mechanism]]
    if isinstance(mechanism, Baps):
        lines = _Lines(cost, delta)
        chosen = [(epsilon, min(lines.samples_within(epsilon), samples_max)) for epsilon in EPSILONS_SHOWN]
        fitting = [(epsilon, mechanism.with_samples(samples)) for epsilon, samples in chosen if samples >= 1]
    else:
        fitting = [(epsilon, _with_epsilon(mechanism, epsilon)) for epsilon in EPSILONS_SHOWN]
    by_epsilon = [
        {
            "epsilon": epsilon,
            "samples": each.samples,
            "total_sd": expected_accuracy(model, each, people, unit_rows).total_sd,
        }
        for epsilon, each in fitting
    ]
    return {
        "by_samples": _by_samples(model, mechanism, cost, people, delta, samples_max),
        "by_epsilon": by_epsilon,
        "by_range": range_prices(model, mechanism, people, unit_rows, delta),
    }


def _by_samples(
    model: Model, mechanism: Mechanism, cost: ReleaseCost, people: int, delta: float, samples_max: int
) -> Points:
    if isinstance(mechanism, MapPoint):
        return []
    lines = _Lines(cost, delta)
    return [
        {
            "samples": samples,
            "epsilon": min(lines.epsilon(samples), cost.prefix(samples).alone(delta)),
            "total_sd": expected_accuracy(model, mechanism.with_samples(samples), people).total_sd,
        }
        for samples in SAMPLES_SHOWN
        if samples <= samples_max
    ]


def _with_epsilon(mechanism: Mechanism, epsilon: float) -> Mechanism:
    """A point with the score that is better at that ε."""
    if isinstance(mechanism, MapPoint):
        return MapPoint(epsilon, "auto")
    return replace(mechanism, epsilon=epsilon) if isinstance(mechanism, Laplace | Gaussian) else mechanism


class _Lines:
    """ε(N) is the lowest of straight lines, one an order and one for the pure cost: start + N·slope."""

    def __init__(self, cost: ReleaseCost, delta: float) -> None:
        offsets = np.array([conversion_offset(order, delta) if delta > 0 else np.inf for order in ORDERS])
        self._starts = np.append(np.array(cost.once.curve) + offsets, cost.once.pure)
        self._slopes = np.append(np.array(cost.per_sample.curve), cost.per_sample.pure)

    def epsilon(self, samples: int) -> float:
        return max(0.0, float((self._starts + samples * self._slopes).min()))

    def samples_within(self, epsilon: float) -> int:
        """The largest N with ε(N) ≤ ε, 0 if none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(self._slopes > 0, (epsilon - self._starts) / self._slopes, np.inf)
        most = np.where(self._starts <= epsilon, most, 0.0)
        return int(min(np.floor(most.max() * (1 + 1e-12)), SAMPLES_MAX))
