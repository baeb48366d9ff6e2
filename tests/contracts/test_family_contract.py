"""Every line of FAMILIES, held to its textbook: costs, tables, constants, JSON and refusals.

A family without a line in `family_cases.CASES` fails here: the contract is what a new family has to pass.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from app.core.grids.integer_table import UNIFORM_SHARE, integer_weights
from app.core.grids.priors import SUPPORTS
from app.core.kinds import parse_model
from app.core.kinds.one_parameter.families import FAMILIES, Model
from app.core.privacy.kernel import kernel_supremum
from app.core.privacy.posterior_cost import posterior_draw_cost
from app.core.schema import parse_columns
from app.core.statistics.sums import ExactStatistic
from app.errors import InvalidModel
from tests.core.families.family_cases import CASES, PRIORS, build, log_prior, priors_of, record_value, with_steps
from tests.core.families.neighbouring_pairs import pure_range, reachable_pairs, renyi_curve, widest_pairs
from tests.deep import deep, deep_unless

pytestmark = pytest.mark.slow

TIGHTNESS = 1.05
SETTINGS = ((4, 1, 1.0), (2, 2, 0.3))
"""(people, rows a person, temperature)."""

every_family = pytest.mark.parametrize("family", sorted(FAMILIES))


def variants(family: str) -> Iterator[tuple[Any, Any]]:
    """Every named prior on the default trim, and the first prior on every trim."""
    yield from ((prior, None) for prior in priors_of(family))
    yield from ((priors_of(family)[1], trim) for trim in CASES[family].trims)


def test_every_registered_family_has_a_case_and_every_named_prior_is_tried() -> None:
    assert set(CASES) == set(FAMILIES)
    conjugate = {"probability": "beta", "rate": "gamma", "location": "normal"}
    for support, kinds in SUPPORTS.items():
        assert {prior.get("kind", conjugate[support]) for prior in PRIORS[support]} == set(kinds)


@pytest.mark.cases(5)
@every_family
def test_charged_curve_covers_all_neighbours_and_is_within_five_percent_of_them(family: str) -> None:
    """Brute force from the definition, every dataset and every replacement of one person's rows, both directions."""
    check_charges(family, zip(variants(family), itertools.cycle(SETTINGS), strict=False))


@pytest.mark.deep
@every_family
def test_charged_curve_covers_all_neighbours_for_every_prior_and_trim_in_every_setting(family: str) -> None:
    check_charges(family, itertools.product(variants(family), SETTINGS))


def check_charges(family: str, tried: Iterable[tuple[tuple[Any, Any], tuple[int, int, float]]]) -> None:
    for (prior, trim), (people, unit_rows, temperature) in tried:
        model = build(family, prior, trim)
        if unit_rows > 1 and model.statistic.steps > 2:
            model = with_steps(model, 2)
        pairs = reachable_pairs(model.statistic.steps, people, unit_rows)
        exact = renyi_curve(model, people, unit_rows, temperature, pairs)
        charged = posterior_draw_cost(model, people, unit_rows, temperature)
        ratio = np.array(charged.cost.curve) / exact
        assert ratio.min() >= 1, (prior, trim, people, unit_rows)
        assert ratio.max() <= TIGHTNESS, (prior, trim, people, unit_rows)
        widest = pure_range(model, people, unit_rows, temperature, pairs)
        assert 1 <= charged.range_pure / widest * (1 + 1e-15) <= 1 + 1e-8
        assert charged.cost.pure >= widest


def in_turn(settings: list[Any], one_in: int) -> Callable[[str, Any], bool]:
    """One setting in so many, others for the next family."""
    return lambda family, setting: (sorted(FAMILIES).index(family) + settings.index(setting)) % one_in == 0


LARGE = [(70, 30, 1.0), (60, 70, 1.0), (200, 8, 0.5)]
SMALL = [(1, 4, 0.3), (5, 4, 1.0), (12, 10, 0.05), (30, 20, 0.4)]
"""(people, steps of the lattice, temperature)."""


@pytest.mark.cases(3)
@pytest.mark.parametrize(("family", "setting"), deep_unless(in_turn(LARGE, 6), sorted(FAMILIES), LARGE))
def test_charged_curve_covers_neighbours_on_lattices_too_large_to_visit(
    family: str, setting: tuple[int, int, float]
) -> None:
    """Where the curvature is certified instead of pairs visited: covered, and within five percent at every order."""
    people, steps, temperature = setting
    if family == "bernoulli":
        people, steps = people * 20, 1
    model = with_steps(build(family, priors_of(family)[0]), steps)
    stride = 1 + people * steps // 1_500
    exact = renyi_curve(model, people, 1, temperature, widest_pairs(steps, people, stride))
    charged = posterior_draw_cost(model, people, 1, temperature)
    assert charged.method.startswith("certified")
    ratio = np.array(charged.cost.curve) / exact
    assert ratio.min() >= 1
    assert ratio.max() <= TIGHTNESS


@pytest.mark.cases(4)
@pytest.mark.parametrize(("family", "setting"), deep_unless(in_turn(SMALL, 4), sorted(FAMILIES), SMALL))
def test_kernel_of_the_curvature_covers_all_neighbours_within_five_percent(
    family: str, setting: tuple[int, int, float]
) -> None:
    """The road for large datasets, forced on small ones: every prior, every trim, every order."""
    people, steps, temperature = setting
    steps = 1 if family == "bernoulli" else steps
    stride = 4 if people == 30 else 1
    for prior, trim in itertools.islice(variants(family), people % 2, None, stride):
        model = with_steps(build(family, prior, trim), steps)
        exact = renyi_curve(model, people, 1, temperature, widest_pairs(steps, people))
        found = kernel_supremum(model.grid(people, temperature), (0, steps), people)
        assert found is not None
        ratio = found.curve / exact
        assert ratio.min() >= 1 - 1e-9, (prior, trim)
        assert ratio.max() <= TIGHTNESS, (prior, trim)


@pytest.mark.cases(5)
@every_family
def test_constants_are_the_textbook_values_to_one_unit_and_the_analysis_uses_the_same(family: str) -> None:
    """H, B, G in units of 2⁻⁸⁰ against mpmath at 60 digits; the doubles of the analysis within 10⁻¹² of them."""
    case = CASES[family]
    for (prior, trim), temperature in itertools.product(variants(family), (1.0, 0.3)):
        model = build(family, prior, trim)
        grid = model.grid(50, temperature)
        constants = model.constants(grid)
        for k in range(0, grid.size, 7):
            with mpmath.workdps(60):
                theta, power = mpmath.mpf(float(grid.theta[k])), mpmath.mpf(temperature)
                zero, one = (lattice_value(model, j) for j in (0, 1))
                at_zero = case.log_density(zero, theta, mpmath.log)
                eta = case.log_density(one, theta, mpmath.log) - at_zero
                log_weight = log_prior(case, exact_numbers(model.prior.as_json()), theta, mpmath.log)
                log_weight -= case.jeffreys(theta, mpmath.log)
                wanted = [power * eta, -power * at_zero, log_weight]
                found = [constants.eta[k], constants.partition[k], constants.log_prior[k]]
                # Up to one constant each, which cancels from every table: compare rises from the first point.
                if k == 0:
                    first_wanted, first_found = wanted, found
                for a, b, a0, b0 in zip(wanted, found, first_wanted, first_found, strict=True):
                    assert abs((a - a0) * mpmath.mpf(2) ** 80 - (b - b0)) <= 2
        doubles = (temperature * grid.eta, temperature * grid.partition, grid.log_prior)
        for double, whole in zip(doubles, (constants.eta, constants.partition, constants.log_prior), strict=True):
            exact = np.array([float(value - whole[0]) for value in whole]) / 2.0**80
            size = np.abs(double).max() + 1e-300
            assert np.abs(double - double[0] - exact).max() <= 1e-12 * size


def exact_numbers(prior: dict[str, Any]) -> dict[str, Any]:
    return {name: mpmath.mpf(value) if isinstance(value, float) else value for name, value in prior.items()}


def lattice_value(model: Model, j: int) -> Any:
    low, high = mpmath.mpf(model.statistic.lower), mpmath.mpf(model.statistic.upper)
    step = mpmath.mpf(model.statistic.step)  # the double the model rounds with; (high − low)/steps to a part in 10¹⁶
    assert abs(step * model.statistic.steps - (high - low)) <= 1e-15 * (high - low)
    return low + j * step


@pytest.mark.cases(5)
@every_family
def test_grid_rises_in_eta_in_the_middles_of_equal_cells_of_the_trim(family: str) -> None:
    for (prior, trim), (rows, temperature) in itertools.product(
        variants(family), ((1, 1.0), (10**4, 1.0), (10**4, 0.01))
    ):
        model = build(family, prior, trim)
        grid = model.grid(rows, temperature)
        lower, upper = model.parameter.lower, model.parameter.upper
        phi = np.array([model.spacing.forward(float(theta)) for theta in np.sort(grid.theta)])
        first, last = model.spacing.forward(lower), model.spacing.forward(upper)
        middles = (np.arange(grid.size) + 0.5) / grid.size
        assert (phi - first) / (last - first) == pytest.approx(middles, abs=1e-9)
        assert (np.diff(grid.eta) > 0).all()
        assert (np.diff(grid.mean) > 0).all()


@pytest.mark.cases(12)
@every_family
@pytest.mark.parametrize(("people", "typical"), [(7, False), deep(400, True), (10_000, True)])
def test_table_has_the_moments_and_quantiles_of_the_continuous_posterior(
    family: str, people: int, typical: bool
) -> None:
    """Against composite Gauss–Legendre quadrature of the trimmed posterior, statistics across the inner range.

    Tolerances: mean 0.008 sd, sd 0.8 %, the 5, 25, 50, 75 and 95 % points, each point's mass spread over its cell, 0.03 sd;
    one spacing for everything where a prior far outside the trim piles the posterior up at its end, within two cells.
    The uniform share γ is taken off: one draw in 2²⁴, but it would be the larger part of the variance at large n.
    """
    chosen = [(prior, None) for prior in (*priors_of(family)[:2], None)] if typical else list(variants(family))
    for prior, trim in chosen:
        check_table(build(family, prior, trim, typical=typical), people, (prior, trim))


def check_table(model: Model, people: int, what: tuple[Any, Any]) -> None:
    grid = model.grid(people, 1.0)
    constants, posterior = model.constants(grid), Continuous(model)
    order = np.argsort(grid.theta)
    theta = grid.theta[order]
    for place in (0.0, 0.2, 0.6, 1.0):
        total = inner_total(model, grid.mean, people, place)
        weights = integer_weights(constants, ExactStatistic(total, people))
        masses = np.array([weight / 2**128 for weight in weights])[order]
        masses = (masses - UNIFORM_SHARE / grid.size) / (1 - UNIFORM_SHARE)
        nodes, exact = posterior.nodes, posterior.masses(total, people)
        mean, wide_mean = masses @ theta, exact @ nodes
        sd, wide_sd = (math.sqrt(m @ (x - c) ** 2) for m, x, c in ((masses, theta, mean), (exact, nodes, wide_mean)))
        spacing = np.diff(theta)[np.clip(np.searchsorted(theta, wide_mean) - 1, 0, grid.size - 2)]
        piled = wide_sd < 2 * spacing
        where = (*what, place)
        assert abs(mean - wide_mean) <= (spacing if piled else 0.008 * wide_sd), where
        assert piled or abs(sd / wide_sd - 1) <= 0.008, where
        ends = (model.spacing.forward(end) for end in (model.parameter.lower, model.parameter.upper))
        edges = model.spacing.inverse(np.linspace(*ends, grid.size + 1))
        cumulative, wide_cumulative = np.append(0.0, np.cumsum(masses)), np.cumsum(exact) - exact / 2
        for level in (0.05, 0.25, 0.5, 0.75, 0.95):
            gap = np.interp(level, cumulative, edges) - np.interp(level, wide_cumulative, nodes)
            assert abs(gap) <= (spacing if piled else 0.03 * wide_sd), (*where, level)


def inner_total(model: Model, mean: NDArray[np.float64], people: int, place: float) -> int:
    """A sum whose average lies at `place` between the smallest and largest mean that lattice and trim both allow."""
    low, high = max(float(mean[0]), 0.0), min(float(mean[-1]), float(model.statistic.steps))
    return round(people * (low + place * (high - low)))


class Continuous:
    """Nodes and masses of the trimmed posterior: 8-point Gauss–Legendre on 2,000 panels, even in θ or in log θ."""

    def __init__(self, model: Model) -> None:
        case = CASES[model.family]
        x, w = np.polynomial.legendre.leggauss(8)
        lower, upper = model.parameter.lower, model.parameter.upper
        even = lower <= 0 or case.support == "probability"
        edges = np.linspace(lower, upper, 2_001) if even else np.geomspace(lower, upper, 2_001)
        half = np.diff(edges) / 2
        self.nodes = ((edges[:-1] + half)[:, None] + half[:, None] * x).ravel()
        self._weights = (half[:, None] * w).ravel()
        wide = self.nodes.astype(np.longdouble)
        zero, one = record_value(model, 0), record_value(model, 1)
        self._at_zero = case.log_density(zero, wide, np.log)
        self._slope = case.log_density(one, wide, np.log) - self._at_zero
        self._log_prior = log_prior(case, model.prior.as_json(), wide, np.log)

    def masses(self, total: int, people: int) -> NDArray[np.float64]:
        log_w = self._log_prior + people * self._at_zero + total * self._slope
        mass = np.exp(log_w - log_w.max()).astype(np.float64) * self._weights
        return np.asarray(mass / mass.sum())


@every_family
def test_json_reads_back_as_the_same_model(family: str) -> None:
    case = CASES[family]
    columns = parse_columns({"x": case.column})
    for prior, trim in variants(family):
        spec = {"family": family, "column": "x", "prior": prior, **case.known}
        model = parse_model(spec if trim is None else spec | {"trim": trim}, columns)
        again = parse_model(model.as_json(), columns)
        assert again == model
        assert hash(again) == hash(model)
        assert again.as_json() == model.as_json()


@every_family
def test_a_bad_model_is_refused_by_the_name_of_a_field(family: str) -> None:
    case = CASES[family]
    good = {"family": family, "column": "x", **case.known}
    columns = parse_columns({"x": case.column})
    parse_model(good, columns)
    one_number = isinstance(case.trims[0], float)
    trims = [0.5, 0.6, 0, -0.1, 1e-9, {"lower": 0.1, "upper": 0.9}] if one_number else [
        0.1, {"lower": 1.0, "upper": 1.0}, {"lower": 2.0, "upper": 1.0}, {"lower": -1e13}, {"upper": 1e13}, {"low": 1},
        {"lower": True}, {"upper": math.nan},
    ]  # fmt: skip
    priors = [
        3, [], "uniform", {"kind": "cauchy"}, {"kind": 1}, {"kind": "uniform", "alpha": 1}, {"gamma": 1},
        *({name: bad} for name in named(case.support) for bad in (math.nan, math.inf, "1", True, None, 10**400)),
    ]  # fmt: skip
    changes: list[dict[str, Any]] = [
        {"surprise": 1}, {"column": "y"}, {"column": None}, {"column": ["x"]}, *({"trim": trim} for trim in trims),
        *({"trim": bad} for bad in (math.nan, math.inf, "0.1", True, [0.1])), *({"prior": prior} for prior in priors),
        *({name: bad} for name in case.known for bad in (math.nan, math.inf, "1", True, None, 1e300, -1e300)),
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(InvalidModel) as refused:
            parse_model(good | change, columns)
        assert refused.value.problems[0].field.startswith("model."), change
    for column in case.wrong_columns:
        with pytest.raises(InvalidModel) as refused:
            parse_model(good, parse_columns({"x": column}))
        assert refused.value.problems[0].field.startswith("model."), column
    for name in ("column", *(set(case.known) - {"trials"})):
        with pytest.raises(InvalidModel, match=f"model.{name}"):
            parse_model({key: value for key, value in good.items() if key != name}, columns)


def named(support: str) -> tuple[str, ...]:
    return {"probability": ("alpha", "beta"), "rate": ("shape", "rate"), "location": ("mean", "sd")}[support]


@every_family
def test_defaults_suit_columns_of_any_unit(family: str) -> None:
    """The same measurements in other units: the grid has as many points and a draw costs the same."""
    for scale in (1e-5, 1e5):
        check_unit(family, scale)


def check_unit(family: str, scale: float) -> None:
    case = CASES[family]
    if case.column["type"] != "real":
        return  # counts have no unit
    column = {"type": "real", "lower": case.column["lower"] * scale, "upper": case.column["upper"] * scale}
    known = {name: value if name == "shape" else value * scale for name, value in case.known.items()}
    model = parse_model({"family": family, "column": "x", **known}, parse_columns({"x": column}))
    ours = posterior_draw_cost(with_steps(model, 4), 6, 1, 1.0)
    wanted = posterior_draw_cost(build(family), 6, 1, 1.0)
    assert ours.grid_points == wanted.grid_points
    if case.steps == 4:
        assert ours.cost.curve == pytest.approx(wanted.cost.curve, rel=1e-6)


def test_a_column_far_from_zero_costs_what_the_same_column_costs_at_zero() -> None:
    """Dates in seconds: squares of such numbers leave a double no digits for what varies."""
    costs = []
    for offset in (0.0, 1.7e9):
        columns = parse_columns({"x": {"type": "real", "lower": offset, "upper": offset + 1024}})
        trim = {"lower": offset + 500, "upper": offset + 530}
        model = parse_model({"family": "normal_mean", "column": "x", "sd": 10, "trim": trim}, columns)
        grid = model.grid(10_000, 1.0)
        assert (np.diff(grid.eta) > 0).all()
        costs.append(posterior_draw_cost(model, 10_000, 1, 1.0).cost)
    assert costs[1].epsilon(1e-6) == pytest.approx(costs[0].epsilon(1e-6), rel=1e-3)
    assert costs[1].curve == pytest.approx(costs[0].curve, rel=1e-3)
