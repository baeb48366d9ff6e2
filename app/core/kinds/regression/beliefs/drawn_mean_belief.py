"""What may be believed about a normal mean given N draws from its tempered posterior on the ball.

In the eigenvectors of Σ_z⁻¹, with eigenvalues ω_i, everything is diagonal. The sum S of the records has S_i ~ N(0, n²/λ + n/ω_i)
by the whole Gaussian prior, and a draw u, in units of R, has density exp(−½uᵀΛu + bᵀu − ψ(b)) on the unit ball, with
Λ_i = R²(λ + nτω_i) public and b_i = Rτω_i·S_i. So N draws tell of b by their mean alone,

    log p(b|R) = N·(bᵀū − ψ(b)) − ½Σ_i b_i²/Var b_i,

concave, with ψ, E u and Cov u as in `ball_integral.py`. Chains move around the Gaussian at its top; then m given S is
N(ωS/(λ + nω), 1/(λ + nω)). The lattice that draws lie on is far finer than their sd.
"""

import math

import numpy as np
from numpy.typing import NDArray

from app.core.kinds.regression.beliefs.ball_integral import ball_moments, log_integral
from app.core.kinds.regression.beliefs.elliptical_slice import SliceChains
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.kinds.regression.beliefs.untrimmed import untrimmed
from app.core.kinds.regression.mean_model import MeanModel

Array = NDArray[np.float64]

ROUNDS = 200
NEAR = 1e-10
HALVINGS = 60
BURN_IN = 20
CHAINS, THIN = 256, 6
WIDER = 1.25


def believed_means(
    model: MeanModel, people: int, temperature: float, samples: Array, points: int, stream: SeededStream
) -> Array:
    """(points, d), in the units of the columns; `samples` are a reader's first draws, in the same."""
    values, vectors = np.linalg.eigh(np.linalg.inv(model.scaled_covariance))
    scale = model.norm_bound * np.array([c.half_width for c in model.coordinates])
    centre = np.array([c.centre for c in model.coordinates])
    u = ((samples - centre) / scale / model.radius) @ vectors
    drawn = _DrawnSums(model, people, temperature, values, u)
    chains = SliceChains(
        np.zeros(len(values)),
        np.full(len(values), WIDER),
        np.zeros((min(points, CHAINS), len(values))),
        drawn.log_factor,
        stream,
    )
    found: list[Array] = []
    while sum(map(len, found)) < points:
        for _ in range(THIN if found else BURN_IN):
            chains.step()
        sums = drawn.sums(chains.states)
        precision = model.precision + people * values
        found.append(values * sums / precision + stream.normals(*sums.shape) / np.sqrt(precision))
    return untrimmed(model).means(np.concatenate(found)[:points] @ vectors.T)


class _DrawnSums:
    """p(b|R) in coordinates ξ, b = top + Fξ, in which it is near N(0, I)."""

    def __init__(self, model: MeanModel, people: int, temperature: float, values: Array, u: Array) -> None:
        self._count, self._mean = len(u), u.mean(axis=0)
        self._curvature = model.radius**2 * (model.precision + people * temperature * values)
        self._each = model.radius * temperature * values  # b over S
        self._variance = self._each**2 * (people**2 / model.precision + people / values)
        self._top, self._factor = self._gaussian()

    def sums(self, states: Array) -> Array:
        return np.asarray(self._linear(states) / self._each)

    def log_factor(self, states: Array, which: NDArray[np.int64]) -> Array:
        return np.asarray(self._log_density(self._linear(states)) + 0.5 * (states**2).sum(axis=1) / WIDER**2)

    def _linear(self, states: Array) -> Array:
        return np.asarray(self._top + states @ self._factor.T)

    def _log_density(self, linear: Array) -> Array:
        told = linear @ self._mean - log_integral(self._curvature, linear)
        return np.asarray(self._count * told - 0.5 * (linear**2 / self._variance).sum(axis=1))

    def _gaussian(self) -> tuple[Array, Array]:
        """The top, by Newton's method with steps halved until they climb, and F with FFᵀ the inverse curvature there."""
        b = np.zeros(len(self._mean))
        for _ in range(ROUNDS):
            at = ball_moments(self._curvature, b[None, :])
            slope = self._count * (self._mean - at.mean[0]) - b / self._variance
            precision = self._count * at.covariance[0] + np.diag(1 / self._variance)
            step = np.linalg.solve(precision, slope)
            before, gain = float(self._log_density(b[None, :])[0]), float(slope @ step)
            for _ in range(HALVINGS):
                if float(self._log_density((b + step)[None, :])[0]) >= before:
                    break
                step = step / 2
            b = b + step
            if gain < NEAR * (1 + math.fabs(before)):
                break
        values, vectors = np.linalg.eigh(precision)
        return b, np.asarray(vectors / np.sqrt(values))
