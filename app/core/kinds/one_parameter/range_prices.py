"""What another public range would cost draws, and how much of the prior it leaves beyond: cost against trim. No data."""

from dataclasses import replace

import numpy as np

from app.core.kinds.one_parameter.beliefs.untrimmed import untrimmed
from app.core.kinds.one_parameter.calibrated_accuracy import beyond_range
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps, Mechanism
from app.core.kinds.one_parameter.predicted_cost import predicted_curve
from app.core.parameters import Parameter
from app.core.privacy import ORDERS, conversion_offset

TRIMS_SHOWN = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
SHARES_SHOWN = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Of the range there is, around its middle in the coordinate that the grid is even in."""
EPSILON_SHOWN_MAX = 100.0
"""Beyond it nobody is protected, and estimates are rough."""


def range_prices(
    model: Model, mechanism: Mechanism, people: int, unit_rows: int, delta: float
) -> list[dict[str, float]]:
    """Widest last, as far as ε is worth showing; none but for `baps`: noise costs the same whatever the range, and a point is
    given its ε."""
    if not isinstance(mechanism, Baps):
        return []
    ranges = [(trim, 1 - trim) for trim in TRIMS_SHOWN] if model.trim is not None else _ranges(model)
    prices = [
        {
            "lower": lower,
            "upper": upper,
            "epsilon": predicted_epsilon(_within(model, lower, upper), mechanism, people, unit_rows, delta),
            "beyond": beyond_range(model, lower, upper),
        }
        for lower, upper in ranges
    ]
    return [each for each in prices if each["epsilon"] <= EPSILON_SHOWN_MAX]


def predicted_epsilon(model: Model, baps: Baps, people: int, unit_rows: int, delta: float) -> float:
    """About what so many draws cost: an estimate of the curve that is charged, usually within a per cent."""
    curve = baps.samples * predicted_curve(model, people, unit_rows, baps.temperature)
    offsets = [conversion_offset(order, delta) if delta > 0 else np.inf for order in ORDERS]
    return max(0.0, float((curve + np.append(offsets, 0.0)).min()))


def with_trim(model: Model, trim: float) -> Model:
    return _within(model, trim, 1 - trim)


def _within(model: Model, lower: float, upper: float) -> Model:
    trim = None if model.trim is None else lower
    return replace(model, trim=trim, parameter=Parameter(model.parameter.name, lower, upper))


def _ranges(model: Model) -> list[tuple[float, float]]:
    """Inside what the prior, and for a location the column, has."""
    spacing, whole = model.spacing, untrimmed(model)
    first, last = (spacing.forward(end) for end in (model.parameter.lower, model.parameter.upper))
    least, most = whole.lower, whole.upper
    if model.family == "normal_mean":
        least, most = model.statistic.lower, model.statistic.upper
    low, high = (spacing.forward(end) for end in (least, most))
    found = []
    for share in SHARES_SHOWN:
        reach = share * (last - first) / 2
        ends = np.array([max((first + last) / 2 - reach, low), min((first + last) / 2 + reach, high)])
        found.append(tuple(spacing.inverse(ends).tolist()))
    return [*dict.fromkeys(found)]
