"""The smallest ε of noise that reaches an accuracy, by halving on a logarithmic scale. Public numbers only."""

import math
from collections.abc import Callable

from app.core.privacy.release_cost import EPSILON_MAX, EPSILON_MIN

DIGITS = 4
"""Of an ε that is found, rounded up: what people copy."""
_WIDTH = 1e-4
LEAST, MOST = -7, 10
"""Simulated errors are looked at for powers of two between these: ε from 0.008 to 1,024."""
STEPS = 16
"""Between two powers, so that whoever asks for many accuracies simulates few ε: one found is at most 4.4 % too large."""


def smallest_epsilon(reaches: Callable[[float], bool]) -> float | None:
    """For an accuracy that is a formula; None where the largest ε does not reach it."""
    low, high = EPSILON_MIN, EPSILON_MAX
    if not reaches(high):
        return None
    while high / low > 1 + _WIDTH:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return rounded_up(high)


def smallest_simulated(sd_at: Callable[[float], float], sd: float) -> float | None:
    """For one that is simulated, each taking tens of milliseconds: between two powers of two from a line in logarithms on.

    What is returned reaches `sd` in its own simulation; None where nothing near does.
    """
    if sd_at(2.0**MOST) > sd:
        return None
    low, high = LEAST - 1, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sd_at(2.0**middle) <= sd else (middle, high)
    if low < LEAST:
        return 2.0**high
    wide, narrow = math.log(sd_at(2.0**low)), math.log(sd_at(2.0**high))
    share = min(max((wide - math.log(sd)) / (wide - narrow), 0.0), 1.0)
    for step in range(math.ceil(STEPS * share), STEPS):
        epsilon = rounded_up(2.0 ** (low + step / STEPS))
        if step > 0 and sd_at(epsilon) <= sd:
            return epsilon
    return 2.0**high


def rounded_up(epsilon: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(epsilon)) + 1 - DIGITS)
    return min(float(f"{math.ceil(epsilon / unit * (1 - 1e-12)) * unit:.{DIGITS}g}"), EPSILON_MAX)


def two_digits_up(people: float) -> int:
    unit = 10 ** max(math.floor(math.log10(people)) - 1, 0)
    return int(math.ceil(people / unit) * unit)
