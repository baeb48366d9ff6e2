"""Regressions in private groups and by private conditions: how far a person moves what is measured, and what is believed."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import gamma, kstest, norm

from app.core.kinds import kind_of, parse_mechanism, parse_model
from app.core.kinds.accuracy_goal import AccuracyQuestion
from app.core.kinds.belief import Evidence
from app.core.kinds.groups.model import StratifiedModel
from app.core.kinds.plan_figures import Choice
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.private.group_noise import group_weights, rows_window
from app.core.kinds.regression.private.mechanism import GroupPerturbedStatistics, group_perturbation
from app.core.kinds.regression.private.model import MeasuredRegressions
from app.core.privacy.targets import Target
from app.core.schema import parse_columns
from app.core.statistics.groups import ExactGroups
from app.core.statistics.moments import LATTICE, moments_of
from app.errors import CalibratedUnavailable, InvalidInput, InvalidMechanism, InvalidModel
from tests.deep import deep

COLUMNS = parse_columns(
    {
        "paid": {"type": "binary"},
        "wage": {"type": "real", "lower": 0, "upper": 40},
        "union": {"type": "binary"},
        "years": {"type": "integer", "lower": 0, "upper": 2},
        "ward": {"type": "categorical", "levels": ["a", "b", "c"]},
        "old": {"type": "binary"},
        "arm": {"type": "categorical", "levels": ["drug", "placebo"], "public": True},
        "told": {"type": "binary", "from": "years >= 1"},
    }
)
LINE: dict[str, Any] = {"family": "linear_regression", "target": "paid", "features": ["union"]}
KNOWN = LINE | {"noise_sd": 0.5}
MEAN: dict[str, Any] = {"family": "mvn_mean", "columns": ["paid", "union"], "covariance": [[0.1, 0.0], [0.0, 0.1]]}
NORMAL: dict[str, Any] = {"family": "normal", "column": "years"}
MATRIX: dict[str, Any] = {"family": "normal_precision_matrix", "columns": ["years", "wage"]}
PAIR: dict[str, Any] = {"family": "normal_precision_matrix", "columns": ["years", "union"]}
"""Records of length √2 in four directions, two of them across: the farthest that two of them are apart."""
BY, WHERE = {"by": ["ward"]}, {"by": [], "where": "old"}
NOISE = {"kind": "perturbed_statistics", "samples": 3, "epsilon": 1.0, "delta": 1e-6}
CELLS = {"paid": (0, 1), "union": (0, 1), "years": (0, 1, 2)}


def private(described: dict[str, Any], groups: dict[str, Any]) -> MeasuredRegressions:
    model = parse_model(described | {"groups": groups}, COLUMNS)
    assert isinstance(model, MeasuredRegressions)
    return model


def numbers_of_everyone(model: MeasuredRegressions, unit_rows: int) -> np.ndarray:
    """In sds of the noise: what is measured of every person there can be, in any groups or outside of the condition."""
    mechanism = parse_mechanism(NOISE, model)
    own, request = group_perturbation(model, 6, unit_rows), model.inner.statistic
    values = [CELLS[name] for name in request.columns]
    groups = range(model.count) if model.groups.by else (0, None)
    kinds = [*itertools.product(groups, itertools.product(*values))]
    found = []
    for rows in range(1, unit_rows + 1):
        for person in itertools.combinations_with_replacement(kinds, rows):
            parts = []
            for group in range(model.count):
                cells = [record for place, record in person if place == group]
                columns = {name: [record[i] for record in cells] for i, name in enumerate(request.columns)}
                parts.append(moments_of(request, columns) if cells else request.of_no_rows())
            found.append(mechanism.measure(model, 6, unit_rows, ExactGroups(tuple(parts)), lambda values, _: values))
    scales = mechanism.scale(own, unit_rows) * np.tile(own.ratios, model.count)
    return np.unique(np.array(found), axis=0) / scales


@pytest.mark.parametrize(
    ("described", "groups", "unit_rows"),
    [
        (KNOWN, BY, 1),
        (KNOWN, BY, 2),
        (LINE, BY, 1),
        (KNOWN, WHERE, 1),
        (KNOWN, WHERE, 2),
        (LINE, WHERE, 1),
        (MEAN, BY, 1),
        (MEAN, WHERE, 1),
        (NORMAL, BY, 1),
        (NORMAL, WHERE, 1),
        (PAIR, BY, 1),
        (PAIR, WHERE, 1),
        (MEAN, BY, 2),
        (NORMAL, WHERE, 2),
        deep(LINE, BY, 2),
        deep(LINE, WHERE, 2),
        deep(MEAN, WHERE, 3),
        deep(NORMAL, BY, 2),
        deep(PAIR, BY, 2),
        deep(PAIR, WHERE, 2),
        deep(KNOWN, BY, 3),
        deep(KNOWN, WHERE, 3),
    ],
)
def test_no_person_moves_private_regressions_by_more_than_is_charged(
    described: dict[str, Any], groups: dict[str, Any], unit_rows: int
):
    """Any rows by any others, wherever they belong: never above what is charged, and within a fiftieth of it."""
    model = private(described, groups)
    charged = parse_mechanism(NOISE, model).cost(model, 6, unit_rows).once.gaussian_rho
    values = numbers_of_everyone(model, unit_rows)
    norms = (values**2).sum(axis=1)
    worst = float((norms[:, None] + norms[None, :] - 2 * values @ values.T).max()) / 2
    assert charged is not None
    assert worst <= charged * (1 + 1e-12)
    assert worst * 1.02 >= charged


@pytest.mark.deep
def test_no_two_records_of_any_numbers_move_more_between_groups_or_within():
    """By optimisation over records (z, y) in the ball: 4.5 within a group and between two, with the weights that are used."""
    weights = group_weights(private(LINE, BY).inner, between=True)

    def squashed(free: np.ndarray) -> np.ndarray:
        z, y = free[:-1] / max(1.0, float(np.linalg.norm(free[:-1]))), float(np.clip(free[-1], -1, 1))
        return np.concatenate([np.outer(z, z).ravel(), z * y, [weights.square**0.5 * y * y, weights.rows**0.5]])

    def largest(distance: Any) -> float:
        rng = np.random.default_rng(3)
        options = {"maxiter": 2_000, "xatol": 1e-7, "fatol": 1e-9}
        starts = rng.normal(0, 1.2, (8, 6))
        return max(
            -float(minimize(lambda x: -distance(x), each, method="Nelder-Mead", options=options).fun) for each in starts
        )

    within = largest(lambda x: float(((squashed(x[:3]) - squashed(x[3:])) ** 2).sum()))
    between = largest(lambda x: float((squashed(x[:3]) ** 2).sum() + (squashed(x[3:]) ** 2).sum()))
    assert 4.5 - 1e-3 <= within <= 4.5 + 1e-9
    assert 4.5 - 1e-3 <= between <= 4.5 + 1e-9


def test_what_a_source_returns_is_held_to_what_is_charged_for():
    model = private(KNOWN, BY)
    mechanism, request = parse_mechanism(NOISE, model), model.inner.statistic
    many = moments_of(request, {"union": [1] * 50, "paid": [1] * 50})
    most = moments_of(request, {"union": [1] * 7, "paid": [1] * 7})
    measured = [
        mechanism.measure(model, 7, 1, ExactGroups((each, request.of_no_rows(), request.of_no_rows())), lambda v, _: v)
        for each in (many, most)
    ]
    assert measured[0].reshape(3, -1)[0, -1] == 7 * LATTICE**2
    assert (np.abs(measured[0]) <= 7 * LATTICE**2).all()
    assert (measured[1].reshape(3, -1)[1:] == 0).all()


def test_stored_models_read_back_and_questions_about_one_group_are_those_of_the_model():
    for described in (KNOWN, LINE, MEAN, NORMAL, MATRIX):
        for groups in (BY, WHERE, {"by": ["ward", "arm"], "strata": [3, 4]}, {"by": ["ward"], "where": "old"}):
            model = parse_model(described | {"groups": groups}, COLUMNS)
            assert parse_model(model.as_json(), COLUMNS) == model
    strata = parse_model(KNOWN | {"groups": {"by": ["arm", "ward"], "strata": [3, 4]}}, COLUMNS)
    assert isinstance(strata, StratifiedModel)
    assert kind_of(strata).name == "regression by private groups by strata"
    assert [each.name for each in private(KNOWN, BY).parameters][:2] == ["intercept[ward=a]", "union[ward=a]"]
    one = parse_mechanism(NOISE, strata).cost(strata, 7, 1).once
    assert one == parse_mechanism(NOISE, private(KNOWN, BY)).cost(private(KNOWN, BY), 7, 1).once


def test_what_cannot_be_by_private_groups_says_why():
    for described, groups, why in (
        (MATRIX, {"by": [], "where": "told"}, "not of itself"),
        (NORMAL, {"by": ["told"]}, "not of itself"),
        (NORMAL, {"by": [], "where": "told"}, "not of itself"),
        (KNOWN, {"by": ["union"]}, "not of itself"),
    ):
        with pytest.raises(InvalidModel, match=why):
            parse_model(described | {"groups": groups}, COLUMNS)
    with pytest.raises(InvalidMechanism, match="perturbed_statistics"):
        parse_mechanism({"kind": "baps", "samples": 2}, private(KNOWN, BY))


@pytest.mark.parametrize("changed", [{"intercept": False}, {"norm_bound": 1.0}], ids=["no intercept", "shortened"])
def test_products_that_do_not_tell_how_many_rows_there_are_have_no_calibrated_view(changed: dict[str, Any]):
    """Samples are drawn nevertheless."""
    model = private(KNOWN | changed, WHERE)
    mechanism = parse_mechanism(NOISE, model)
    with pytest.raises(CalibratedUnavailable, match="how many rows"):
        mechanism.calibrated_parameters(model, 50, 1)
    statistic = ExactGroups((moments_of(model.inner.statistic, {"union": [0, 1], "paid": [1, 1]}),))
    assert mechanism.draw(model, 50, 1, statistic, np.random.default_rng(1).bytes).shape == (3, len(model.parameters))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("described", "sign"),
    [
        *[(MEAN, -1), (MEAN, 1), (NORMAL, -1), deep(NORMAL, 1), deep(KNOWN, -1), deep(KNOWN, 1), (LINE, -1)],
        *[deep(LINE, 1), (MATRIX, -1), deep(MATRIX, 1)],
    ],
)
def test_noise_beyond_what_is_possible_is_answered_inside_public_ranges(described: dict[str, Any], sign: int):
    model = private(described, WHERE)
    mechanism = parse_mechanism(NOISE, model)
    assert isinstance(mechanism, GroupPerturbedStatistics)
    own = group_perturbation(model, 50, 1)
    measured = sign * np.rint(5 * mechanism.scale(own, 1) * own.ratios).astype(np.int64)
    points = own.believed(measured, mechanism.scale(own, 1), 8, SeededStream(b"x"))
    lower, upper = (np.array([getattr(p, end) for p in own.believed_parameters]) for end in ("lower", "upper"))
    assert ((points >= lower) & (points <= upper)).all()


def test_a_group_has_its_own_beliefs_from_its_own_numbers():
    model = private(MEAN, BY)
    mechanism = parse_mechanism(NOISE, model)
    request = model.inner.statistic
    parts = [moments_of(request, {"paid": [yes] * 400, "union": [0] * 400}) for yes in (0, 1)]
    measured = mechanism.measure(model, 800, 1, ExactGroups((*parts, request.of_no_rows())))
    belief, again = (mechanism.belief(model, 800, 1, Evidence(np.zeros((1, 1)), measured, b"own")) for _ in range(2))
    assert (belief.points == again.points).all()
    paid = belief.points[:, [0, 2, 4]]
    assert paid[:, 0].mean() < 0.2 < 0.8 < paid[:, 1].mean()
    assert paid[:, 2].std() > 3 * paid[:, :2].std(axis=0).max()
    with pytest.raises(CalibratedUnavailable):
        mechanism.belief(model, 800, 1, Evidence(np.zeros((1, 1)), None, b"own"))


def test_a_mean_is_believed_as_a_sum_over_every_number_of_rows_has_it():
    """p(μ | t, m̃) ∝ Σ_m N(m̃; m)·N(t; mμ, mσ² + s²)·N(μ; 0, 1/λ) by hand; Kolmogorov–Smirnov on 500 points, false alarm 10⁻⁵."""
    columns = parse_columns({"x": {"type": "real", "lower": -1, "upper": 1}, "old": {"type": "binary"}})
    spec = {"family": "mvn_mean", "columns": ["x"], "covariance": [[0.04]], "prior": {"precision": 10.0}}
    model = parse_model(spec | {"groups": WHERE}, columns)
    mechanism, own = parse_mechanism(NOISE, model), group_perturbation(model, 120, 1)
    scale = mechanism.scale(own, 1)
    s, rows_sd = scale * own.ratios / LATTICE
    mu, m = np.linspace(-2, 2, 4_001), np.arange(121)[:, None]
    for t, seen in ((3.0, 25.0), (-2.0, -9.0), (30.0, 118.0)):
        spread = m * 0.04 + s**2
        log = -0.5 * (((m - seen) / rows_sd) ** 2 + np.log(spread) + (t - m * mu) ** 2 / spread + 10 * mu**2)
        below = np.cumsum(np.exp(log - log.max()).sum(axis=0))
        measured = np.rint(np.array([t, seen]) * LATTICE).astype(np.int64)
        points = own.believed(measured, scale, 500, SeededStream(b"mean"))[:, 0]
        assert kstest(points, lambda x, b=below: np.interp(x, mu, b / b[-1])).pvalue > 1e-5


@pytest.mark.slow
@pytest.mark.parametrize(("total", "seen"), [(2.0, 25.0), deep(0.1, -5.0), deep(9.0, 70.0)])
def test_a_precision_is_believed_as_a_sum_over_every_number_of_rows_has_it(total: float, seen: float):
    """p(ω | Â, m̃) ∝ p(ω)·Σ_m N(m̃; m)·∫ χ²(A·ω; m)·N(Â; A, s²) dA by hand, of one column, where p(A|m) is exact from two rows on.
    Kolmogorov–Smirnov on 256 chains, false alarm 10⁻⁵."""
    columns = parse_columns({"x": {"type": "real", "lower": -1, "upper": 1}, "old": {"type": "binary"}})
    model = parse_model({"family": "normal_precision_matrix", "columns": ["x"], "groups": WHERE}, columns)
    mechanism, own, inner = (
        parse_mechanism(NOISE | {"epsilon": 8.0}, model),
        group_perturbation(model, 80, 1),
        model.inner,
    )
    scale = mechanism.scale(own, 1)
    s, rows_sd = scale * own.ratios / LATTICE**2
    prior = gamma(inner.degrees / 2, scale=2 / (inner.degrees * inner.scale))
    omega = np.geomspace(prior.ppf(1e-7), prior.ppf(1 - 1e-9), 150)
    sums = (np.arange(400) + 0.5) * 0.05
    seen_by = norm.pdf(total, sums, s) * 0.05
    likelihood = norm.pdf(total, 0, s) * norm.pdf(seen, 0, rows_sd) * np.ones(len(omega))
    for m in range(1, 81):
        law = gamma.pdf(sums[None, :], m / 2, scale=2 / omega[:, None])
        likelihood = likelihood + norm.pdf(seen, m, rows_sd) * (law @ seen_by)
    below = np.cumsum(prior.pdf(omega) * omega * likelihood)
    measured = np.rint(np.array([total, seen]) * LATTICE**2).astype(np.int64)
    points = own.believed(measured, scale, 256, SeededStream(b"one"))[:, 0]
    assert kstest(points, lambda x: np.interp(x, omega, below / below[-1])).pvalue > 1e-5


@pytest.mark.parametrize("seen", [-1e6, -3.0, 0.0, 5.0, 99.0, 1e6])
def test_numbers_of_rows_looked_at_are_possible_and_never_none(seen: float):
    low, high = rows_window(seen, 4.0, (0, 100), 40)
    assert 0 <= low < high <= 100


def test_plans_choose_noise_within_the_target_and_promise_no_accuracy_of_a_group_of_unknown_size():
    model, target = private(KNOWN, BY), Target(1.0, 1e-6)
    planner = kind_of(model).planner
    assert target.fits(planner.choose(Choice(model, 300, 1, target, None, 1_000)).cost(model, 300, 1))
    with pytest.raises(InvalidMechanism, match="δ"):
        planner.choose(Choice(model, 300, 1, Target(1.0, 0.0), None, 1_000))
    with pytest.raises(InvalidInput, match="how many people"):
        planner.accuracy(AccuracyQuestion(model, 300, 1, 1e-6, None, 1_000))
