"""The posterior of regression weights as a Gaussian on the ball, and what one draw of it costs.

Scaled units: Λ = λI + τ/σ²·Σzzᵀ, b = τ/σ²·Σzỹ; in units of the radius ΛR² and bR.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.ball.ball_posterior import PRECISE, SAMPLER_LAW, BallPosterior, PublicBounds
from app.core.kinds.regression.cost import draw_cost, regression_divergences
from app.core.kinds.regression.model import LinearModel
from app.core.kinds.regression.needle_bound import loss_range
from app.core.privacy.cost import ORDERS, Cost, inexact_kl
from app.core.statistics.moments import LATTICE, ExactMoments
from app.errors import InvalidModel


class RegressionBall:
    def __init__(
        self, model: LinearModel, rows: int, unit_rows: int, temperature: float, law: int = SAMPLER_LAW
    ) -> None:
        if model.scaled_sd is None:
            raise InvalidModel(
                "model.noise_sd", "a number: a posterior that is sampled exactly needs the noise declared"
            )
        self._model, self._rows, self._unit_rows = model, rows, unit_rows
        self._temperature, self._sd, self._law = temperature, model.scaled_sd, law

    @property
    def _strength(self) -> float:
        """τ/σ²: the curvature of one row."""
        return self._temperature / self._sd**2

    @property
    def bounds(self) -> PublicBounds:
        """`outward`: a row adds s·x(y − x) with x = R·zᵀu, at most s/4, or sR(1−R) where R < ½."""
        R, most = self._model.radius, self._strength * self._rows
        prior = self._model.precision * R**2
        outward = 0.0 if self._law == 1 else most * (0.25 if R >= 0.5 else R * (1 - R))
        return PublicBounds(self._model.dimension, prior, prior + most * R**2, most * R, outward)

    @property
    def reach(self) -> float:
        """The range over the ball of what one person changes, tight."""
        return self._unit_rows * self._strength * loss_range(self._model.radius, self._model.dimension)

    def _divergences(self, people: int = 1) -> tuple[float, ...]:
        """KL, then D_α at every order, where so many people change."""
        model, orders, rows = self._model, (1.0, *ORDERS), people * self._unit_rows
        return regression_divergences(
            orders, self._strength, self._rows, rows, model.precision, model.radius, model.dimension
        )

    def group_cost(self, people: int) -> Cost:
        return draw_cost(self._divergences(people)[1:], self.bounds)

    def draw_cost(self) -> Cost:
        return draw_cost(self._divergences()[1:], self.bounds)

    def kl_sup(self) -> float:
        return inexact_kl(self._divergences()[0], self.bounds.log_ratio)

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
