"""The posterior of a normal mean as a Gaussian on the ball, and what one draw of it costs.

Λ = λI + nτΣ_z⁻¹ does not depend on the data, b = τΣ_z⁻¹Σz. Between neighbours the log-posterior changes by the linear
b(m) = τ(z − z')ᵀΣ_z⁻¹m, ‖z − z'‖ ≤ 2: range 4Rτω on the ball, ω the largest eigenvalue of Σ_z⁻¹. On a segment of direction e,
with x = eᵀΣ_z⁻¹e, it has slope at most γ = 2τ√(ωx), since ‖Σ_z⁻¹e‖² ≤ ωx, and the posterior curvature λ + nτx. With √x·t for t
that is slope 2τ√ω and curvature λ/x + nτ on |t| ≤ √x·R, so x = ω is the worst. `cost.py` has the bound, which falls
with n, and `few_people_mean.py` what few people cannot reach of it.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.ball.ball_posterior import PRECISE, SAMPLER_LAW, BallPosterior, PublicBounds
from app.core.kinds.regression.cost import draw_cost, tilted_bound
from app.core.kinds.regression.few_people_mean import ball_bound, line_bound
from app.core.kinds.regression.mean_model import MeanModel
from app.core.privacy.cost import ORDERS, Cost, inexact_kl
from app.core.statistics.moments import LATTICE, ExactMoments

SPARE = 1 + 1e-6
"""Room for Σ_z⁻¹ and its eigenvalue in doubles, whose relative error CONDITION_MAX keeps below 10⁻⁷."""


class MeanBall:
    def __init__(self, model: MeanModel, people: int, temperature: float, law: int = SAMPLER_LAW) -> None:
        self._model, self._people, self._temperature, self._law = model, people, temperature, law
        inverse = np.linalg.inv(model.scaled_covariance)
        self._inverse = (inverse + inverse.T) / 2
        values = np.linalg.eigvalsh(self._inverse)
        self._smallest, self._largest = float(values[0]), float(values[-1]) * SPARE

    @property
    def lowest(self) -> float:
        """The curvature λ + nτω along the axis where a record moves the posterior most."""
        return self._model.precision + self._people * self._temperature * self._largest

    @property
    def bounds(self) -> PublicBounds:
        """`outward`: R·nτ·uᵀΣ_z⁻¹(z̄ − Ru) ≤ R·nτ·(√(ωx) − Rx), x = uᵀΣ_z⁻¹u, with its top at x = ω/4R²."""
        R = self._model.radius
        most = self._people * self._temperature * self._largest
        share = min(max(0.25 / R**2, self._smallest / self._largest), 1.0)  # x/ω
        outward = 0.0 if self._law == 1 else max(R * most * (math.sqrt(share) - R * share), 0.0)
        prior = self._model.precision * R**2
        return PublicBounds(self._model.dimension, prior, prior + most * R**2, most * R, outward)

    @property
    def reach(self) -> float:
        return 4 * self._model.radius * self._temperature * self._largest

    @property
    def lipschitz(self) -> float:
        return 2 * self._temperature * self._largest

    def _divergence(self, order: float) -> float:
        R, people, slope = self._model.radius, self._people, self.lipschitz
        lowest = self._model.precision + people * self._temperature * self._smallest / SPARE
        bounds = [
            tilted_bound(order, slope, self.lowest, R),
            ball_bound(order, slope, (lowest, self.lowest), (R, self._model.dimension), people),
        ]
        if self._model.dimension == 1:
            bounds.append(line_bound(order, slope, lowest, R, people))
        return min(bounds)

    def draw_cost(self) -> Cost:
        return draw_cost(tuple(self._divergence(order) for order in ORDERS), self.bounds)

    def group_cost(self, people: int) -> Cost:
        """So many people tilt the posterior so many times as much; the curvature is everybody's."""
        slope, R = people * self.lipschitz, self._model.radius
        return draw_cost(tuple(tilted_bound(order, slope, self.lowest, R) for order in ORDERS), self.bounds)

    def kl_sup(self) -> float:
        return inexact_kl(self._divergence(1.0), self.bounds.log_ratio)

    def papers_lipschitz(self) -> float:
        """ρ = ‖z − z'‖ ≤ 2: the gradient of the log-likelihood, at most ω(1 + R)."""
        return 2 * self._largest * (1 + self._model.radius)

    def posterior(self, moments: ExactMoments) -> BallPosterior:
        """The matrix Σ_z⁻¹ that is sampled is the public one in doubles: the analysis is of that matrix."""
        R, tau = PRECISE.mpf(self._model.radius), PRECISE.mpf(self._temperature)
        public = [[PRECISE.mpf(float(value)) for value in row] for row in self._inverse]
        prior = PRECISE.mpf(self._model.precision)
        precision = [
            [(self._people * tau * value + (prior if i == j else 0)) * R**2 for j, value in enumerate(row)]
            for i, row in enumerate(public)
        ]
        sums = [PRECISE.mpf(int(value)) / LATTICE for value in moments.sums]
        linear = [tau * R * PRECISE.fdot(row, sums) for row in public]
        return BallPosterior(precision, linear, self.bounds)

    def parameters(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._model.means(u * self._model.radius)
