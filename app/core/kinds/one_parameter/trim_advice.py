"""What the trim does to a planned release, in words: where samples cannot go, and what it would cost to let them."""

from app.core.grids.bernoulli import TRIM_MIN
from app.core.kinds.one_parameter.calibrated_accuracy import beyond_range
from app.core.kinds.one_parameter.families import Model
from app.core.kinds.one_parameter.mechanisms import Baps, MapPoint, Mechanism
from app.core.kinds.one_parameter.range_prices import predicted_epsilon, with_trim

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
    prices = [predicted_epsilon(with_trim(model, trim), mechanism, people, unit_rows, delta) for trim in trims]
    costs = [f"ε ≈ {price:.3g} at {trim:g}" for price, trim in zip(prices, trims, strict=True)]
    return f"{text}. A smaller trim lets them, at a price: {', '.join(costs)}" if costs else text
