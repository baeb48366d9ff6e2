"""Means, normal columns, matrices and regressions of unknown noise where a person may have several rows: how far a person moves
what is measured, and what is believed of numbers of rows that nobody knows."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

from app.core.kinds import parse_mechanism, parse_model
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.mechanisms.perturbed_statistics import PerturbedStatistics, perturbation_of
from app.core.schema import parse_columns
from app.core.statistics.moments import LATTICE, ExactMoments, moments_of
from tests.core.regression.belief_coverage import (
    POINTS,
    Case,
    held,
    linear_case,
    mean_case,
    normal_case,
    precision_case,
    ranks,
)
from tests.core.regression.test_private_regressions import CELLS, COLUMNS, LINE, MEAN, NOISE, NORMAL, PAIR
from tests.deep import deep

BARE = LINE | {"intercept": False}
PEOPLE = 6


def numbers_of_a_person(model: Any, unit_rows: int) -> np.ndarray:
    """In sds of the noise: what is measured of every person there can be, of one row to `unit_rows`."""
    request, own = model.statistic, perturbation_of(model, PEOPLE, unit_rows)
    mechanism = parse_mechanism(NOISE, model)
    assert isinstance(mechanism, PerturbedStatistics)
    kinds = [*itertools.product(*(CELLS[name] for name in request.columns))]
    found = []
    for rows in range(1, unit_rows + 1):
        for person in itertools.combinations_with_replacement(kinds, rows):
            cells = {name: [record[i] for record in person] for i, name in enumerate(request.columns)}
            found.append(own.values(moments_of(request, cells)))
    return np.unique(np.array(found), axis=0) / (mechanism.scale(own, unit_rows) * own.ratios)


@pytest.mark.parametrize(
    ("described", "unit_rows"),
    [
        *[(MEAN, 2), (MEAN, 3), (NORMAL, 2), (NORMAL, 3), (PAIR, 2), deep(PAIR, 3)],
        *[(LINE, 2), (LINE, 3), (BARE, 2), deep(BARE, 3)],
    ],
)
def test_no_person_of_several_rows_moves_more_than_is_charged(described: dict[str, Any], unit_rows: int) -> None:
    """Any rows by any others, more or fewer: never above what is charged, and within a fiftieth of it. Of a line that is reached
    by records that yes/no columns do not have (`test_sensitivity.py`): within a third."""
    model = parse_model(described, COLUMNS)
    charged = parse_mechanism(NOISE, model).cost(model, PEOPLE, unit_rows).once.gaussian_rho
    values = numbers_of_a_person(model, unit_rows)
    worst = max(float(((values - each) ** 2).sum(axis=1).max()) for each in values) / 2
    assert charged is not None
    assert worst <= charged * (1 + 1e-12)
    assert worst * (1.02 if model.statistic.target is None else 4 / 3) >= charged


@pytest.mark.parametrize("described", [MEAN, NORMAL, PAIR, LINE])
def test_one_row_less_shows_only_in_noise(described: dict[str, Any]) -> None:
    """The number of rows is a measured number as others are: held to what people can have, and never on its own."""
    model = parse_model(described, COLUMNS)
    mechanism = parse_mechanism(NOISE, model)
    nothing = ExactMoments(*(np.zeros_like(each) for each in _shapes(model)), 0)
    own = perturbation_of(model, PEOPLE, 3)
    few, many = (own.values(ExactMoments(*_parts(nothing), rows)) for rows in (PEOPLE, 3 * PEOPLE))
    assert np.flatnonzero(many - few).tolist() == [len(own.ratios) - 1]
    seen: list[np.ndarray] = []

    def noise(values: np.ndarray, scales: np.ndarray) -> np.ndarray:
        seen.extend((values, scales))
        return values

    mechanism.measure(model, PEOPLE, 3, ExactMoments(*_parts(nothing), 10**6), noise)
    assert (seen[0] == many).all()
    assert seen[1].min() > 256


def _shapes(model: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    d = model.statistic.dimension
    return np.zeros((d, d), np.int64), np.zeros(d, np.int64), np.int64(0), np.zeros(d, np.int64)


def _parts(moments: ExactMoments) -> tuple[Any, ...]:
    return moments.products, moments.cross, int(moments.square), moments.sums


def test_a_mean_is_believed_as_a_sum_over_every_number_of_rows_people_may_have() -> None:
    """p(μ | t, m̃) ∝ Σ_m N(m̃; m)·N(t; mμ, mσ² + s²)·N(μ; 0, 1/λ), m from one row a person to three, by hand; Kolmogorov–Smirnov
    on 500 points, false alarm 10⁻⁵. Numbers seen below, inside and above what is possible."""
    columns = parse_columns({"x": {"type": "real", "lower": -1, "upper": 1}})
    spec = {"family": "mvn_mean", "columns": ["x"], "covariance": [[0.04]], "prior": {"precision": 10.0}}
    model = parse_model(spec, columns)
    mechanism, own = parse_mechanism(NOISE, model), perturbation_of(model, 40, 3)
    scale = mechanism.scale(own, 3)
    s, rows_sd = scale * own.ratios / LATTICE
    mu, m = np.linspace(-2, 2, 4_001), np.arange(40, 121)[:, None]
    for t, seen in ((30.0, 70.0), (-12.0, 20.0), (40.0, 150.0)):
        spread = m * 0.04 + s**2
        log = -0.5 * (((m - seen) / rows_sd) ** 2 + np.log(spread) + (t - m * mu) ** 2 / spread + 10 * mu**2)
        below = np.cumsum(np.exp(log - log.max()).sum(axis=0))
        measured = np.rint(np.array([t, seen]) * LATTICE).astype(np.int64)
        points = own.believed(measured, scale, 500, SeededStream(b"mean"))[:, 0]
        assert kstest(points, lambda x, b=below: np.interp(x, mu, b / b[-1])).pvalue > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(
    "described", [MEAN, deep(NORMAL), deep(PAIR), LINE, deep(BARE), deep(LINE | {"norm_bound": 1.0})]
)
def test_releases_of_several_rows_a_person_have_samples_and_beliefs_inside_public_ranges(
    described: dict[str, Any],
) -> None:
    model = parse_model(described, COLUMNS)
    mechanism = parse_mechanism({"kind": "gaussian", "samples": 5, "epsilon": 1.0, "delta": 1e-6}, model)
    rng = np.random.default_rng(4)
    cells = {name: rng.choice(CELLS[name], 130) for name in model.statistic.columns}
    measured = mechanism.measure(model, 60, 3, moments_of(model.statistic, cells))
    drawn = mechanism.infer(model, 60, 3, measured, rng.bytes)
    assert drawn.shape == (5, len(model.parameters))
    own, scale = perturbation_of(model, 60, 3), mechanism.scale(perturbation_of(model, 60, 3), 3)
    points, again = (own.believed(measured, scale, 8, SeededStream(b"several")) for _ in range(2))
    assert (points == again).all()
    lower, upper = (np.array([getattr(p, end) for p in own.believed_parameters]) for end in ("lower", "upper"))
    assert ((points >= lower) & (points <= upper)).all()


CASES: dict[str, Case] = {
    "mean": mean_case(),
    "normal": normal_case(),
    "matrix": precision_case(2),
    "line": linear_case("n", "normal", None),
    "line of levels": linear_case("nb", "even", None),
    "line, noise declared": linear_case("n", "normal", 0.2),
}


@pytest.mark.deep
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("unit_rows", [2, 3])
@pytest.mark.parametrize(("people", "epsilon"), [(100, 1.0), (1_000, 0.3), (1_000, 1.0), (10_000, 1.0)])
@pytest.mark.parametrize("kind", CASES)
def test_intervals_hold_the_truth_whatever_number_of_rows_people_have(
    kind: str, people: int, epsilon: float, unit_rows: int
) -> None:
    """150 datasets, numbers of rows alike from one a person to all: within 4 standard errors, clustered by dataset. Points of a
    normal column are of strata, so that it takes more of them."""
    points = 399 if kind == "normal" else POINTS
    rank = ranks(CASES[kind], people, epsilon, 150, 1 + people + unit_rows, points, unit_rows)
    for level in (0.9, 0.5):
        shares = held(rank, level, points).mean(axis=1)
        error = shares.std(ddof=1) / math.sqrt(len(shares))
        print(f"{kind} k={unit_rows} n={people} ε={epsilon} {level}: {shares.mean():.3f} ± {error:.3f}")  # noqa: T201
        assert abs(shares.mean() - level) <= max(0.025, 4 * error)
