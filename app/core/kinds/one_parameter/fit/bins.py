"""Public bins of one column's lattice: about one sd of a row wide wherever its mean may be, wider beyond.

Bins of a width of one sd lose little of what there is to know about a variance, and every count carries the same noise: narrower
ones would spread the rows over more of it. They follow from the family, the column's bounds and the declared range alone.
"""

import math

import numpy as np

from app.core.grids.natural_model import NaturalModel
from app.core.grids.sum_laws import SumLaw
from app.core.statistics.histograms import HistogramRequest
from app.errors import CheckNotOffered

WIDTH_SDS = 1.0
BEYOND = 4.0
BINS_MAX = 128
_WIDER = 1.25
_REACH_SDS = 4.0


def histogram_of(model: NaturalModel) -> HistogramRequest:
    """Raises CheckNotOffered where a histogram says no more than the sum."""
    if model.statistic.steps == 1:
        raise CheckNotOffered("check", "nothing for a yes/no column: two counts say no more than the share itself")
    width = WIDTH_SDS
    while (firsts := _firsts(model, width)) is None:
        width *= _WIDER
    return HistogramRequest(model.statistic, firsts)


def row_variance(law: SumLaw, mean: float) -> float:
    """Of one row with this mean."""
    match law.kind:
        case "poisson":
            return mean
        case "binomial":
            return max(0.0, mean * (1 - mean / law.size))
        case "negative_binomial":
            return mean + mean**2 / law.size
        case "gamma":
            return mean**2 / law.size
        case _:
            return law.size**2


def _firsts(model: NaturalModel, width: float) -> tuple[int, ...] | None:
    """None for more than `BINS_MAX` bins."""
    request, law = model.statistic, model.sums
    ends = law.mean(np.array([model.parameter.lower, model.parameter.upper]), 1).tolist()
    low, high = (mean + sign * _REACH_SDS * _sd(law, mean) for mean, sign in zip(sorted(ends), (-1, 1), strict=True))
    firsts = [0]
    while len(firsts) <= BINS_MAX:
        value = request.lower + firsts[-1] * request.step
        wide = width * _sd(law, value) / request.step * (1.0 if low <= value <= high else BEYOND)
        following = firsts[-1] + max(1, round(min(wide, float(request.steps))))
        if following > request.steps:
            return tuple(firsts)
        firsts.append(following)
    return None


def _sd(law: SumLaw, mean: float) -> float:
    return math.sqrt(row_variance(law, max(mean, 0.0)))
