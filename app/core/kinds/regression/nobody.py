"""A stratum without people: the prior of a regression or of a normal law, on its ball, and without one."""

import hashlib
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.belief import POINTS, Belief
from app.core.kinds.regression.beliefs.precision_belief import seeded_wishart
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.beliefs.untrimmed import untrimmed
from app.core.kinds.regression.mean_model import MeanModel
from app.core.kinds.regression.model import SD_LEAST, LinearModel
from app.core.kinds.regression.normal_model import MeanAndSdModel
from app.core.kinds.regression.precision_model import PrecisionMatrixModel
from app.core.kinds.regression.private.model import MeasuredRegressions

Array = NDArray[np.float64]
Plain = LinearModel | MeanModel | MeanAndSdModel | PrecisionMatrixModel


class NobodysRegression:
    """No records: what is left is the prior."""

    def samples(self, model: Plain, samples: int, random_bytes: Callable[[int], bytes]) -> Array:
        return _prior_points(model, samples, SeededStream(random_bytes(32)))

    def belief(self, model: Plain, seed: bytes) -> Belief:
        wide = _untrimmed(model)
        return Belief(wide.parameters, _prior_points(wide, POINTS, SeededStream(seed)))


class NobodysRegressions:
    """The same in every private group of a stratum."""

    def samples(self, model: MeasuredRegressions, samples: int, random_bytes: Callable[[int], bytes]) -> Array:
        own = NobodysRegression()
        return np.concatenate([own.samples(model.inner, samples, random_bytes) for _ in range(model.count)], axis=1)

    def belief(self, model: MeasuredRegressions, seed: bytes) -> Belief:
        own, seeds = NobodysRegression(), [seed + place.to_bytes(4, "big") for place in range(model.count)]
        found = [own.belief(model.inner, hashlib.sha256(each).digest()) for each in seeds]
        points = np.concatenate([each.points for each in found], axis=1)
        return Belief(model.grouped(found[0].parameters), points)


def _untrimmed(model: Plain) -> Plain:
    if isinstance(model, MeanModel):
        return untrimmed(model)
    if isinstance(model, PrecisionMatrixModel):
        return untrimmed(model)
    return untrimmed(model) if isinstance(model, LinearModel) else model


def _prior_points(model: Plain, points: int, stream: SeededStream) -> Array:
    if isinstance(model, MeanAndSdModel):
        means = stream.normals(points) / np.sqrt(model.precision)
        scaled = np.stack([means, SD_LEAST ** stream.uniforms(points)], axis=1)  # log-even from SD_LEAST to 1
        return model.in_units(scaled)
    if isinstance(model, PrecisionMatrixModel):
        inverse_scale = np.repeat((model.degrees * model.scale * np.eye(model.dimension))[None], points, axis=0)
        found = seeded_wishart(model.degrees, inverse_scale, stream)
        longest = np.linalg.norm(found, axis=(1, 2), keepdims=True) / model.radius
        return model.entries(found / np.maximum(longest, 1.0))
    found = _in_ball(model.dimension, model.precision, model.radius, points, stream)
    return model.coefficients(found) if isinstance(model, LinearModel) else model.means(found)


def _in_ball(d: int, precision: float, radius: float, points: int, stream: SeededStream) -> Array:
    """N(0, I/λ) on ‖w‖ ≤ R: any direction, and λ‖w‖² of χ² with d degrees of freedom below λR²."""
    from scipy.special import gammainc, gammaincinv  # loaded when first needed: half a second

    share = stream.uniforms(points) * gammainc(d / 2, precision * radius**2 / 2)
    lengths = np.sqrt(2 * gammaincinv(d / 2, share) / precision)
    directions = stream.normals(points, d)
    return np.asarray(directions * (lengths / np.linalg.norm(directions, axis=1))[:, None])
