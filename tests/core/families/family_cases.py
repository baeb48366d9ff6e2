"""What every family should be, written down a second time: densities, widths and small columns, from textbooks.

Nothing here reads a model's own η, A or prior. Formulas take `ln` so that they run in extended doubles and in mpmath.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from app.core.grids.public_grid import PublicGrid
from app.core.kinds import parse_model
from app.core.kinds.one_parameter.families import Model
from app.core.schema import parse_columns

Log = Callable[[Any], Any]
Wide = Any  # arrays of np.longdouble, which has no name of its own in numpy.typing


@dataclass(frozen=True)
class FamilyCase:
    """One family: `log_density(T, θ, ln)` of a record up to terms without θ, `jeffreys(θ, ln)` = ½·log information.

    `column` has a lattice small enough to enumerate when `steps` is None; otherwise its lattice is replaced by `steps`.
    `trims` are what the family accepts beside its default; `wrong_columns` it must refuse.
    """

    column: Mapping[str, Any]
    support: str
    log_density: Callable[[Any, Any, Log], Any]
    jeffreys: Callable[[Any, Log], Any]
    trims: tuple[Any, ...]
    known: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    wrong_columns: tuple[Mapping[str, Any], ...] = ({"type": "categorical", "levels": ["a", "b"]}, {"type": "binary"})
    typical: Mapping[str, Any] | None = None
    shift: bool = False


def odds(t: Any, theta: Any, ln: Log, trials: int = 1) -> Any:
    return t * ln(theta) + (trials - t) * ln(1 - theta)


def waiting(t: Any, theta: Any, ln: Log, successes: float = 1) -> Any:
    return successes * ln(theta) + t * ln(1 - theta)


def rate(power: float) -> Callable[[Any, Any, Log], Any]:
    return lambda t, theta, ln: power * ln(theta) - theta * t


def _inverse(theta: Any, ln: Log) -> Any:
    return -ln(theta)


NEGATIVE = {"type": "integer", "lower": -2, "upper": 3}
REAL_NEGATIVE = {"type": "real", "lower": -0.5, "upper": 3}
CATEGORY = {"type": "categorical", "levels": ["a", "b"]}
BINARY = {"type": "binary"}
REAL = {"type": "real", "lower": 0, "upper": 4}
COUNT = {"type": "integer", "lower": 0, "upper": 4}
RATES = ({"lower": 0.1, "upper": 2.0}, {"lower": 0.5, "upper": 40})

CASES: dict[str, FamilyCase] = {
    "bernoulli": FamilyCase(
        BINARY, "probability", odds, lambda p, ln: -(ln(p) + ln(1 - p)) / 2, (0.2, 0.01),
        wrong_columns=(CATEGORY, REAL, COUNT), typical=BINARY,
    ),
    "binomial": FamilyCase(
        COUNT, "probability", lambda t, p, ln: odds(t, p, ln, 4), lambda p, ln: -(ln(p) + ln(1 - p)) / 2, (0.3, 0.02),
        {"trials": 4}, wrong_columns=(CATEGORY, BINARY, REAL, NEGATIVE), typical=COUNT,
    ),
    "geometric": FamilyCase(
        COUNT, "probability", waiting, lambda p, ln: -ln(p) - ln(1 - p) / 2, (0.3, 0.02),
        wrong_columns=(CATEGORY, BINARY, REAL, NEGATIVE), typical={"type": "integer", "lower": 0, "upper": 40},
    ),
    "negative_binomial": FamilyCase(
        COUNT, "probability", lambda t, p, ln: waiting(t, p, ln, 2.5), lambda p, ln: -ln(p) - ln(1 - p) / 2,
        (0.3, 0.02), {"successes": 2.5}, wrong_columns=(CATEGORY, BINARY, REAL, NEGATIVE),
        typical={"type": "integer", "lower": 0, "upper": 60},
    ),
    "poisson": FamilyCase(
        {"type": "integer", "lower": 1, "upper": 5}, "rate", lambda t, r, ln: t * ln(r) - r,
        lambda r, ln: -ln(r) / 2, RATES, wrong_columns=(CATEGORY, BINARY, REAL, NEGATIVE),
        typical={"type": "integer", "lower": 0, "upper": 40},
    ),
    "exponential": FamilyCase(
        {"type": "real", "lower": 0.5, "upper": 4}, "rate", rate(1), _inverse, RATES, steps=5,
        wrong_columns=(CATEGORY, BINARY, NEGATIVE, REAL_NEGATIVE), typical={"type": "real", "lower": 0, "upper": 50},
    ),
    "gamma": FamilyCase(
        REAL, "rate", rate(2.25), _inverse, RATES, {"shape": 2.25}, steps=4,
        wrong_columns=(CATEGORY, BINARY, NEGATIVE, REAL_NEGATIVE), typical={"type": "real", "lower": 0, "upper": 50},
    ),
    "weibull": FamilyCase(
        REAL, "rate", rate(1), _inverse, RATES, {"shape": 1.5}, steps=4,
        wrong_columns=(CATEGORY, BINARY, NEGATIVE, REAL_NEGATIVE), typical={"type": "real", "lower": 0, "upper": 10},
    ),
    "pareto": FamilyCase(
        {"type": "real", "lower": 1.5, "upper": 9}, "rate", rate(1), _inverse, RATES, {"scale": 0.5}, steps=4,
        wrong_columns=(CATEGORY, BINARY, {"type": "real", "lower": 0.25, "upper": 9}),
        typical={"type": "real", "lower": 0.5, "upper": 1e4},
    ),
    "laplace": FamilyCase(
        {"type": "real", "lower": -3, "upper": 2}, "rate", rate(1), _inverse, RATES, {"location": 0.5}, steps=4,
        typical={"type": "real", "lower": -20, "upper": 20},
    ),
    "normal_precision": FamilyCase(
        {"type": "real", "lower": -2, "upper": 3}, "rate", rate(0.5), _inverse, RATES, {"mean": 0.5}, steps=4,
        typical={"type": "real", "lower": -20, "upper": 20},
    ),
    "normal_mean": FamilyCase(
        {"type": "real", "lower": -3, "upper": 5}, "location", lambda t, m, ln: (t * m - m * m / 2) / 4,
        lambda m, ln: 0 * m, ({"lower": -1, "upper": 1.5}, {"lower": 3, "upper": 3.5}), {"sd": 2}, steps=4,
        typical={"type": "real", "lower": -3, "upper": 5},
    ),
}  # fmt: skip

PRIORS: dict[str, tuple[dict[str, Any], ...]] = {
    "probability": (
        {"alpha": 1, "beta": 1}, {"kind": "beta", "alpha": 0.4, "beta": 0.3}, {"kind": "beta", "alpha": 9, "beta": 2.5},
        {"kind": "uniform"}, {"kind": "jeffreys"},
    ),
    "rate": (
        {"shape": 2, "rate": 1}, {"kind": "gamma", "shape": 0.5, "rate": 0.1}, {"kind": "gamma", "shape": 30, "rate": 12},
        {"kind": "exponential", "rate": 0.7}, {"kind": "uniform"}, {"kind": "log_uniform"}, {"kind": "jeffreys"},
    ),
    "location": (
        {"mean": 0.5, "sd": 3}, {"kind": "normal", "mean": -40, "sd": 0.8}, {"kind": "uniform"}, {"kind": "jeffreys"},
    ),
}  # fmt: skip


def log_prior(case: FamilyCase, prior: Mapping[str, Any], theta: Any, ln: Log) -> Any:
    """Textbook log density of a named prior, up to a constant."""
    conjugate = {"probability": "beta", "rate": "gamma", "location": "normal"}
    kind = prior.get("kind", conjugate[case.support])
    match kind:
        case "beta":
            return (prior["alpha"] - 1) * ln(theta) + (prior["beta"] - 1) * ln(1 - theta)
        case "gamma":
            return (prior["shape"] - 1) * ln(theta) - prior["rate"] * theta
        case "exponential":
            return -prior["rate"] * theta
        case "normal":
            return -((theta - prior["mean"]) ** 2) / (2 * prior["sd"] ** 2)
        case "log_uniform":
            return -ln(theta)
        case "uniform":
            return 0 * theta
        case "jeffreys":
            return case.jeffreys(theta, ln)
    raise AssertionError(f"no textbook density for {kind}")


def build(name: str, prior: Mapping[str, Any] | None = None, trim: Any = None, *, typical: bool = False) -> Model:
    """A model on the case's small column and lattice, or on its typical column with the lattice as shipped."""
    case = CASES[name]
    column = case.typical if typical else case.column
    spec = {"family": name, "column": "x", **case.known}
    if prior is not None:
        spec["prior"] = prior
    if trim is not None:
        spec["trim"] = trim
    model = parse_model(spec, parse_columns({"x": column}))
    if case.steps is not None and not typical:
        model = with_steps(model, case.steps)
    return model


def with_steps(model: Model, steps: int) -> Model:
    return replace(model, statistic=replace(model.statistic, steps=steps))


def record_value(model: Model, j: Any) -> Any:
    """T of a record on lattice step j, in units of the statistic."""
    low, high = np.longdouble(model.statistic.lower), np.longdouble(model.statistic.upper)
    return low + (high - low) * np.asarray(j, dtype=np.longdouble) / model.statistic.steps


def exact_tables(model: Model, grid: PublicGrid, statistics: Iterable[tuple[int, int]]) -> Wide:
    """log P(θ_k | Σj, rows) for every statistic, in extended doubles, from the textbook density.

    A point stands for the cell of width dθ/dφ ∝ information^{−½} around it.
    """
    case = CASES[model.family]
    theta = grid.theta.astype(np.longdouble)
    prior = log_prior(case, model.prior.as_json(), theta, np.log) - case.jeffreys(theta, np.log)
    prior = prior + np.zeros_like(theta)
    at_zero = case.log_density(record_value(model, 0), theta, np.log)
    slope = case.log_density(record_value(model, 1), theta, np.log) - at_zero
    pairs = np.array(list(statistics), dtype=np.longdouble).reshape(-1, 2)
    likelihood = pairs[:, 1:] * at_zero + pairs[:, :1] * slope  # a record's log density is linear in T
    log_w = prior + np.longdouble(grid.temperature) * likelihood
    top = log_w.max(axis=1, keepdims=True)
    return log_w - top - np.log(np.exp(log_w - top).sum(axis=1, keepdims=True))


def priors_of(name: str) -> tuple[dict[str, Any], ...]:
    return PRIORS[CASES[name].support]
