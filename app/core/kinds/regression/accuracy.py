"""The error to expect of a regression's release, from public numbers only: simulated from the prior, fixed seed, no data.

Coefficients are drawn from the prior and shortened until the public bounds hold what they predict, features evenly over
their public ranges, targets from the model; the mechanism is applied to the moments of `ROWS` such rows scaled up to the
dataset's size. Reported is the root mean square, over coefficients and repeats, of (mean of the samples − truth)/(upper −
lower), a share of each coefficient's public range.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.mechanisms import PerturbedStatistics, RegressionMechanism, RegressionModel
from app.core.kinds.regression.model import LinearModel
from app.core.kinds.regression.perturbed.noisy_posterior import in_ball
from app.core.noise.discrete_gaussian import seeded_noise
from app.core.statistics.moments import LATTICE, ExactMoments, MomentsRequest

Array = NDArray[np.float64]

SEED = 20_161
REPEATS = 8
ROWS = 2_000
SAMPLES_MAX = 200
"""More samples than these hardly move their mean; fewer are simulated as they are."""
UNKNOWN_SD = 0.3
"""Taken for the scaled noise of a target where the model leaves it open."""


@lru_cache(maxsize=256)
def expected_error(model: RegressionModel, mechanism: RegressionMechanism, people: int, unit_rows: int) -> float | None:
    """None for models that have no simulation. People are taken to bring one row each."""
    if not isinstance(model, LinearModel | MeanModel):
        return None
    few = mechanism.with_samples(min(mechanism.samples, SAMPLES_MAX))
    width = np.array([parameter.upper - parameter.lower for parameter in model.parameters])
    squares = []
    for repeat in range(REPEATS):
        generator = np.random.default_rng([SEED, repeat])
        truth, moments = _simulated(model, people, generator)
        released = _released(few, model, people, unit_rows, moments, generator).mean(axis=0)
        squares.append((((released - truth) / width) ** 2).mean())
    return math.sqrt(float(np.mean(squares)))


def _released(
    mechanism: RegressionMechanism,
    model: LinearModel | MeanModel,
    people: int,
    unit_rows: int,
    moments: ExactMoments,
    generator: np.random.Generator,
) -> Array:
    if isinstance(mechanism, PerturbedStatistics):
        noise = seeded_noise(generator)
        return mechanism.draw(model, people, unit_rows, moments, generator.bytes, noise)
    return mechanism.draw(model, people, unit_rows, moments, generator.bytes)


def _simulated(
    model: LinearModel | MeanModel, people: int, generator: np.random.Generator
) -> tuple[Array, ExactMoments]:
    """(coefficients in the units of the columns, moments of rows made with them)."""
    w = in_ball(generator.normal(size=(1, model.dimension)) / math.sqrt(model.precision), model.radius)
    if isinstance(model, MeanModel):
        w *= min(1.0, _room(math.sqrt(np.trace(model.scaled_covariance))) / float(np.linalg.norm(w)))
        z = generator.multivariate_normal(w[0], model.scaled_covariance, ROWS)
        z /= np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)
        return model.means(w)[0], _moments(model.statistic, z, np.zeros(ROWS), people)
    scaled = _features(model, generator)
    z = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), model.norm_bound)
    sd = UNKNOWN_SD if model.scaled_sd is None else model.scaled_sd
    w *= min(1.0, _room(sd) / float(np.abs(z @ w[0]).max()))
    target = np.clip(z @ w[0] + sd * generator.normal(size=ROWS), -1.0, 1.0)
    return model.coefficients(w)[0], _moments(model.statistic, z, target, people)


def _room(sd: float) -> float:
    """How far from the middle a mean may lie so that three sds on top stay within 1."""
    return max(0.1, 1 - 3 * sd)


def _features(model: LinearModel, generator: np.random.Generator) -> Array:
    columns = [np.ones(ROWS)] if model.intercept else []
    drawn: dict[str, NDArray[np.int64]] = {}
    sizes = {name: len(levels) for name, levels in model.levels}
    for coordinate in model.coordinates:
        if coordinate.kind == "level":
            place = drawn.setdefault(coordinate.column, generator.integers(sizes[coordinate.column], size=ROWS))
            levels = dict(model.levels)[coordinate.column]
            columns.append((place == levels.index(str(coordinate.level))).astype(np.float64))
        elif coordinate.kind == "binary":
            columns.append(generator.choice([-1.0, 1.0], ROWS))
        else:
            columns.append(generator.uniform(-1.0, 1.0, ROWS))
    return np.stack(columns, axis=1)


def _moments(request: MomentsRequest, z: Array, target: Array, people: int) -> ExactMoments:
    Z, Y, times = z * request.steps, target * LATTICE, people / len(z)

    def whole(value: Array) -> NDArray[np.int64]:
        return np.rint(value * times).astype(np.int64)

    square = int(np.rint(float(Y @ Y) * times))
    return ExactMoments(whole(Z.T @ Z), whole(Z.T @ Y), square, whole(Z.sum(axis=0)), people)
