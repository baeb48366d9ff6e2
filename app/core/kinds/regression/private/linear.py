"""Noisy moments of a linear regression in one private group, and its coefficients given these.

Given A = Σzzᵀ the law of the weights is that of everybody's rows (`linear_belief.py`); what differs is what A there may be, of
any number of rows (`latent_products.py`). The number of rows is measured twice, by itself and as the square of the intercept.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.latent_products import LatentProducts
from app.core.kinds.regression.beliefs.linear_belief import NoisyTargets, believed_weights
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.beliefs.untrimmed import untrimmed
from app.core.kinds.regression.model import LinearModel
from app.core.kinds.regression.perturbed.noisy_posterior import NoisyMoments, in_ball, noise_aware_posterior
from app.core.kinds.regression.private.group_noise import Weights
from app.core.noise.discrete_gaussian import Whole
from app.core.numerics.normals import RandomBytes, standard_normals
from app.core.parameters import Parameter
from app.core.statistics.moments import LATTICE, ExactMoments
from app.errors import CalibratedUnavailable, InvalidMechanism

Array = NDArray[np.float64]


class GroupLinear:
    """`values` are the upper triangle of ΣZZᵀ, ΣZY, ΣY² where the noise of the target is not declared, and the number of rows."""

    def __init__(self, model: LinearModel, people: int, unit_rows: int, weights: Weights) -> None:
        if model.noise_sd is None and unit_rows > 1:
            raise InvalidMechanism("model.noise_sd", "a number, where people have several rows")
        self._model, self._people, self._unit_rows = model, people, unit_rows
        self._upper = np.triu_indices(model.dimension)
        aside = np.where(self._upper[0] != self._upper[1], math.sqrt(0.5), 1.0)
        square = [] if model.noise_sd is not None else [weights.square_ratio]
        self.ratios: Array = np.concatenate([aside, np.ones(model.dimension), square, [weights.rows_ratio]])
        self.sensitivity = weights.within * LATTICE**2

    def values(self, moments: ExactMoments) -> Whole:
        square = [] if self._model.noise_sd is not None else [moments.square]
        parts = [moments.products[self._upper], moments.cross, square, [moments.rows * LATTICE**2]]
        return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts])

    def draws(self, noisy: Whole, scale: float, samples: int, random_bytes: RandomBytes) -> Array:
        """As everybody's, with the number of rows as it was seen."""
        model = self._model
        posterior = noise_aware_posterior(self._moments(noisy, scale), model.scaled_sd, model.precision, model.radius)
        w = posterior.transform(standard_normals((samples, model.dimension), random_bytes))
        return model.coefficients(in_ball(w, model.radius))

    @property
    def believed_parameters(self) -> tuple[Parameter, ...]:
        """Raises CalibratedUnavailable."""
        if not self._model.intercept or self._model.clips:
            raise CalibratedUnavailable(
                "without an intercept, or where records are shortened, products do not tell how many rows a group has, and "
                "what was measured cannot be weighed by how many there may be"
            )
        return untrimmed(self._model).parameters

    def believed(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> Array:
        model = untrimmed(self._model)
        seen = self._moments(noisy, scale)
        targets = NoisyTargets(
            cross=seen.cross,
            cross_variance=seen.cross_variance,
            square=seen.square,
            square_variance=1.0 if model.noise_sd is not None else self._square_variance(scale),
            rows=None,
            sd=model.scaled_sd,
            precision=model.precision,
        )
        latent = LatentProducts(
            model, self._people, self._unit_rows, seen.products, seen.products_variance, any_rows=True
        )
        return model.coefficients(in_ball(believed_weights(latent, targets, points, stream), model.radius))

    def _square_variance(self, scale: float) -> float:
        return (scale * float(self.ratios[-2]) / LATTICE**2) ** 2

    def _moments(self, noisy: Whole, scale: float) -> NoisyMoments:
        """In units of z and of the scaled target; the square of an intercept with what the number of rows says of it."""
        model, d, steps = self._model, self._model.dimension, float(self._model.statistic.steps)
        entries, area = len(self._upper[0]), float(LATTICE**2)
        products, variance = np.zeros((d, d)), np.zeros((d, d))
        products[self._upper] = noisy[:entries] / steps**2
        variance[self._upper] = (scale * self.ratios[:entries] / steps**2) ** 2
        rows, rows_variance = noisy[-1] / area, (scale * self.ratios[-1] / area) ** 2
        if model.intercept and not model.clips:
            one = (math.floor(steps / model.norm_bound + 0.5) / steps) ** 2
            both = 1 / variance[0, 0] + 1 / (rows_variance * one**2)
            products[0, 0] = (products[0, 0] / variance[0, 0] + rows / (rows_variance * one)) / both
            variance[0, 0] = 1 / both
        products, variance = (np.triu(m) + np.triu(m, 1).T for m in (products, variance))
        square = 0.0 if model.noise_sd is not None else float(noisy[-2]) / area
        cross = noisy[entries : entries + d] / (steps * LATTICE)
        return NoisyMoments(products, variance, cross, (scale / (steps * LATTICE)) ** 2, square, max(rows, 1.0))
