"""The posterior as integer weights, and draws from it with the operating system's randomness.

Exactness. With the constants H, B, G (units of 2⁻⁸⁰) the exponent x_k = G_k − m·B_k + t·H_k is an exact integer, and so
is its distance below the maximum. What is then rounded, for the table actually sampled:

  1. x_k·2⁻⁸⁰ to a double: relative 2⁻⁵³, so |error| ≤ |x|·2⁻⁵³ ≤ 2⁻⁴⁷ wherever e^x ≥ e⁻⁶⁰; a smaller e^x is
     under 2⁻⁸⁶ and changes a weight that holds γ/K ≥ 2⁻⁴⁰ by less than 2⁻⁴⁶ of itself whatever its own error;
  2. exp: within 4 units in the last place, 2⁻⁵¹;  the correctly rounded sum `fsum` and one division: 2⁻⁵² together;
  3. γ-mixing in doubles: 2⁻⁵²;  scaling by 2¹²⁸ is exact, flooring moves a weight ≥ 2⁸⁸ by at most 2⁻⁸⁸ of itself.

Together under 2⁻⁴⁵, so every weight is within e^{±s}, s = 2⁻⁴⁴, of the mixed exact posterior, and each draw adds 4s to
the pure cost and 2s(2α−1)/(α−1) to D_α: P̃ ≤ P·e^{2s} and Q̃ ≥ Q·e^{−2s} after normalising. Mixing with γ of the
uniform table is post-processing of an exact draw (toss a γ-coin that ignores data), free, and keeps every point
reachable from every dataset.

Work depends on K and N only: every exponent is formed, every draw is one multiplication and one bisection, and the table
is filled up with its total to 2^j − 1 entries, so that every bisection makes exactly j comparisons.
"""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import exp, fsum

import numpy as np
from numpy.typing import NDArray

from app.core.grids.public_grid import GridConstants
from app.core.numerics.fixed_point import LOG_BITS
from app.core.statistics.sums import ExactStatistic
from app.errors import NumericalFailure

UNIFORM_SHARE = 2.0**-24
WEIGHT_BITS = 128
DRAW_BYTES = 32
POINT_S = 20e-6
DRAW_S = 1e-6


@dataclass(frozen=True, slots=True, repr=False)
class IntegerTable:
    """Private: cumulative integer weights of one posterior. Lives in memory while a release is drawn, never stored."""

    cumulative: list[int]

    def __repr__(self) -> str:
        return "IntegerTable(private)"

    def draw(self, count: int, random_bytes: Callable[[int], bytes]) -> NDArray[np.int64]:
        """`count` grid indices; each the first k with cumulative_k > (U·ΣW) >> 256, U fresh 256-bit randomness."""
        total = self.cumulative[-1]
        pool = random_bytes(DRAW_BYTES * count)
        if len(pool) != DRAW_BYTES * count:
            raise NumericalFailure("the source of randomness returned too little")
        draws = np.empty(count, dtype=np.int64)
        for i in range(count):
            uniform = int.from_bytes(pool[i * DRAW_BYTES : (i + 1) * DRAW_BYTES], "little")
            draws[i] = bisect_right(self.cumulative, (uniform * total) >> (8 * DRAW_BYTES))
        return draws


def table_seconds(points: int, draws: int) -> float:
    """Public: what a grid, its constants, a table and draws from it take on the machine of reference."""
    return 0.01 + points * POINT_S + draws * DRAW_S * (1 + points.bit_length() / 16)


def table_of(weights: NDArray[np.float64]) -> IntegerTable:
    """For post-processing: weights of any size, drawn from in the same way; points of weight 0 are never drawn."""
    scaled = weights / fsum(weights.tolist())
    return _padded([_scaled(weight) for weight in scaled.tolist()])


def integer_table(constants: GridConstants, statistic: ExactStatistic) -> IntegerTable:
    return _padded(integer_weights(constants, statistic))


def integer_weights(constants: GridConstants, statistic: ExactStatistic) -> list[int]:
    exponents = [
        prior - statistic.rows * partition + statistic.total * eta
        for prior, partition, eta in zip(constants.log_prior, constants.partition, constants.eta, strict=True)
    ]
    top = max(exponents)
    return _mixed([exp((exponent - top) / 2**LOG_BITS) for exponent in exponents])


def mixed_table(log_weights: NDArray[np.float64]) -> IntegerTable:
    """From log-weights whose largest is 0, mixed with γ of the uniform table like a posterior."""
    return _padded(_mixed([exp(value) for value in log_weights.tolist()]))


def _padded(weights: list[int]) -> IntegerTable:
    cumulative = list(accumulate(weights))
    missing = (1 << len(cumulative).bit_length()) - 1 - len(cumulative)
    return IntegerTable(cumulative + [cumulative[-1]] * missing)


def _mixed(masses: list[float]) -> list[int]:
    total = fsum(masses)
    floor = UNIFORM_SHARE / len(masses)
    return [_scaled((1 - UNIFORM_SHARE) * (mass / total) + floor) for mass in masses]


def _scaled(weight: float) -> int:
    """⌊weight·2¹²⁸⌋, exactly."""
    numerator, denominator = weight.as_integer_ratio()
    return (numerator << WEIGHT_BITS) // denominator
