"""P(an interval holds θ | A, R): with the private products A as well as R, what is left of θ has a law in closed form.

Its average over simulated A and R is the coverage, as the share of truths held is, with far less error: a truth is in or out, a
probability is .9 give or take what A would change. Weights given A and the noisy v̂ are normal, and those of a regression whose
noise nobody declared have the weights p(q̂ | w, σ, v̂) besides; a precision matrix given A is Wishart.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import wishart

from app.core.kinds.regression.beliefs.ball_integral import ball_moments, log_integral
from app.core.kinds.regression.beliefs.drawn_mean_belief import believed_means
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.mechanisms.baps import RegressionBaps
from app.core.kinds.regression.mechanisms.perturbed_statistics import PerturbedStatistics, perturbation_of
from app.core.kinds.regression.model import LinearModel
from app.core.noise.discrete_gaussian import seeded_noise
from app.core.statistics.moments import LATTICE, ExactMoments
from tests.core.regression.belief_coverage import DELTA, POINTS, Case

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

DRAWS, DRAWS_OF_MEANS = 400, 4_000
POINTS_DRAWN = 399
REACH, CELLS = 9.0, 61
LEVELS = (0.9, 0.5)


def shares(case: Case, people: int, epsilon: float, datasets: int, seed: int) -> Array:
    """(datasets, levels, parameters and derived): P(held | A, R), and after that in the same order whether the truth was held."""
    rng, mechanism = np.random.default_rng([seed, people]), PerturbedStatistics(1, epsilon, DELTA)
    perturbation, found = perturbation_of(case.model, people, 1), []
    scale = mechanism.scale(perturbation, 1)
    for dataset in range(datasets):
        simulated = case.simulate(people, rng)
        measured = seeded_noise(rng)(perturbation.values(simulated.private), scale * perturbation.ratios)
        points = perturbation.believed(measured, scale, POINTS, SeededStream(b"%d %d" % (seed, dataset)))
        sds = scale * perturbation.ratios
        theta, weights = _given(case.model, people, simulated.private, measured, sds, simulated.sd, rng)
        found.append(_held(case, points, theta, weights, simulated.truth))
    return np.array(found)


def drawn_shares(case: Case, people: int, samples: int, temperature: float, datasets: int, seed: int) -> Array:
    """The same for draws of a mean, given R alone."""
    rng, mechanism, found = np.random.default_rng([seed, people, samples]), RegressionBaps(samples, temperature), []
    for dataset in range(datasets):
        truth, private, _ = case.simulate(people, rng)
        drawn = mechanism.draw(case.model, people, 1, private, rng.bytes)
        points = believed_means(
            case.model, people, temperature, drawn, POINTS_DRAWN, SeededStream(b"%d %d" % (seed, dataset))
        )
        theta = _means(case.model, people, temperature, drawn, rng)
        found.append(_held(case, points, theta, np.full(len(theta), 1 / len(theta)), truth))
    return np.array(found)


def _held(case: Case, points: Array, theta: Array, weights: Array, truth: Array) -> Array:
    """(levels, two, parameters and derived)."""
    ends, found = np.sort(case.with_derived(points), axis=0), []
    values, true = case.with_derived(theta), case.with_derived(truth[None, :])[0]
    for level in LEVELS:
        aside = round((1 - level) / 2 * (len(ends) + 1))
        low, high = ends[aside - 1], ends[-aside]
        found.append([weights @ ((values >= low) & (values <= high)), (true >= low) & (true <= high)])
    return np.array(found, dtype=np.float64)


def _means(model: MeanModel, people: int, temperature: float, drawn: Array, rng: np.random.Generator) -> Array:
    """Draws of p(m|R) by a table over the sum S of the rows, around its top and along the axes of the curvature there.

    Of two columns, in the eigenvectors of Σ⁻¹ and in units of the radius R: log p(S|R) = N·(bᵀū − ψ(b)) − ½Σ S²/Var S, b = RτωS.
    """
    values, vectors = np.linalg.eigh(np.linalg.inv(model.scaled_covariance))
    mean = (drawn / model.norm_bound / model.radius).mean(axis=0) @ vectors
    spread = np.sqrt(people**2 / model.precision + people / values)
    tilt = model.radius * temperature * values * spread
    curvature = model.radius**2 * (model.precision + people * temperature * values)

    def log_mass(x: Array) -> Array:
        return len(drawn) * (x * tilt @ mean - log_integral(curvature, x * tilt)) - 0.5 * (x**2).sum(axis=1)

    def slope(x: Array) -> Array:
        return len(drawn) * tilt * (ball_moments(curvature, x[None] * tilt).mean[0] - mean) + x

    def bend(x: Array) -> Array:
        return len(drawn) * np.outer(tilt, tilt) * ball_moments(curvature, x[None] * tilt).covariance[0] + np.eye(2)

    top = minimize(lambda x: -log_mass(x[None])[0], np.zeros(2), jac=slope, hess=bend, method="trust-exact").x
    root = np.linalg.cholesky(np.linalg.inv(bend(top)))
    axis = np.linspace(-REACH, REACH, CELLS)
    cells = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    log_masses = log_mass(top + cells @ root.T)
    mass = np.exp(log_masses - log_masses.max())
    chosen = cells[rng.choice(len(cells), DRAWS_OF_MEANS, p=mass / mass.sum())]
    chosen = chosen + (axis[1] - axis[0]) * (rng.random(chosen.shape) - 0.5)
    precision = model.precision + people * values
    sums = spread * (top + chosen @ root.T)
    m = values * sums / precision + rng.standard_normal(sums.shape) / np.sqrt(precision)
    return np.asarray(m @ vectors.T * model.norm_bound)


def _given(
    model: Any, people: int, private: ExactMoments, measured: Whole, sds: Array, sd: float, rng: np.random.Generator
) -> tuple[Array, Array]:
    """(draws of the parameters in the units of the columns, their weights)."""
    if isinstance(model, LinearModel):
        return _weights(model, people, private, measured, sds, sd, rng)
    products = private.products / float(model.statistic.steps) ** 2
    prior = model.degrees * model.scale * np.eye(model.dimension)
    omega = wishart.rvs(model.degrees + people, np.linalg.inv(prior + products), size=DRAWS, random_state=rng)
    upper = np.triu_indices(model.dimension)
    return (omega / model.norm_bound**2)[:, upper[0], upper[1]], np.full(DRAWS, 1 / DRAWS)


def _weights(
    model: LinearModel,
    people: int,
    private: ExactMoments,
    measured: Whole,
    sds: Array,
    sd: float,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    d, steps = model.dimension, float(model.statistic.steps)
    products, identity = private.products / steps**2, np.eye(d)
    seen, noise = measured[-1 - d : -1] / (steps * LATTICE), sds[-2] / (steps * LATTICE)
    inverse = np.linalg.inv(sd**2 * products + noise**2 * identity)
    precision = model.precision * identity + products @ inverse @ products
    w = np.linalg.solve(precision, products @ inverse @ seen)
    w = w + np.linalg.solve(np.linalg.cholesky(precision).T, rng.standard_normal((d, DRAWS))).T
    offset, matrix = model._map
    log_weight = np.zeros(DRAWS)
    if model.noise_sd is None:
        log_weight = _log_square(
            products, inverse, w, seen, sd, people, measured[-1] / LATTICE**2, sds[-1] / LATTICE**2, rng
        )
    weight = np.exp(log_weight - log_weight.max())
    return offset + w @ matrix.T, weight / weight.sum()


def _log_square(
    products: Array,
    inverse: Array,
    w: Array,
    seen: Array,
    sd: float,
    people: int,
    square: float,
    noise: float,
    rng: Any,
) -> Array:
    """log p(q̂ | w, ξ): Σỹ² = wᵀAw + 2wᵀξ + ξᵀA⁻¹ξ + σ²χ²_{n−d}, and ξ = Σzε given w and v̂ is drawn."""
    gain, d = sd**2 * products @ inverse, len(products)
    left = np.linalg.cholesky(
        sd**2 * products - sd**2 * gain @ products + 1e-12 * np.trace(products) * sd**2 * np.eye(d)
    )
    xi = (seen - w @ products) @ gain.T + rng.standard_normal(w.shape) @ left.T
    explained = ((w @ products + 2 * xi) * w).sum(axis=1) + (xi @ np.linalg.inv(products) * xi).sum(axis=1)
    variance = 2 * sd**4 * (people - d) + noise**2
    return np.asarray(-((square - explained - sd**2 * (people - d)) ** 2) / (2 * variance) - math.log(variance) / 2)
