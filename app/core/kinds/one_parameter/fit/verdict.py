"""The verdict on a noisy histogram: what it speaks for, in one sentence, and what it could not have seen.

Everything here is a function of the noisy counts and of public numbers: post-processing, the same for every reader.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.grids.natural_model import NaturalModel
from app.core.kinds.fit_check import NOTICED_SHARE, Bin, FitCheck, KindCheck, Verdict
from app.core.kinds.one_parameter.fit.bins import histogram_of
from app.core.kinds.one_parameter.fit.ratio import (
    RATIO_LEVEL,
    RATIO_MAX,
    Ratio,
    fitted_ratio,
    noticed_ratio,
)
from app.core.kinds.one_parameter.fit.shape_test import (
    LEVEL,
    SIMULATED,
    TESTS,
    Histograms,
    Places,
    null_of,
    places,
    seeded,
)
from app.core.kinds.one_parameter.fit.wider_law import model_shares

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_BITS_MAX = 1_000
_METHOD = (
    "posterior predictive: {simulated} histograms of data of the model, with the same noise, at parameters the noisy counts "
    "allow; two discrepancies, the variance and the χ² distance, {tests:g} times the smaller tail"
)


def verdict(model: NaturalModel, people: int, unit_rows: int, check: FitCheck, measured: Whole, seed: bytes) -> Verdict:
    noisy = check.counts(unit_rows, measured)
    of = _histograms(model, people, unit_rows, check, noisy)
    around, generator = places(of, noisy), seeded(seed)
    null = null_of(around, generator)
    found = around.discrepancies(noisy[None, :])
    tail, spread, distance = (
        float(each[0])
        for each in (null.tail(found), null.spread_tail(found.spread), null.distance_tail(found.distance))
    )
    best = around.theta[[around.best]]
    ratio = fitted_ratio(of, noisy, float(model.sums.mean(best, 1)[0]), float(model.sums.sd(best, 1)[0]))
    noticed = noticed_ratio(around, null, generator)
    bins = _bins(around, noisy)
    doubtful, varies = tail <= LEVEL, TESTS * spread <= LEVEL
    text, advice = _no_objection(model, noticed), None
    if doubtful:
        text = _spread_words(model, ratio) if varies else _shape_words(model, bins)
        advice = _advice(model, ratio, varies)
    return Verdict(
        outcome="doubtful" if doubtful else "no_objection",
        text=text,
        advice=advice,
        probability=tail,
        level=LEVEL,
        ratio=ratio.value,
        ratio_interval=(ratio.lower, ratio.upper),
        ratio_level=RATIO_LEVEL,
        ratio_probability=spread,
        distance=float(found.distance[0]),
        distance_expected=float(np.median(null.distance)),
        distance_probability=distance,
        noticed_ratio=noticed,
        noticed_share=NOTICED_SHARE,
        noise_sd=check.sd(unit_rows),
        quantity=quantity(model),
        method=_METHOD.format(simulated=SIMULATED, tests=TESTS),
        bins=bins,
    )


def noticed(model: NaturalModel, people: int, unit_rows: int, check: FitCheck) -> float | None:
    """In the middle of the declared range, before any data."""
    of = _histograms(model, people, unit_rows, check, np.array([float(people)]))
    middle = (model.spacing.forward(model.parameter.lower) + model.spacing.forward(model.parameter.upper)) / 2
    theta = model.spacing.inverse(np.array([middle]))
    around, generator = places(of, of.rows * model_shares(model, of.request, theta)[0]), seeded(b"plan")
    return noticed_ratio(around, null_of(around, generator), generator)


def _histograms(model: NaturalModel, people: int, unit_rows: int, check: FitCheck, noisy: Array) -> Histograms:
    """With several rows a person their number is private: the noisy counts say about how many there are."""
    rows = round(min(max(float(noisy.sum()), people), people * unit_rows))
    return Histograms(model, histogram_of(model), check, unit_rows, rows)


def _bins(around: Places, noisy: Array) -> tuple[Bin, ...]:
    of, statistic = around.of, around.of.request.of
    expected = of.rows * around.shares[around.best]
    sds = np.sqrt(expected + of.noise_variance)
    lasts = [first - 1 for first in of.request.firsts[1:]] + [statistic.steps]
    return tuple(
        Bin(statistic.lower + first * statistic.step, statistic.lower + last * statistic.step, *map(float, facts))
        for first, last, *facts in zip(of.request.firsts, lasts, noisy, expected, sds, strict=True)
    )


def quantity(model: NaturalModel) -> str:
    """What is counted in bins, in terms of the column."""
    request = model.statistic
    away = f"{request.column} − {request.anchor:g}"
    return {
        "identity": request.column,
        "absolute": f"|{away}|",
        "square": f"({away})²/2",
        "power": f"{request.column}^{request.anchor:g}",
        "log_ratio": f"log({request.column}/{request.anchor:g})",
    }[request.transform]


def _noun(model: NaturalModel) -> str:
    if model.statistic.transform == "identity":
        return "counts" if model.sums.discrete else "values"
    return f"values of {quantity(model)}"


def _spread_words(model: NaturalModel, ratio: Ratio) -> str:
    only = "" if ratio.value >= 1 else "only "
    return (
        f"{_noun(model)} vary {only}{ratio.value:.2g} × as much as the model says "
        f"(between {ratio.lower:.2g} and {ratio.upper:.2g} × at {RATIO_LEVEL:.0%})"
    )


def _shape_words(model: NaturalModel, bins: tuple[Bin, ...]) -> str:
    worst = max(bins, key=lambda each: abs(each.noisy - each.expected) / each.sd)
    where = f"{worst.lower:.4g}" if worst.lower == worst.upper else f"{worst.lower:.4g} to {worst.upper:.4g}"
    return (
        f"the shape of the {_noun(model)} is not the model's: most of all at {where}, with {worst.noisy:.0f} rows (noise "
        f"included) where the model has {worst.expected:.0f} ± {worst.sd:.0f}"
    )


def _no_objection(model: NaturalModel, seen: float | None) -> str:
    start = "nothing speaks against the model at this noise; "
    if seen is None:
        return (
            start
            + f"but not even {_noun(model)} that vary {RATIO_MAX:g} × as much would have been noticed: it says little"
        )
    return (
        start + f"{_noun(model)} that vary {seen:.2g} × as much would have been noticed {NOTICED_SHARE:.0%} of the time"
    )


def _advice(model: NaturalModel, ratio: Ratio, varies: bool) -> str:
    if not varies:
        return "ask for a model of another shape, as another release"
    if ratio.value < 1:
        return f"intervals of this release are about {1 / math.sqrt(ratio.value):.2g} × too wide"
    narrow = f"intervals of this release are about {math.sqrt(ratio.value):.2g} × too narrow"
    if model.sums.kind != "poisson":
        return narrow
    return (
        f"{narrow}; a wider family, as another release: negative_binomial, with successes near "
        f"{ratio.mean / (ratio.value - 1):.2g}"
    )


def records(model: NaturalModel, unit_rows: int) -> int | None:
    """Every multiset of at most so many points of the lattice, but the empty one; None: too many to write down."""
    values = model.statistic.steps + 1
    if unit_rows * math.log2(values + unit_rows) > _BITS_MAX:
        return None
    return math.comb(values + unit_rows, unit_rows) - 1


def unchecked(model: NaturalModel, unit_rows: int) -> str | None:
    return None if unit_rows == 1 else "rows of one person are independent of one another"


CHECK = KindCheck(histogram_of, verdict, noticed, records, unchecked)
