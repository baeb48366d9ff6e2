"""Truth and rows drawn from declared priors, released and believed; how often intervals of points hold the truth.

A truth drawn from the prior is one more draw of p(θ|R), so its rank among 39 points is even on 0, …, 39: the interval from the
2nd to the 38th point holds it with probability .9 exactly, that from the 10th to the 30th with .5. (Points of strata instead of
independent ones would hold it a thirty-ninth more often: take 399.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.core.kinds import parse_model
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.mechanisms.perturbed_statistics import PerturbedStatistics, perturbation_of
from app.core.kinds.regression.perturbed.perturbed_precision import wishart
from app.core.noise.discrete_gaussian import seeded_noise
from app.core.schema import parse_columns
from app.core.statistics.moments import LATTICE, ExactMoments, MomentsRequest

Array = NDArray[np.float64]

POINTS = 39
DELTA = 1e-6
NUMBER = {"type": "real", "lower": -1, "upper": 1}
COLUMNS: dict[str, dict[str, Any]] = {
    "n": NUMBER,
    "b": {"type": "binary"},
    "l": {"type": "categorical", "levels": ["p", "q", "r"]},
}


class Simulated(NamedTuple):
    """Parameters in the units of the columns, moments of rows made with them, and the noise of a regression's rows."""

    truth: Array
    private: ExactMoments
    sd: float = 0.0


@dataclass(frozen=True)
class Case:
    model: Any
    simulate: Callable[[int, np.random.Generator], Simulated]
    derived: Callable[[Array], Array]
    """(N, parameters) → (N, derived numbers)."""

    def with_derived(self, theta: Array) -> Array:
        return np.concatenate([theta, self.derived(theta)], axis=1)


def moments(request: MomentsRequest, z: Array, y: Array) -> ExactMoments:
    """Of records on the lattice. Nothing is clipped, nor are sums clamped: coverage is said of rows within their bounds."""
    whole, target = np.rint(z * request.steps).astype(np.int64), np.rint(y * LATTICE).astype(np.int64)
    return ExactMoments(whole.T @ whole, whole.T @ target, int(target @ target), whole.sum(axis=0), len(z))


def linear_case(kinds: str, features: str, noise_sd: float | None, precision: float = 25.0) -> Case:
    """`kinds`: n(umber), b(inary) or l(evels) for each feature; `features`: the law of their rows, which no prior knows."""
    names = [f"x{i}" for i in range(len(kinds))]
    columns = {name: COLUMNS[kind] for name, kind in zip(names, kinds, strict=True)} | {"y": NUMBER}
    spec = {"family": "linear_regression", "target": "y", "features": names, "noise_sd": noise_sd}
    model = parse_model(spec | {"prior": {"precision": precision}}, parse_columns(columns))

    def simulate(people: int, rng: np.random.Generator) -> Simulated:
        w = rng.normal(size=(1, model.dimension)) / math.sqrt(precision)
        sd = noise_sd or math.exp(rng.uniform(math.log(0.01), 0))
        z = _features(model, features, people, rng) / model.norm_bound
        offset, matrix = model._map
        rows = moments(model.statistic, z, z @ w[0] + sd * rng.normal(size=people))
        return Simulated(offset + matrix @ w[0], rows, sd)

    return Case(model, simulate, _derived)


def _features(model: Any, law: str, people: int, rng: np.random.Generator) -> Array:
    shared, columns = rng.normal(size=people), [np.ones(people)]
    levels: dict[str, NDArray[np.int64]] = {}
    for coordinate in model.coordinates:
        if coordinate.kind == "level":
            place = levels.setdefault(coordinate.column, rng.choice(3, people, p=[0.5, 0.3, 0.2]))
            columns.append((place == "pqr".index(coordinate.level)).astype(float))
        elif coordinate.kind == "binary":
            columns.append(np.where(rng.random(people) < (0.5 if law == "even" else 0.2), 1.0, -1.0))
        elif law == "even":
            columns.append(rng.uniform(-1, 1, people))
        else:
            columns.append((0.25 * (shared + rng.normal(size=people))).clip(-1, 1))
    return np.stack(columns, axis=1)


def mean_case(radius: float = 1.0) -> Case:
    """Two columns; the prior's sd is 0.2 of a half-width, the rows' 0.2: one row in two thousand lies beyond a bound."""
    covariance = np.array([[0.04, 0.01], [0.01, 0.03]])
    spec = {
        "family": "mvn_mean",
        "columns": ["a", "b"],
        "covariance": covariance.tolist(),
        "prior": {"precision": 50.0},
        "radius": radius,
    }
    model = parse_model(spec, parse_columns({"a": NUMBER, "b": NUMBER}))

    def simulate(people: int, rng: np.random.Generator) -> Simulated:
        m = rng.normal(size=2) / math.sqrt(50)
        z = rng.multivariate_normal(m, model.scaled_covariance, people)
        return Simulated(m * model.norm_bound, moments(model.statistic, z, np.zeros(people)))

    return Case(model, simulate, _derived)


def precision_case(dimension: int) -> Case:
    names = [f"x{i}" for i in range(dimension)]
    spec = {"family": "normal_precision_matrix", "columns": names}
    model = parse_model(spec, parse_columns(dict.fromkeys(names, NUMBER)))
    upper = np.triu_indices(dimension)

    def simulate(people: int, rng: np.random.Generator) -> Simulated:
        omega = wishart(model.degrees, (model.degrees * model.scale * np.eye(dimension))[None], rng)[0]
        z = np.linalg.solve(np.linalg.cholesky(omega).T, rng.standard_normal((dimension, people))).T
        return Simulated((omega / model.norm_bound**2)[upper], moments(model.statistic, z, np.zeros(people)))

    return Case(model, simulate, _derived)


def normal_case() -> Case:
    model = parse_model({"family": "normal", "column": "a"}, parse_columns({"a": NUMBER}))

    def simulate(people: int, rng: np.random.Generator) -> Simulated:
        m, s = rng.normal() / math.sqrt(model.precision), math.exp(rng.uniform(math.log(0.01), 0))
        x = m + s * rng.normal(size=(people, 1))
        return Simulated(np.array([m, s]), moments(model.statistic, x, np.zeros(people)))

    return Case(
        model, simulate, lambda theta: np.stack([theta @ [1, 1.645], theta[:, 1] ** 2, theta @ [1, -1]], axis=1)
    )


def _derived(theta: Array) -> Array:
    """A sum (a prediction, of a regression), a difference and a ratio."""
    return np.stack([theta[:, 0] + 0.5 * theta[:, 1], theta[:, 1] - theta[:, 0], theta[:, 1] / theta[:, 0]], axis=1)


def ranks(
    case: Case, people: int, epsilon: float, datasets: int, seed: int, points: int = POINTS, unit_rows: int = 1
) -> NDArray[np.int64]:
    """(datasets, parameters and derived): how many points lie below the truth. Of several rows a person any number, all alike."""
    rng, mechanism = np.random.default_rng(seed), PerturbedStatistics(1, epsilon, DELTA)
    perturbation, found = perturbation_of(case.model, people, unit_rows), []
    scale = mechanism.scale(perturbation, unit_rows)
    for dataset in range(datasets):
        rows = people if unit_rows == 1 else int(rng.integers(people, people * unit_rows + 1))
        truth, private, _ = case.simulate(rows, rng)
        measured = seeded_noise(rng)(perturbation.values(private), scale * perturbation.ratios)
        drawn = perturbation.believed(measured, scale, points, SeededStream(b"%d %d" % (seed, dataset)))
        found.append(rank_of(case, truth, drawn))
    return np.array(found)


def rank_of(case: Case, truth: Array, points: Array) -> NDArray[np.int64]:
    values = case.with_derived(np.concatenate([truth[None, :], points]))
    return np.asarray((values[1:] < values[0]).sum(axis=0))


def held(rank: NDArray[np.int64], level: float, points: int = POINTS) -> NDArray[np.bool_]:
    aside = round((1 - level) / 2 * (points + 1))
    return np.asarray((rank >= aside) & (rank <= points - aside))
