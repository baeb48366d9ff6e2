"""`"range": [lo, hi]`: what utilities written as expressions lie between, so that (value − lo)/(hi − lo) is in [0, 1]."""

from app.core.decisions.expressions import Expression
from app.core.decisions.strict_fields import read_number
from app.errors import InvalidQuery

# 0.1 + 0.2 reaches a last digit above 0.3: an overshoot this small, relative to the range, is clipped instead.
OVERSHOOT_MAX = 1e-9


def read_range(value: object) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise InvalidQuery("utility.range", "two numbers, the lowest and the highest utility")
    lower, upper = (read_number("utility.range", bound) for bound in value)
    if not lower < upper:
        raise InvalidQuery("utility.range", "a first number below the second")
    return lower, upper


def check_inside(what: str, action: Expression, lower: float, upper: float) -> None:
    slack = OVERSHOOT_MAX * (upper - lower)
    if action.lower < lower - slack or action.upper > upper + slack:
        reach = f"[{action.lower:.6g}, {action.upper:.6g}]"
        raise InvalidQuery("utility.range", f"a range that contains {reach}, the public range of {what}")
