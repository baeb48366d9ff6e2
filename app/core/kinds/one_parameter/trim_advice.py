"""What the trim does to a planned release, in words: where samples cannot go, and what it would cost to let them."""

from dataclasses import replace

import numpy as np

from app.core.grids.bernoulli import TRIM_MIN
from app.core.kinds.one_parameter.calibrated_accuracy import beyond_range
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps, MapPoint, Mechanism
from app.core.kinds.one_parameter.predicted_cost import predicted_curve
from app.core.parameters import Parameter
from app.core.privacy import ORDERS, conversion_offset

NOTICEABLE = 0.01
NARROWER = (5, 50)


def trim_advice(model: Model, mechanism: Mechanism, people: int, unit_rows: int, delta: float) -> str | None:
    """None where the trim hardly shows, and for noise: it binds none of its calibrated answers and is no part of its cost."""
    if not isinstance(mechanism, Baps | MapPoint):
        return None
    beyond = beyond_range(model)
    if beyond < NOTICEABLE:
        return None
    share = f"The prior puts {100 * beyond:.2g} % beyond the public range"
    text = f"{share}: samples pile up at its ends there, calibrated answers do not"
    if not isinstance(mechanism, Baps) or model.trim is None:
        return text
    trims = [model.trim / factor for factor in NARROWER if model.trim / factor >= TRIM_MIN]
    costs = [f"ε ≈ {_predicted(model, mechanism, people, unit_rows, delta, trim):.3g} at {trim:g}" for trim in trims]
    return f"{text}. A smaller trim lets them, at a price: {', '.join(costs)}" if costs else text


def _predicted(model: Model, baps: Baps, people: int, unit_rows: int, delta: float, trim: float) -> float:
    wider = replace(model, trim=trim, parameter=Parameter(model.parameter.name, trim, 1 - trim))
    curve = baps.samples * predicted_curve(wider, people, unit_rows, baps.temperature)
    offsets = [conversion_offset(order, delta) if delta > 0 else np.inf for order in ORDERS]
    return float((curve + np.append(offsets, 0.0)).min())
