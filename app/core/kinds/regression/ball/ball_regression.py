"""The posterior of regression weights as a Gaussian on the ball, and what one draw of it costs.

Scaled units: Λ = λI + τ/σ²·Σzzᵀ, b = τ/σ²·Σzỹ; in units of the radius ΛR² and bR.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.ball.ball_posterior import PRECISE, BallPosterior, PublicBounds
from app.core.kinds.regression.cost import ball_draw_cost, kl_bound
from app.core.kinds.regression.model import LinearModel
from app.core.privacy.cost import Cost
from app.core.statistics.moments import LATTICE, ExactMoments
from app.errors import InvalidModel


class RegressionBall:
    def __init__(self, model: LinearModel, rows: int, unit_rows: int, temperature: float) -> None:
        if model.scaled_sd is None:
            raise InvalidModel(
                "model.noise_sd", "a number: a posterior that is sampled exactly needs the noise declared"
            )
        self._model, self._rows, self._unit_rows = model, rows, unit_rows
        self._temperature, self._sd = temperature, model.scaled_sd

    @property
    def _strength(self) -> float:
        """τ/σ²: the curvature of one row."""
        return self._temperature / self._sd**2

    @property
    def bounds(self) -> PublicBounds:
        R, most = self._model.radius, self._strength * self._rows
        return PublicBounds(
            self._model.dimension, self._model.precision * R**2, (self._model.precision + most) * R**2, most * R
        )

    @property
    def reach(self) -> float:
        """r = kτ(Y+R)²/σ², Y = 1."""
        return self._unit_rows * self._strength * (1 + self._model.radius) ** 2

    @property
    def lipschitz(self) -> float:
        return self._unit_rows * self._strength * (2 + self._model.radius)

    @property
    def taken(self) -> float:
        return self._unit_rows * self._strength

    def draw_cost(self) -> Cost:
        return ball_draw_cost(self.reach, self.lipschitz, self._model.precision, self.taken, self.bounds)

    def kl_sup(self) -> float:
        return kl_bound(self.reach, self.lipschitz, self._model.precision, self.bounds)

    def papers_lipschitz(self) -> float:
        """The papers' L(w) = n(1 + 2‖w‖₁ + d‖w‖₂)/(2σ²) at its largest on the ball, with their factor n."""
        d, R = self._model.dimension, self._model.radius
        return self._rows * (1 + 2 * math.sqrt(d) * R + d * R) / (2 * self._sd**2)

    def posterior(self, moments: ExactMoments) -> BallPosterior:
        R = PRECISE.mpf(self._model.radius)
        each = PRECISE.mpf(self._temperature) / PRECISE.mpf(self._sd) ** 2 / LATTICE**2
        prior = PRECISE.mpf(self._model.precision) * R**2
        precision = [
            [int(value) * each * R**2 + (prior if i == j else 0) for j, value in enumerate(row)]
            for i, row in enumerate(moments.products)
        ]
        return BallPosterior(precision, [int(value) * each * R for value in moments.cross], self.bounds)

    def parameters(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._model.coefficients(u * self._model.radius)
