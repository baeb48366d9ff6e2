"""One row of a wider family: the same mean, `ratio` times the variance. What a model's histogram is held against.

    normal              Normal(μ, ratio·σ²)
    gamma (shape a)     Gamma of shape a/ratio and the same mean
    poisson, negative   negative binomial with that mean m and variance v where v > m; below, a binomial with p = 1 − v/m and
    binomial            m/p trials, by the incomplete beta function, which takes any number of them
    binomial (M)        beta-binomial where ratio > 1; below, the binomial above, with fewer trials

At ratio 1 every one of them is the model's own law.
"""

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.grids.sum_laws import SumLaw
from app.core.kinds.one_parameter.predictive import statistic_at_most
from app.core.statistics.histograms import HistogramRequest

Array = NDArray[np.float64]

_NEAREST = 1e-6
_TRIALS_SUMMED = 1_024
_INTRA_MAX = 0.98


def model_shares(model: NaturalModel, request: HistogramRequest, theta: Array) -> Array:
    """(θ, bins): the probability of each bin, rows clipped and rounded as they are counted."""
    return _shares(statistic_at_most(model.sums, theta[:, None], _bounds(model, request)[None, :]))


def wider_shares(model: NaturalModel, request: HistogramRequest, mean: Array, ratio: Array) -> Array:
    """(pairs, bins) of the wider family."""
    return _shares(_at_most(model.sums, mean[:, None], ratio[:, None], _bounds(model, request)[None, :]))


def _bounds(model: NaturalModel, request: HistogramRequest) -> Array:
    """The largest T that still counts in each bin but the last."""
    statistic = request.of
    last = np.array(request.firsts[1:], dtype=np.float64) - (1.0 if model.sums.discrete else 0.5)
    return np.asarray(statistic.lower + statistic.step * last)


def _shares(below: Array) -> Array:
    ends = np.zeros((len(below), 1)), np.ones((len(below), 1))
    return np.diff(np.concatenate([ends[0], below, ends[1]], axis=1), axis=1).clip(0.0, 1.0)


def _at_most(law: SumLaw, mean: Array, ratio: Array, value: Array) -> Array:
    from scipy import special

    match law.kind:
        case "normal":
            return np.asarray(special.ndtr((value - mean) / (law.size * np.sqrt(ratio))))
        case "gamma":
            shape = law.size / ratio
            return np.asarray(special.gammainc(shape, shape / mean * np.maximum(value, 0.0)))
        case "binomial":
            return np.where(ratio > 1, _beta_binomial(law.size, mean, ratio, value), _spread(law, mean, ratio, value))
        case _:
            return _spread(law, mean, ratio, value)


def _spread(law: SumLaw, mean: Array, ratio: Array, value: Array) -> Array:
    """Counts with variance v, narrower or wider than a Poisson law's."""
    from scipy import special

    own = {"poisson": mean, "binomial": mean * (1 - mean / law.size)}.get(law.kind, mean + mean**2 / law.size)
    relative = ratio * own / mean
    count = np.floor(np.maximum(value, 0.0))
    over = np.maximum(relative, 1 + _NEAREST)
    wide = special.betainc(mean / (over - 1), count + 1, 1 / over)
    under = np.minimum(relative, 1 - _NEAREST)
    trials = mean / (1 - under)
    narrow = np.where(count >= trials, 1.0, special.betainc(np.maximum(trials - count, 1e-12), count + 1, under))
    return np.where(value < 0, 0.0, np.where(relative > 1, wide, narrow))


def _beta_binomial(trials: float, mean: Array, ratio: Array, value: Array) -> Array:
    """By its terms; of very many trials, the beta law of their share."""
    from scipy import special

    share = mean / trials
    intra = ((np.maximum(ratio, 1 + _NEAREST) - 1) / max(trials - 1, 1)).clip(_NEAREST, _INTRA_MAX)
    rest = (1 - intra) / intra
    if trials > _TRIALS_SUMMED:
        held = ((np.floor(value) + 0.5) / trials).clip(0.0, 1.0)
        return np.asarray(special.betainc(share * rest, (1 - share) * rest, held))
    j = np.arange(trials + 1)
    terms = (
        special.gammaln(trials + 1)
        - special.gammaln(j + 1)
        - special.gammaln(trials - j + 1)
        + special.betaln(j + share * rest, trials - j + (1 - share) * rest)
        - special.betaln(share * rest, (1 - share) * rest)
    )
    below = np.concatenate([np.zeros((len(terms), 1)), np.cumsum(np.exp(terms), axis=1)], axis=1)
    last = (np.floor(value[0]) + 1).clip(0, trials + 1).astype(np.int64)
    return np.asarray(below[:, last].clip(0.0, 1.0))
