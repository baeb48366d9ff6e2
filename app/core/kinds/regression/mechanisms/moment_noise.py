"""Discrete Gaussian noise on exact moments, in the proportions that a model asks for: what all mechanisms on moments share."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from app.core.kinds.belief import NoBelief
from app.core.kinds.mechanism_fields import (
    CURRENT_LAW,
    FREE_SAMPLES,
    Epsilon,
    MechanismSpec,
    Samples,
    check_epsilon,
    check_samples,
    gaussian_cost,
)
from app.core.kinds.regression.beliefs.seeded_stream import SeededStream
from app.core.noise.discrete_gaussian import (
    DELTA_MAX,
    DELTA_MIN,
    Whole,
    largest_gaussian_rho,
    largest_rho,
    noise_scale,
)
from app.core.numerics.normals import RandomBytes
from app.core.parameters import Parameter
from app.core.privacy.gaussian import SCALE_MIN
from app.core.privacy.release_cost import ReleaseCost
from app.core.statistics.moments import ExactMoments
from app.errors import InvalidMechanism

NOISE_S = 500e-6
"""Noise on one number, on the machine of reference."""


class PerturbedStatisticsMechanism(MechanismSpec):
    """Gaussian noise on the moments of the columns, once; then samples of the posterior given those."""

    kind: Literal["perturbed_statistics"] = Field(description="The name of the mechanism.")
    samples: Samples = Field(description=FREE_SAMPLES)
    epsilon: Epsilon = Field(description="The ε of the whole release, at `delta`.")
    delta: float = Field(ge=DELTA_MIN, le=DELTA_MAX, description="The δ at which the release costs `epsilon`.")


class Perturbation(Protocol):
    """What to add noise to, in which proportions, and how to go on from there."""

    ratios: NDArray[np.float64]
    sensitivity: float

    def values(self, moments: ExactMoments) -> Whole: ...
    def draws(self, noisy: Whole, scale: float, samples: int, random_bytes: RandomBytes) -> NDArray[np.float64]: ...
    @property
    def believed_parameters(self) -> tuple[Parameter, ...]: ...
    def believed(self, noisy: Whole, scale: float, points: int, stream: SeededStream) -> NDArray[np.float64]:
        """(points, parameters), independent draws of what may be believed, inside the ranges of `believed_parameters`."""
        ...


@dataclass(frozen=True, slots=True)
class MomentNoise(NoBelief):
    """(ε, δ) of one noisy vector, whatever N. Neighbours replace one person's rows.

    Law 1 took the noise that the best Rényi order asks for; law 2 takes what its own law does, which is less.
    """

    samples: int
    epsilon: float
    delta: float
    law: int = CURRENT_LAW
    kind: ClassVar[str] = "perturbed_statistics"
    budget_epsilon_max: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_epsilon(self.epsilon)
        if not DELTA_MIN <= self.delta <= DELTA_MAX:
            raise InvalidMechanism("mechanism.delta", f"a number from {DELTA_MIN:g} to {DELTA_MAX:g}")

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "samples": self.samples, "epsilon": self.epsilon, "delta": self.delta}

    def with_samples(self, samples: int) -> Self:
        return replace(self, samples=samples)

    def priced(self, perturbation: Perturbation, unit_rows: int) -> ReleaseCost:
        smallest = self.scale(perturbation, unit_rows) * float(perturbation.ratios.min())
        return gaussian_cost(self.rho(perturbation, unit_rows), self.samples, smallest_scale=smallest)

    def scale(self, perturbation: Perturbation, unit_rows: int) -> float:
        """s in steps of the lattice."""
        return noise_scale(perturbation.sensitivity * unit_rows, self.rho(perturbation, unit_rows))

    def rho(self, perturbation: Perturbation, unit_rows: int) -> float:
        """By the law of the noise where that is certified and asks for less. Raises InvalidMechanism."""
        own = 0.0 if self.law == 1 else largest_gaussian_rho(self.epsilon, self.delta)
        if own > 0:
            scale = noise_scale(perturbation.sensitivity * unit_rows, own)
            if scale * float(perturbation.ratios.min()) >= SCALE_MIN and own >= _converted(self.epsilon, self.delta):
                return own
        return largest_rho(self.epsilon, self.delta)


def _converted(epsilon: float, delta: float) -> float:
    try:
        return largest_rho(epsilon, delta)
    except InvalidMechanism:
        return 0.0
