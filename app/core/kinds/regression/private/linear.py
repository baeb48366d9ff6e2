"""Noisy moments of a linear regression in one private group, and its coefficients given these.

Given A = Σzzᵀ the law of the weights is that of everybody's rows (`linear_belief.py`); what differs is what A there may be, of
any number of rows (`latent_products.py`). The number of rows is measured twice, by itself and as the square of the intercept.
Where that square is not their number, without an intercept or where records are shortened, A says nothing of it: σ is then
believed with the mean and the variance of what was measured, held to the fewest and the most there may be.
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
from app.core.kinds.regression.private.group_noise import Rows, Weights, rows_window
from app.core.noise.discrete_gaussian import Whole
from app.core.numerics.normals import RandomBytes, standard_normals
from app.core.parameters import Parameter
from app.core.statistics.moments import LATTICE, ExactMoments
from app.errors import CalibratedUnavailable

Array = NDArray[np.float64]

TRIED = 1_025


class GroupLinear:
    """`values` are the upper triangle of ΣZZᵀ, ΣZY, ΣY² where the noise of the target is not declared, and the number of rows."""

    def __init__(self, model: LinearModel, people: int, unit_rows: int, rows: Rows, weights: Weights) -> None:
        self._model, self._people, self._unit_rows, self._rows = model, people, unit_rows, rows
        self._counted = model.intercept and not model.clips
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
        if not self._counted and not self._rows[0]:
            raise CalibratedUnavailable(
                "without an intercept, or where records are shortened, products do not tell how many rows a group has, and "
                "what was measured cannot be weighed by how many there may be"
            )
        return untrimmed(self._model).parameters

    def believed(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> Array:
        model = untrimmed(self._model)
        seen = self._moments(noisy, scale)
        rows, rows_variance = (None, 0.0) if self._counted else self._rows_seen(noisy, scale)
        targets = NoisyTargets(
            cross=seen.cross,
            cross_variance=seen.cross_variance,
            square=seen.square,
            square_variance=1.0 if model.noise_sd is not None else self._square_variance(scale),
            rows=rows,
            rows_variance=rows_variance,
            sd=model.scaled_sd,
            precision=model.precision,
        )
        least = self._rows[0] if self._counted else None
        latent = LatentProducts(
            model, self._people, self._unit_rows, seen.products, seen.products_variance, rows_least=least
        )
        return model.coefficients(in_ball(believed_weights(latent, targets, points, stream), model.radius))

    def _square_variance(self, scale: float) -> float:
        return (scale * float(self.ratios[-2]) / LATTICE**2) ** 2

    def _rows_seen(self, noisy: Whole, scale: float) -> tuple[float, float]:
        """(mean, variance) given their noisy number alone: every number possible was as likely before."""
        seen, sd = float(noisy[-1]) / LATTICE**2, scale * float(self.ratios[-1]) / LATTICE**2
        tried = np.linspace(*rows_window(seen, sd, self._rows, TRIED), TRIED)
        log_mass = -0.5 * ((tried - seen) / sd) ** 2
        share = np.exp(log_mass - log_mass.max())
        mean = float(np.average(tried, weights=share))
        return mean, float(np.average((tried - mean) ** 2, weights=share))

    def _moments(self, noisy: Whole, scale: float) -> NoisyMoments:
        """In units of z and of the scaled target; the square of an intercept with what the number of rows says of it."""
        model, d, steps = self._model, self._model.dimension, float(self._model.statistic.steps)
        entries, area = len(self._upper[0]), float(LATTICE**2)
        products, variance = np.zeros((d, d)), np.zeros((d, d))
        products[self._upper] = noisy[:entries] / steps**2
        variance[self._upper] = (scale * self.ratios[:entries] / steps**2) ** 2
        rows, rows_variance = noisy[-1] / area, (scale * self.ratios[-1] / area) ** 2
        if self._counted:
            one = (math.floor(steps / model.norm_bound + 0.5) / steps) ** 2
            both = 1 / variance[0, 0] + 1 / (rows_variance * one**2)
            products[0, 0] = (products[0, 0] / variance[0, 0] + rows / (rows_variance * one)) / both
            variance[0, 0] = 1 / both
        products, variance = (np.triu(m) + np.triu(m, 1).T for m in (products, variance))
        square = 0.0 if model.noise_sd is not None else float(noisy[-2]) / area
        seen_rows = min(max(rows, self._rows[0], 1.0), self._rows[1])
        cross = noisy[entries : entries + d] / (steps * LATTICE)
        return NoisyMoments(products, variance, cross, (scale / (steps * LATTICE)) ** 2, square, seen_rows)
