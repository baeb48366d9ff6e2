"""`baps` on the ball-restricted posterior of a regression, or of a normal mean: N draws, once.

The sampler's running time depends on the data: releases are published at a public tick (PRIVACY §5).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.core.mechanisms.baps import TEMPERATURE_MIN
from app.core.mechanisms.mechanism import check_samples, read_samples, refuse_unknown
from app.core.mechanisms.release_cost import ReleaseCost
from app.core.regression.ball_mean import MeanBall
from app.core.regression.ball_posterior import BUDGET_EPSILON_MAX
from app.core.regression.ball_regression import RegressionBall
from app.core.regression.mean_model import MeanModel
from app.core.regression.model import LinearModel
from app.core.regression.moments import ExactMoments, clamped_moments, rows_checked
from app.core.regression.precision_model import PrecisionMatrixModel
from app.errors import InvalidMechanism

Ball = RegressionBall | MeanBall


@dataclass(frozen=True, slots=True)
class RegressionBaps:
    """`samples` draws at `temperature` τ, the power on the likelihood. Cost: `samples` times that of one draw.

    Its δ-slack covers datasets whose budget ε is at most `budget_epsilon_max`; for others it must be refused.
    """

    samples: int
    temperature: float = 1.0
    kind: str = "baps"
    budget_epsilon_max: ClassVar[float] = BUDGET_EPSILON_MAX

    def __post_init__(self) -> None:
        check_samples(self.samples)
        if not TEMPERATURE_MIN <= self.temperature <= 1:
            raise InvalidMechanism("mechanism.temperature", f"a number from {TEMPERATURE_MIN:g} to 1")

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "samples": self.samples, "temperature": self.temperature}

    def with_samples(self, samples: int) -> "RegressionBaps":
        return RegressionBaps(samples, self.temperature)

    def cost(self, model: LinearModel | MeanModel | PrecisionMatrixModel, people: int, unit_rows: int) -> ReleaseCost:
        ball = self._ball(model, people, unit_rows)
        _ = ball.bounds.cap  # refuses before anything is charged
        return ReleaseCost(
            per_sample=ball.draw_cost(),
            samples=self.samples,
            kl_sup=ball.kl_sup(),
            papers_pure=2 * self.samples * self.temperature * ball.papers_lipschitz(),
            method="certified: Brascamp–Lieb and bounded range; sampler in doubles with a declared allowance",
            grid_points=0,
        )

    def draw(
        self,
        model: LinearModel | MeanModel | PrecisionMatrixModel,
        people: int,
        unit_rows: int,
        moments: ExactMoments,
        random_bytes: Callable[[int], bytes],
    ) -> NDArray[np.float64]:
        """(samples, parameters); `random_bytes` is the operating system's in production."""
        ball = self._ball(model, people, unit_rows)
        posterior = ball.posterior(clamped_moments(model.statistic, moments, people, unit_rows))
        return ball.parameters(posterior.draw(self.samples, random_bytes))

    def _ball(self, model: LinearModel | MeanModel | PrecisionMatrixModel, people: int, unit_rows: int) -> Ball:
        rows = rows_checked(people, unit_rows)
        if isinstance(model, LinearModel):
            return RegressionBall(model, rows, unit_rows, self.temperature)
        if unit_rows != 1:
            raise InvalidMechanism("mechanism.kind", f"{model.family} needs one row a person")
        if isinstance(model, MeanModel):
            return MeanBall(model, people, self.temperature)
        raise InvalidMechanism("mechanism.kind", "perturbed_statistics: a precision matrix has no exact sampler")


def parse_regression_baps(spec: Mapping[str, Any]) -> RegressionBaps:
    refuse_unknown(spec, {"kind", "samples", "temperature"})
    temperature = spec.get("temperature", 1.0)
    if isinstance(temperature, bool) or not isinstance(temperature, int | float) or not math.isfinite(temperature):
        raise InvalidMechanism("mechanism.temperature", f"a number from {TEMPERATURE_MIN:g} to 1")
    return RegressionBaps(read_samples(spec), float(temperature) if abs(temperature) < 2 else 2.0)
