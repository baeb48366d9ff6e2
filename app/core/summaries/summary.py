"""One row of a summary table: a parameter's samples in a dozen numbers."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from app.core.decisions.empirical import Empirical
from app.core.decisions.regret import rank_of
from app.core.parameters import Parameter

QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
DECIMALS_MAX = 400
"""More than any double between 0 and 1 has."""


@dataclass(frozen=True, slots=True)
class Summary:
    """`sd` and `mcse_mean` are None for a single sample, which says nothing about spread."""

    parameter: Parameter
    mean: float
    sd: float | None
    mcse_mean: float | None
    median: float
    quantiles: dict[str, float]
    hdi: tuple[float, float]


def summarise(parameter: Parameter, values: NDArray[np.float64], level: Fraction) -> Summary:
    """From k ≥ 1 samples, in one sort.

    mean       the exactly rounded sum over k: to the bit what the utility `squared` answers
    sd         sqrt(Σ(x − mean)²/(k−1)), in units of the public width until the last step, so that it cannot overflow
    mcse_mean  sd/√k: the draws are independent, so this is the error of the mean as a posterior mean
    quantiles  order statistics of rank ⌈τk⌉, as `pinball` answers, at τ = (1∓level)/2 and the quarters
    hdi        the narrowest interval with ⌈level·k⌉ of the ordered samples
    """
    size = len(values)
    law = Empirical(values, parameter.lower, parameter.upper)
    ordered = np.sort(values)
    spread = None
    if size > 1:
        spread = math.sqrt(law.variance * (size / (size - 1))) * (parameter.upper - parameter.lower)
    taus = sorted({(1 - level) / 2, (1 + level) / 2, *QUARTERS})
    quantiles = {decimal_of(tau): _at(ordered, tau) for tau in taus}
    return Summary(
        parameter=parameter,
        mean=law.mean,
        sd=spread,
        mcse_mean=None if spread is None else spread / math.sqrt(size),
        median=_at(ordered, Fraction(1, 2)),
        quantiles=quantiles,
        hdi=tightest_interval(ordered, level),
    )


def decimal_of(tau: Fraction) -> str:
    """1/20 → "0.05". Exact for every τ = (1 ± level)/2 of a level that was written as a decimal."""
    places = next(count for count in range(DECIMALS_MAX) if 10**count % tau.denominator == 0)
    return f"0.{tau.numerator * 10**places // tau.denominator:0{places}d}"


def _at(ordered: NDArray[np.float64], tau: Fraction) -> float:
    return float(ordered[rank_of(tau, len(ordered)) - 1]) + 0.0


def tightest_interval(ordered: NDArray[np.float64], level: Fraction) -> tuple[float, float]:
    """[x_(i), x_(i+m−1)] with m = ⌈level·k⌉ and the least width over i; of several as narrow, the lowest.

    It holds at least the share `level` of the k ordered samples, and no interval with ends among them that does is
    narrower. Where a density has one peak this is the set of its highest values; where it has several it is not.
    """
    held = max(rank_of(level, len(ordered)), 1)
    widths = ordered[held - 1 :] - ordered[: len(ordered) - held + 1]
    first = int(np.argmin(widths))
    return float(ordered[first]) + 0.0, float(ordered[first + held - 1]) + 0.0
